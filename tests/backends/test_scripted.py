"""The scripted provider: what each item of a script does, and what a drift looks like."""

from __future__ import annotations

import doctest
import threading
from typing import Any

import pytest

from retinue.actors import Limits, ManualClock, Run, RunResult, Runtime
from retinue.backends import scripted
from retinue.backends.scripted import (
    CloseFails,
    Crash,
    Echo,
    End,
    FailOpen,
    Hold,
    Item,
    NeverClose,
    NeverOpen,
    Raise,
    Refuse,
    Return,
    Say,
    Scripted,
    Spend,
    StepEdge,
    Usage,
    Use,
)
from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.errors import NotQuiescent, StartFailed
from retinue.protocol.events import RunEnded, RunStarted
from retinue.protocol.log import Ending, ToolCalled, ToolReturned, TurnFinished
from tests.doubles import PATIENCE, Probe

CALL = ToolCall("1", "look", {"at": "it"})
SEEN = ToolResult("1", "seen")


def started(runtime: Runtime, *script: Item, **options: Any) -> Run:
    """Start a run that plays *script*, on a provider of its own."""
    provider = Scripted(script, name=f"scripted-{len(runtime.providers())}")
    runtime.register(provider).get(timeout=PATIENCE)
    return runtime.start(provider.name, "go", **options).get(timeout=PATIENCE)


def result_of(run: Run) -> RunResult:
    """Wait for a run's result."""
    return run.result.get(timeout=PATIENCE)


def test_the_examples_of_the_module_run() -> None:
    """
    What the docstring shows is what happens.
    """
    results = doctest.testmod(scripted)

    assert results.attempted > 0
    assert 0 == results.failed


def test_without_a_script_every_turn_answers_with_its_prompt() -> None:
    """
    The known provider `scripted` needs neither agent nor script, for any number of runs.
    """
    with Runtime() as runtime:
        runs = [runtime.start("scripted", text).get(timeout=PATIENCE) for text in ("a", "b")]
        resident = runtime.open(None, provider="scripted").get(timeout=PATIENCE)

        assert ["a", "b"] == [result_of(run).text for run in runs]
        assert ["c", "d"] == [resident.ask(text).get(timeout=PATIENCE).text for text in "cd"]


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (Ending.COMPLETED, "completed"),
        (Ending.ABORTED, "aborted"),
        (Ending.BLOCKED, "refusal"),
        (Ending.ERROR, "error"),
        (Ending.MAX_TOKENS, "max-tokens"),
        (Ending.INTERRUPTED, "error"),
    ],
)
def test_every_ending_has_its_reason_and_keeps_the_text(
    runtime: Runtime, ending: Ending, reason: str
) -> None:
    """
    RES-1, RES-2, H37, H39: nothing but completed is a success, and the text is there.
    """
    result = result_of(started(runtime, End(ending, "so far", "for a reason")))

    assert (reason, "so far", "for a reason") == (
        result.stop_reason,
        result.text,
        result.diagnostic,
    )
    assert (ending is Ending.COMPLETED) is result.is_success


def test_every_ending_is_covered() -> None:
    """
    A new ending fails the test above by being absent from it.
    """
    (mark,) = test_every_ending_has_its_reason_and_keeps_the_text.pytestmark  # type: ignore[attr-defined]

    assert set(Ending) == {ending for ending, _ in mark.args[1]}


def test_a_reason_that_nobody_knows_is_a_failure(runtime: Runtime) -> None:
    """
    RES-1: the set is open, and what is not completed has failed.
    """
    result = result_of(started(runtime, End(Ending.ERROR, reason="solar-flare")))

    assert "solar-flare" == result.stop_reason
    assert not result.is_success


def test_a_refused_prompt_is_a_refusal(runtime: Runtime) -> None:
    """
    RES-6: a task that was discarded does not read as done.
    """
    result = result_of(started(runtime, Say("half"), Refuse("not on a Sunday")))

    assert ("refusal", "not on a Sunday") == (result.stop_reason, result.diagnostic)


