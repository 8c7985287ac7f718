"""Runs in the background and their owner: what stops them, what does not, and what cannot hang."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors.tools import subagent
from retinue.protocol.errors import Cancelled, InvalidRequest, NotQuiescent
from retinue.protocol.events import RunEnded
from tests.actors.providers import Keeping
from tests.actors.tools.chiefs import (
    Chief,
    call,
    calls,
    child_of,
    heard,
    later,
    returned,
    worker,
)
from tests.doubles import Probe


class Odd(Keeping):
    """A provider whose drivers do something else when they are to stop, or to close."""

    def __init__(self, name: str, **instead: Any) -> None:
        super().__init__(name)
        self._instead = instead

    def open(self, order: Any, workplace: Any) -> Any:
        """Open an ordinary driver, and put something else in its place."""
        driver = super().open(order, workplace)
        for name, function in self._instead.items():
            setattr(driver, name, function)
        return driver


def fail(*_: Any) -> None:
    """Fail."""
    raise OSError("no such process")


def ignore(*_: Any) -> None:
    """Do nothing about it."""


def ends_of(probe: Probe) -> dict[str, str]:
    """Return how the runs ended that a probe has heard of."""
    ends = [letter for letter in probe.unread() if isinstance(letter, RunEnded)]
    return {event.run_id: str(event.result.stop_reason) for event in ends}


def test_the_turn_that_started_it_does_not_stop_it(chief: Chief) -> None:
    """TOOL-11, H08: it is the run's, and no cancel of the call or of the turn reaches it."""
    run = chief.open([calls(later("60 kept"), call("nap")), "ok"], subagent(agent=worker), nap)
    first = run.ask("go")
    chief.dispatcher.advance(1.0)

    run.interrupt().get()
    assert "aborted" == first.get().stop_reason
    chief.dispatcher.advance(60.0)

    assert "completed" == chief.runtime.result_of(child_of(run)).stop_reason
    assert "kept" == chief.runtime.result_of(child_of(run)).text


async def nap() -> str:
    """Sleep."""
    await asyncio.sleep(3600)
    return "slept"


@pytest.mark.parametrize(
    ("given", "told"), [({"reason": "no need of it"}, "no need of it"), ({}, "has no need of it")]
)
def test_why_it_was_stopped_is_told_to_it(chief: Chief, given: dict[str, str], told: str) -> None:
    """TOOL-11: the reason is forwarded, and there is one where the model gives none."""
    reasons: list[str] = []

    async def listening(turn: Any) -> None:
        """Work until it is stopped, and note why."""
        try:
            await asyncio.sleep(3600)
        finally:
            try:
                turn.check()
            except Cancelled as error:
                reasons.append(str(error))

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(later("x"))
        if request.step == 2:
            return calls(call("subagent_cancel", run_id=child_of(run), **given))
        return "done"

    run = chief.open(script, subagent(agent=listening))
    run.ask("go").get()

    (reason,) = reasons
    assert reason.endswith(told)


def test_a_cancel_that_fails_holds_up_nothing(chief: Chief) -> None:
    """JOB-4: the child is cancelled by force, its sibling as usual, and their owner is gone."""
    probe = Probe()
    chief.runtime.register(Odd("odd", stop=fail)).get()
    tools = (subagent("odd", name="odd", agent=worker), subagent(agent=worker))
    run = chief.open([calls(later("60 x", "odd"), later("60 y")), "ok"], *tools)
    run.ask("go").get()
    chief.runtime.subscribe(probe.tell)
    before = chief.dispatcher.clock.now()

    run.dispose().get()

    assert before == chief.dispatcher.clock.now(), "nobody waits for what cannot come"
    ends = ends_of(probe)
    assert {child_of(run), child_of(run, 2), run.id} == set(ends)
    assert ("aborted", "aborted") == (ends[child_of(run)], ends[child_of(run, 2)])


@pytest.mark.parametrize("instead", [{"stop": ignore, "close": ignore}, {"close": ignore}])
def test_a_cancel_that_is_ignored_is_told_and_holds_up_nothing(
    chief: Chief, instead: dict[str, Any]
) -> None:
    """JOB-4: after its time the child is given up by name, and everything else is released."""
    probe = Probe()
    provider = Odd("odd", **instead)
    chief.runtime.register(provider).get()
    tools = (subagent("odd", name="odd", agent=worker), subagent(agent=worker))
    run = chief.open([calls(later("1e6 x", "odd"), later("60 y")), "ok"], *tools)
    run.ask("go").get()
    chief.runtime.subscribe(probe.tell)

    with pytest.raises(NotQuiescent, match=child_of(run)):
        run.dispose().get()
    chief.dispatcher.advance(60.0)

    assert {child_of(run), child_of(run, 2), run.id} == set(ends_of(probe))
    for driver in provider.drivers:
        type(driver).stop(driver, None)
        type(driver).close(driver)
    chief.dispatcher.run_until_idle()


def test_what_is_still_ending_counts_as_under_way(chief: Chief) -> None:
    """JOB-1: a child that has its result and holds on to something takes up its place."""
    held: list[Any] = []
    provider = Odd("slow")
    chief.runtime.register(provider).get()

    def script(request: Any) -> Any:
        if request.step == 1:
            return calls(later("1 x"))
        if request.step == 2:
            (driver,) = provider.drivers
            held.append(driver.close)
            driver.close = ignore
            return calls(call("pause"))
        if request.step == 3:
            return calls(later("1 y"))
        return "done"

    async def pause(turn: Any) -> str:
        """Sleep, then say how the child ended."""
        await turn.sleep(2.0)
        (child,) = turn.run.ref.children()
        return f"settled: {child.is_settled}"

    run = chief.open(script, subagent("slow", agent=worker, most=1), pause)
    run.ask("go").get()

    started, slept, refused = returned(run)
    assert (False, "settled: True", True) == (started.is_error, slept.text, refused.is_error)
    assert "under way, as many as may be" in refused.text
    held[0]()
    chief.dispatcher.run_until_idle()


def test_the_tool_is_nobodys_outside_of_a_run() -> None:
    """TOOL-8: without a caller there is nobody whose child it could be."""
    source = subagent(agent=worker)

    async def outside() -> str:
        with pytest.raises(InvalidRequest, match="is used by a run, inside a turn"):
            await source.tools(None)
        return "refused"

    assert "refused" == asyncio.run(outside())


def test_reports_are_no_users_word(chief: Chief) -> None:
    """JOB-6: children that report before they end do not make their ends wake for ever."""

    async def reporter(turn: Any) -> str:
        await turn.report("half way")
        await turn.sleep(1.0)
        return "done"

    def script(request: Any) -> Any:
        assert request.turn < 20, "nothing stops it"
        is_news = "half way" not in request.messages[-1].text
        return calls(later("x")) if request.step == 1 and is_news else "ok"

    run = chief.open(script, subagent(agent=reporter))
    run.ask("go").get()
    chief.dispatcher.advance(3600.0)

    notices = [message for message in heard(run) if "ended completed" in message.text]
    assert 0 < len(notices) <= 3
    run.ask("and?").get()
    assert len(notices) < len(heard(run)), "it waited for the next turn"
