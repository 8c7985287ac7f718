"""Looking after runs in the background: waiting, reading, stopping, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, Tool
from retinue.actors.tools import subagent
from retinue.protocol.events import RunEnded
from tests.actors.providers import Keeping
from tests.actors.tools.chiefs import (
    Chief,
    call,
    calls,
    child_of,
    delegate,
    later,
    returned,
    worker,
)
from tests.doubles import Probe


def test_waiting_for_all_and_for_any(chief: Chief) -> None:
    """JOB-5: any returns with the first, all with the last; each line names its run (H30)."""
    script: Any = lambda request: steps[min(request.step, 4) - 1](request)  # noqa: E731
    ids: list[str] = []
    steps: list[Any] = [
        lambda _: calls(later("3 slow"), later("1 fast")),
        lambda _: calls(call("subagent_wait", run_ids=ids, mode="any")),
        lambda _: calls(call("subagent_wait", run_ids=ids)),
        lambda _: "done",
    ]
    run = chief.open(script)
    ids += [child_of(run), child_of(run, 2)]
    before = chief.dispatcher.clock.now()

    assert "done" == run.ask("go").get().text

    any_of, all_of = returned(run)[2:]
    assert 3.0 == chief.dispatcher.clock.now() - before
    assert f"Run {ids[0]} (3 slow) is still running." == any_of.text.split("\n\n")[0]
    assert "\nfast\n" in any_of.text
    assert "\nslow\n" in all_of.text.split("\n\n")[0]
    assert "you were given before" in all_of.text


def test_a_run_is_not_done_before_it_has_let_go(chief: Chief) -> None:
    """RUN-13: a wait returns when nothing of the child is alive, and not with its last word."""

    class Lingering(Keeping):
        def open(self, order: Any, workplace: Any) -> Any:
            driver = super().open(order, workplace)
            close = driver.close
            driver.close = lambda: workplace.sleep(1.0).on_done(lambda _: close())
            return driver

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(later("1 x"))
        if request.step == 2:
            return calls(call("subagent_wait", run_ids=[child_of(run)]))
        return "done"

    chief.runtime.register(Lingering("lingering")).get()
    run = chief.open(script, subagent("lingering", agent=worker))
    before = chief.dispatcher.clock.now()
    run.ask("go").get()

    assert 2.0 == chief.dispatcher.clock.now() - before
    assert "\nx\n" in returned(run)[1].text


def test_an_owner_that_ends_takes_its_runs_along(chief: Chief) -> None:
    """JOB-4: they are cancelled and waited for before its dispose returns."""
    probe = Probe()
    run = chief.open([calls(later("60 x"), later("60 y")), "ok"])
    run.ask("go").get()
    chief.runtime.subscribe(probe.tell)

    run.dispose().get()

    ended = [letter for letter in probe.unread() if isinstance(letter, RunEnded)]
    assert {child_of(run), child_of(run, 2)} == {event.run_id for event in ended[:2]}
    assert run.id == ended[2].run_id
    assert ["aborted"] * 2 == [event.result.stop_reason for event in ended[:2]]


def test_a_wait_has_an_end(chief: Chief) -> None:
    """JOB-5: after so many seconds it returns, and nothing is stopped by it."""

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(later("99 slow"))
        if request.step == 2:
            return calls(call("subagent_wait", run_ids=[child_of(run)]))
        return "done"

    run = chief.open(script)
    before = chief.dispatcher.clock.now()

    run.ask("go").get()

    assert 30.0 == chief.dispatcher.clock.now() - before
    assert f"Run {child_of(run)} (99 slow) is still running." == returned(run)[1].text


@pytest.mark.parametrize("seconds", [601, -1, "long"])
def test_a_wait_that_makes_no_sense_is_refused(chief: Chief, seconds: Any) -> None:
    """JOB-5: ten minutes is the longest."""
    run = chief.start([calls(call("subagent_wait", run_ids=["x"], seconds=seconds)), "oh"])
    run.result.get()

    (result,) = returned(run)
    assert result.is_error
    assert "/seconds" in result.text


def test_output_is_read_as_often_as_it_is_asked_for(chief: Chief) -> None:
    """H28, JOB-5: by id, at any time while the caller lives, the same each time."""

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(later("1 kept"))
        if request.step < 5:
            return calls(call("subagent_output", run_id=child_of(run), seconds=9))
        return "done"

    run = chief.open(script)
    run.ask("go").get()

    texts = {result.text for result in returned(run)[1:]}
    assert 1 == len(texts)
    assert "\nkept\n" in texts.pop()


def test_who_may_start_may_stop(chief: Chief) -> None:
    """JOB-3: a cancel waits for the end and returns what there is; a second is harmless."""

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(later("99 late"))
        if request.step < 4:
            return calls(call("subagent_cancel", run_id=child_of(run), reason="no need"))
        return "done"

    run = chief.open(script)
    before = chief.dispatcher.clock.now()
    run.ask("go").get()

    first, second = returned(run)[1:]
    assert before == chief.dispatcher.clock.now()
    assert f"Run {child_of(run)} (99 late) was cancelled." == first.text.splitlines()[0]
    assert "\nhalf of late\n" in first.text
    assert second.text.startswith(f"Run {child_of(run)} (99 late) was cancelled; what it left")


def test_only_ones_own_runs_can_be_used(chief: Chief) -> None:
    """JOB-2: others get an ownership error, and what nobody knows is said to be unknown."""
    other = chief.runtime.start("spawn", "99 x", agent=worker).get()
    ended = chief.runtime.start("spawn", "0 x", agent=worker).get()
    ended.result.get()
    anybodys = Agent(worker, is_open=True)
    is_open = chief.runtime.open(anybodys).get()
    behind = chief.runtime.start("spawn", "99 x", agent=anybodys, background=True).get()
    ids = [other.id, ended.id, is_open.id, behind.id, f"{other.id}99", "nonsense"]

    run = chief.start([calls(*[call("subagent_output", run_id=run_id) for run_id in ids]), "done"])
    run.result.get()

    results = returned(run)
    assert [True] * 6 == [result.is_error for result in results]
    assert ["NotAllowed"] * 4 + ["NoSuchRun"] * 2 == [
        result.text.split(":")[0] for result in results
    ]
    assert not other.result.is_done


def test_a_foreground_run_is_no_background_run(chief: Chief) -> None:
    """JOB-2: its text is its call's to return; before and after that its id opens nothing."""
    source = subagent(agent=worker)

    async def peep(turn: Any) -> str:
        await turn.sleep(1.0)  # the child is at work
        _, output, *_ = await source.tools(turn)
        return str(await output.function(child_of(turn.run)))

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(delegate("9 x"), call("peep"))
        if request.step == 2:
            return calls(call("subagent_output", run_id=child_of(run)))
        return "done"

    run = chief.open(script, source, Tool("peep", peep, is_concurrent=True))
    run.ask("go").get()

    assert ["NotAllowed", "NotAllowed"] == [x.text.split(":")[0] for x in returned(run)[1:]]