def test_what_was_spent_adds_up(runtime: Runtime) -> None:
    """
    RES-10: a record of usage alone is no output, and counts.
    """
    run = started(runtime, Say("text", Usage(1, 2, 1)), Spend(Usage(10, 20, 1, 0.5)))

    result = result_of(run)

    assert (Usage(11, 22, 2, 0.5), "text") == (result.usage, result.text)


def test_a_tool_call_is_logged_and_no_output(runtime: Runtime) -> None:
    """
    RES-11: tool results never stand in for an answer.
    """
    run = started(runtime, Use(CALL, SEEN), Return(None))

    result = result_of(run)
    logged = [e for e in run.transcript() if isinstance(e, (ToolCalled, ToolReturned))]

    assert [ToolCalled, ToolReturned] == [type(event) for event in logged]
    assert ((), "completed") == (result.output, result.stop_reason)


def test_a_run_that_breaks_after_a_tool_result_has_not_completed(runtime: Runtime) -> None:
    """
    H38: ended by the harness in mid-task, and told as that.
    """
    result = result_of(started(runtime, Say("so far"), Use(CALL, SEEN), Crash(OSError("gone"))))

    assert ("error", "so far") == (result.stop_reason, result.text)
    assert "gone" in (result.diagnostic or "")


def test_a_crash_ends_the_run_and_its_children_once(runtime: Runtime) -> None:
    """
    LIF-5: the end is told once, as an error, and nobody below is left.
    """
    probe, hold, below = Probe(), Hold(), Hold()
    run = started(runtime, hold, Crash(OSError("gone")))
    child = started(runtime, below, parent=run)
    runtime.subscribe(lambda event: probe.tell(event) if isinstance(event, RunEnded) else None)
    assert hold.reached.wait(PATIENCE)
    assert below.reached.wait(PATIENCE)

    hold.release()
    results = result_of(run), result_of(child)
    run.dispose().get(timeout=PATIENCE)
    ends = [event for event in probe.unread() if isinstance(event, RunEnded)]

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
    run = started(runtime, hold, Crash(OSError("gone")))
    assert hold.reached.wait(PATIENCE)
    run.cancel().get(timeout=PATIENCE)

    hold.release()

    assert "aborted" == result_of(run).stop_reason


def test_a_turn_that_completes_although_it_was_stopped_has_completed(runtime: Runtime) -> None:
    """
    RUN-5: the answer is there, and is not thrown away.
    """
    hold = Hold(ignores_stop=True)
    run = started(runtime, hold, Return("in spite of it"))
    assert hold.reached.wait(PATIENCE)
    run.cancel().get(timeout=PATIENCE)

    hold.release()

    assert ("completed", "in spite of it") == (result_of(run).stop_reason, result_of(run).text)


def test_a_stopped_turn_does_not_stand_still_again(runtime: Runtime) -> None:
    """
    Past the hold that ignored the stop the turn ends at the next one.
    """
    hold = Hold(ignores_stop=True)
    run = started(runtime, hold, Hold(), Return("never"))
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
    runtime.subscribe(
        lambda event: probe.tell(event) if isinstance(event, (RunStarted, RunEnded)) else None
    )
    provider = Scripted([FailOpen(problem)], name="failing", is_immediate=is_immediate)
    runtime.register(provider).get(timeout=PATIENCE)

    with pytest.raises(StartFailed, match="no licence") as refused:
        runtime.start("failing", "go").get(timeout=PATIENCE)

    assert refused.value.__cause__ is problem
    assert () == tuple(runtime.tree())
    assert [] == probe.unread()


@pytest.mark.parametrize("script", [[Return("done")], [Raise(ValueError("odd"))]], ids=str)
def test_a_release_that_fails_is_told_on_its_own_channel(
    runtime: Runtime, script: list[Item]
) -> None:
    """
    RUN-8: the result stays what it was; the dispose and the end event say what went wrong.
    """
    probe = Probe()
    runtime.subscribe(lambda event: probe.tell(event) if isinstance(event, RunEnded) else None)
    run = started(runtime, CloseFails(OSError("disk full")), *script)

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
    run = started(runtime, NeverClose(), Return("done"))
    assert "done" == result_of(run).text
    disposed = run.dispose()

    clock.advance(60.0)

    with pytest.raises(NotQuiescent, match=run.id) as caught:
        disposed.get(timeout=PATIENCE)
    assert (run.id,) == caught.value.stuck
    assert () == runtime.children()
    with pytest.raises(NotQuiescent, match=run.id):
        runtime.close()


