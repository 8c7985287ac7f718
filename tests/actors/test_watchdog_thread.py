"""The watchdog's thread: there when generators step, asleep when they do not, gone in the end."""

from __future__ import annotations

import threading
from typing import Any

from retinue.actors import Runtime
from retinue.actors._watchdog import Watchdog
from retinue.protocol.events import RunStalled
from retinue.protocol.result import COMPLETED
from tests.actors.behaviours import Steps, echo, ended, started
from tests.doubles import PATIENCE, Probe


def test_a_slow_step_is_only_reported() -> None:
    """
    Longer than 100 ms and shorter than the limit: a report, and the turn goes on.
    """
    heard = Probe()
    with Runtime() as runtime:
        runtime.subscribe(heard.tell)

        def behaviour(turn: Any) -> Steps:
            yield
            threading.Event().wait(0.11)
            return str(turn.text)

        run = started(runtime, behaviour, "slow")

        assert ("slow", COMPLETED) == (ended(run).text, ended(run).stop_reason)
        while not isinstance(event := heard.expect(object), RunStalled):
            pass
        assert run.id == event.run_id
        assert event.seconds < PATIENCE


def watchdogs() -> list[threading.Thread]:
    """Return the threads of watchdogs."""
    return [thread for thread in threading.enumerate() if thread.name == "retinue-watchdog"]


def test_no_watchdog_is_made_for_what_does_not_step() -> None:
    """
    Plain functions cannot block the dispatcher.
    """
    with Runtime() as runtime:
        assert "no steps" == ended(started(runtime, echo, "no steps")).text

        assert [] == watchdogs()


def test_an_idle_runtime_has_no_watchdog_awake() -> None:
    """
    It sleeps without a time-out after a while without steps, and watches again with the next.
    """
    overdue = Probe()
    watchdog = Watchdog(0.05, lambda step, _: overdue.tell(step))
    first, second = Step(), Step()
    watchdog.enter(first)
    watchdog.leave(first)
    assert not watchdog.is_asleep

    for _ in range(500):
        if watchdog.is_asleep:
            break
        threading.Event().wait(0.01)
    assert watchdog.is_asleep

    watchdog.enter(second)
    assert not watchdog.is_asleep
    assert second is overdue.expect(Step)
    watchdog.close()


class Step:
    """What is watched."""

    is_evicted = False


def test_a_close_ends_the_watchdog() -> None:
    """
    One for all steps of a runtime, gone with it.
    """

    def behaviour(turn: Any) -> Steps:
        yield
        return str(turn.text)

    with Runtime() as runtime:
        for _ in range(3):
            assert "step" == ended(started(runtime, behaviour, "step")).text
        assert 1 == len(watchdogs())

    assert [] == watchdogs()
