"""The scripted provider: runs that break, openings and releases that fail, and turns that stick."""

from __future__ import annotations

from typing import Final

import pytest

from retinue.actors import Limits, ManualClock, Run, Runtime
from retinue.backends.scripted import (
    CloseFails,
    Crash,
    Echo,
    FailOpen,
    Hold,
    Item,
    NeverClose,
    NeverOpen,
    Raise,
    Return,
    Say,
    Scripted,
    Use,
)
from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.errors import NotQuiescent, StartFailed
from retinue.protocol.events import RunEnded, RunStarted
from retinue.protocol.log import Cause, Ending, TurnFinished
from tests.backends.contract import only, result_of, scripted_run, told
from tests.doubles import PATIENCE, Probe

CALL: Final = ToolCall("1", "look", {"at": "it"})
SEEN: Final = ToolResult("1", "seen")


def test_a_run_that_breaks_after_a_tool_result_has_not_completed(runtime: Runtime) -> None:
    """
    H38: ended by the harness in mid-task, and told as that.
    """
    result = result_of(
        scripted_run(runtime, Say("so far"), Use(CALL, SEEN), Crash(OSError("gone")))
    )

    assert ("error", "so far") == (result.stop_reason, result.text)
    assert "gone" in (result.diagnostic or "")


def test_a_crash_ends_the_run_and_its_children_once(runtime: Runtime) -> None:
    """
    LIF-5: the end is told once, as an error, and nobody below is left.
    """
    probe, hold, below = Probe(), Hold(), Hold()
    run = scripted_run(runtime, hold, Crash(OSError("gone")))
    child = scripted_run(runtime, below, parent=run)
    runtime.subscribe(only(probe, RunEnded))
    assert hold.reached.wait(PATIENCE)
    assert below.reached.wait(PATIENCE)

    hold.release()
    results = result_of(run), result_of(child)
    run.dispose().get(timeout=PATIENCE)
    ends = [event for event in told(runtime, probe) if isinstance(event, RunEnded)]

    assert ["error", "aborted"] == [result.stop_reason for result in results]
    assert [(child.id, "aborted"), (run.id, "error")] == [
        (end.run_id, end.result.stop_reason) for end in ends
    ]
    assert [Ending.ERROR] == [
        event.ending for event in run.transcript() if isinstance(event, TurnFinished)
    ]


def test_a_crash_after_a_cancel_is_the_cancels(runtime: Runtime) -> None:
    """
    RUN-15: what breaks while it is being stopped reads as stopped.
    """
    hold = Hold(ignores_stop=True)
    run = scripted_run(runtime, hold, Crash(OSError("gone")))
    assert hold.reached.wait(PATIENCE)
    run.cancel().get(timeout=PATIENCE)

    hold.release()

    assert "aborted" == result_of(run).stop_reason


def test_a_turn_that_completes_although_it_was_stopped_has_completed(runtime: Runtime) -> None:
    """
    RUN-5: the answer is there, and is not thrown away.
    """
    hold = Hold(ignores_stop=True)
    run = scripted_run(runtime, hold, Return("in spite of it"))
    assert hold.reached.wait(PATIENCE)
    run.cancel().get(timeout=PATIENCE)

    hold.release()

    assert ("completed", "in spite of it") == (result_of(run).stop_reason, result_of(run).text)


def test_a_stopped_turn_does_not_stand_still_again(runtime: Runtime) -> None:
    """
    Past the hold that ignored the stop the turn ends at the next one.
    """
    hold = Hold(ignores_stop=True)
    run = scripted_run(runtime, hold, Hold(), Return("never"))
    assert hold.reached.wait(PATIENCE)
    run.cancel().get(timeout=PATIENCE)

    hold.release()

    assert "aborted" == result_of(run).stop_reason


@pytest.mark.parametrize("is_immediate", [True, False])
def test_a_failing_open_refuses_the_start(runtime: Runtime, *, is_immediate: bool) -> None:
    """
    RUN-2, LIF-6: the reason is the cause, and nobody hears of a run.
    """
    probe, problem = Probe(), OSError("no licence")
    runtime.subscribe(only(probe, RunStarted, RunEnded))
    provider = Scripted([FailOpen(problem)], name="failing", is_immediate=is_immediate)
    runtime.register(provider).get(timeout=PATIENCE)

    with pytest.raises(StartFailed, match="no licence") as refused:
        runtime.start("failing", "go").get(timeout=PATIENCE)

    assert refused.value.__cause__ is problem
    assert () == tuple(runtime.tree())
    assert [] == told(runtime, probe)


@pytest.mark.parametrize("script", [[Return("done")], [Raise(ValueError("odd"))]], ids=str)
def test_a_release_that_fails_is_told_on_its_own_channel(
    runtime: Runtime, script: list[Item]
) -> None:
    """
    RUN-8: the result stays what it was; the dispose and the end event say what went wrong.
    """
    probe = Probe()
    runtime.subscribe(only(probe, RunEnded))
    run = scripted_run(runtime, CloseFails(OSError("disk full")), *script)

    result = result_of(run)
    for _ in range(2):
        with pytest.raises(NotQuiescent, match="disk full") as caught:
            run.dispose().get(timeout=PATIENCE)
        assert (run.id,) == caught.value.stuck
    end = probe.expect(RunEnded)

    assert ("disk full" in (end.release_error or ""), result) == (True, end.result)
    assert "disk full" not in (result.diagnostic or "")