def test_a_turn_that_ignores_its_stop_is_named_after_the_grace(
    runtime: Runtime, clock: ManualClock
) -> None:
    """
    Promise 4: a provider that cannot be told to hurry holds up nobody for ever.
    """
    hold = Hold(ignores_stop=True)
    run = started(runtime, Say("so far"), hold)
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


def test_an_opening_can_be_held_and_then_go_on(runtime: Runtime) -> None:
    """
    A provider that takes its time is no failure.
    """
    never = NeverOpen()
    provider = Scripted([never, Echo()], name="slow", is_immediate=False)
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
        started(runtime, NeverOpen())


def test_a_turn_more_than_the_script_has_fails_loudly(runtime: Runtime) -> None:
    """
    A double that improvises hides bugs.
    """
    provider = Scripted([Return("one"), Return("two")], name="short")
    runtime.register(provider).get(timeout=PATIENCE)
    run = runtime.open(None, provider="short").get(timeout=PATIENCE)

    answers = [run.ask("more").get(timeout=PATIENCE) for _ in range(3)]

    assert ["one", "two", ""] == [answer.text for answer in answers]
    assert "error" == answers[2].stop_reason
    assert isinstance(answers[2].error, AssertionError)
    assert "turn 3" in (answers[2].diagnostic or "")


def test_a_run_more_than_there_are_scripts_is_refused(runtime: Runtime) -> None:
    """
    The count of the scripts is the count of the runs.
    """
    provider = Scripted([[Return("one")], [Return("two")]], name="two")
    runtime.register(provider).get(timeout=PATIENCE)
    runs = [runtime.start("two", "go").get(timeout=PATIENCE) for _ in range(2)]

    with pytest.raises(StartFailed, match="2 were written"):
        runtime.start("two", "go").get(timeout=PATIENCE)

    assert ["one", "two"] == [result_of(run).text for run in runs]


@pytest.mark.parametrize(
    "script", [["hello"], [[Say("a")], "b"], [[Say("a"), None]], [Say("a"), [Say("b")]]], ids=repr
)
def test_what_is_no_script_is_refused_when_it_is_written(script: Any) -> None:
    """
    A typo is found where it stands, and not in a run.
    """
    with pytest.raises(TypeError):
        Scripted(script)


def test_a_hold_lets_everybody_go_at_once_and_later(runtime: Runtime) -> None:
    """
    Runs that stand at one hold go on together, and later ones do not stop.
    """
    hold = Hold()
    runs = [started(runtime, hold, Echo()) for _ in range(3)]
    assert hold.reached.wait(PATIENCE)
    waiting = repr(hold)

    hold.release()
    late = started(runtime, hold, Echo())

    assert ("<Hold 3 waiting>", "<Hold released>") == (waiting, repr(hold))
    assert ["go"] * 4 == [result_of(run).text for run in (*runs, late)]


def test_a_stopped_turn_leaves_its_hold(runtime: Runtime) -> None:
    """
    A hold that many runs stood at does not keep those that are over.
    """
    hold = Hold()
    run = started(runtime, hold)
    assert hold.reached.wait(PATIENCE)

    run.dispose().get(timeout=PATIENCE)

    assert "<Hold 0 waiting>" == repr(hold)


def test_a_script_needs_no_threads(runtime: Runtime) -> None:
    """
    A hundred runs stand at a hold, and beside the dispatcher nobody works.
    """
    hold = Hold()
    before = threading.active_count()
    runs = [started(runtime, hold, StepEdge(), Echo()) for _ in range(100)]

    assert before + 1 >= threading.active_count()
    hold.release()
    assert ["go"] * 100 == [result_of(run).text for run in runs]