def test_what_another_tool_of_the_caller_started_is_its_own(chief: Chief) -> None:
    """A run that a user's tool started in the background can be looked after as well."""

    async def begin(turn: Any) -> str:
        run = await turn.start("spawn", "3 theirs", agent=worker, background=True)
        return str(run.id)

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(call("begin"))
        if request.step == 2:
            return calls(call("subagent_wait", run_ids=[returned(run)[0].text]))
        return "done"

    run = chief.open(script, subagent(agent=worker), begin)
    run.ask("go").get()

    assert "\ntheirs\n" in returned(run)[1].text


def test_runs_of_two_tools_are_looked_after_by_either(chief: Chief) -> None:
    """TOOL-1: tools under names of their own share what the caller has started."""

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(later("1 a"), later("1 b", "second"))
        if request.step == 2:
            return calls(call("second_wait", run_ids=[child_of(run), child_of(run, 2)]))
        return "done"

    run = chief.open(script, subagent(agent=worker), subagent(agent=worker, name="second"))
    run.ask("go").get()

    assert 2 == returned(run)[2].text.count("</retinue-message>")


def test_an_agent_that_runs_twice_has_two_ledgers(chief: Chief) -> None:
    """H41: what one run started is not the other's, though they are of one definition."""
    agent = chief.agent(
        lambda request: calls(later("9 x")) if request.step == 1 else "ok",
        subagent(agent=worker, most=1),
    )

    runs = [chief.runtime.open(agent).get() for _ in range(3)]

    assert ["ok"] * 3 == [run.ask("go").get().text for run in runs]
    assert [False] * 3 == [returned(run)[0].is_error for run in runs]