def test_a_driver_that_never_closes_is_named_after_the_grace(
    runtime: Runtime, clock: ManualClock
) -> None:
    """
    Promise 4: the result is out at once, and the dispose names what would not stop.
    """
    run = scripted_run(runtime, NeverClose(), Return("done"))
    assert "done" == result_of(run).text
    disposed = run.dispose()

    clock.advance(60.0)

    with pytest.raises(NotQuiescent, match=run.id) as caught:
        disposed.get(timeout=PATIENCE)
    assert (run.id,) == caught.value.stuck
    assert () == runtime.children()
    with pytest.raises(NotQuiescent, match=run.id):
        runtime.close()


def test_a_settled_run_has_given_its_place_back(clock: ManualClock) -> None:
    """
    H50: what has its result needs no place any more, whether or not it has let go.
    """
    script: list[Item] = [NeverClose(), Return("done")]
    never = Scripted(script, name="never")
    with Runtime([never], limits=Limits(live=1), clock=clock) as runtime:
        run = runtime.start("never", "go").get(timeout=PATIENCE)
        result_of(run)

        assert "in" == result_of(runtime.start("scripted", "in").get(timeout=PATIENCE)).text
        clock.advance(60.0)
        with pytest.raises(NotQuiescent):
            runtime.close()


def test_a_cancel_reaches_below_a_run_that_does_not_hear_it(runtime: Runtime) -> None:
    """
    Promise 3: a descendant's end waits for none of those between it and the cancel.
    """
    deaf = Hold(ignores_stop=True)
    holds = Hold(), deaf, Hold()
    runs: list[Run] = []
    for hold in holds:
        runs.append(scripted_run(runtime, hold, parent=runs[-1] if runs else None))
        assert hold.reached.wait(PATIENCE)

    runs[0].cancel().get(timeout=PATIENCE)

    assert "aborted" == result_of(runs[2]).stop_reason
    assert not runs[1].result.is_done
    deaf.release()
    assert "aborted" == result_of(runs[1]).stop_reason


def test_the_first_cause_of_a_stop_stays(runtime: Runtime, clock: ManualClock) -> None:
    """
    A run over its deadline that is then disposed of has ended for the deadline.
    """
    hold = Hold(ignores_stop=True)
    run = scripted_run(runtime, hold, Raise(ValueError("odd")), deadline=1.0)
    child = scripted_run(runtime, Hold(), parent=run)
    assert hold.reached.wait(PATIENCE)

    clock.advance(1.0)
    result_of(child)  # the deadline was handled: it went down the tree
    disposed = run.dispose()
    run.cancel().get(timeout=PATIENCE)
    hold.release()

    assert "timeout" == result_of(run).stop_reason
    assert disposed.get(timeout=PATIENCE)
    assert [Cause.DEADLINE] == [
        event.cause for event in run.transcript() if isinstance(event, TurnFinished)
    ]


def test_a_turn_that_ignores_its_stop_is_named_after_the_grace(
    runtime: Runtime, clock: ManualClock
) -> None:
    """
    Promise 4: a provider that cannot be told to hurry holds up nobody for ever.
    """
    hold = Hold(ignores_stop=True)
    run = scripted_run(runtime, Say("so far"), hold)
    assert hold.reached.wait(PATIENCE)
    cancelled = run.cancel().get(timeout=PATIENCE)
    disposed = run.dispose()

    clock.advance(60.0)
    result = result_of(run)
    clock.advance(60.0)

    assert cancelled
    assert ("aborted", "so far") == (result.stop_reason, result.text)
    with pytest.raises(NotQuiescent, match=run.id):
        disposed.get(timeout=PATIENCE)
    hold.release()
    with pytest.raises(NotQuiescent, match=run.id):
        runtime.close()


def test_a_turn_that_hears_its_stop_late_lets_go_in_time(
    runtime: Runtime, clock: ManualClock
) -> None:
    """
    Promise 4: given up as a turn, and quiescent when it has ended while it was being closed.
    """
    hold = Hold(ignores_stop=True)
    run = scripted_run(runtime, hold, Return("too late"))
    assert hold.reached.wait(PATIENCE)
    run.cancel().get(timeout=PATIENCE)
    clock.advance(60.0)
    result = result_of(run)

    hold.release()

    assert ("aborted", "") == (result.stop_reason, result.text)
    assert run.dispose().get(timeout=PATIENCE)


def test_an_opening_can_be_held_and_then_go_on(runtime: Runtime) -> None:
    """
    A provider that takes its time is no failure.
    """
    never = NeverOpen()
    script: list[Item] = [never, Echo()]
    provider = Scripted(script, name="slow", is_immediate=False)
    runtime.register(provider).get(timeout=PATIENCE)
    start = runtime.start("slow", "hello", limits=Limits(start=1.0))
    assert never.reached.wait(PATIENCE)

    never.release()

    assert "hello" == result_of(start.get(timeout=PATIENCE)).text


def test_an_opening_that_has_no_thread_cannot_be_held(runtime: Runtime) -> None:
    """
    It would hold the runtime itself; the script's author is told.
    """
    with pytest.raises(StartFailed, match="is_immediate=False"):
        scripted_run(runtime, NeverOpen())
