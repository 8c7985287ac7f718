"""When an asker may run its own message, and when timers fire."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pykka
import pytest

from retinue.actors import ManualClock, Reply, ThreadDispatcher
from tests.actors.scribes import DirectScribe, Scribe, elsewhere, make, opened, settle
from tests.doubles import PATIENCE, Gate


@pytest.fixture(name="dispatcher")
def make_dispatcher() -> Iterator[Any]:
    """Give a dispatcher of threads, and close it."""
    with opened(ThreadDispatcher) as dispatcher:
        yield dispatcher


def whose_thread(_: Scribe) -> int:
    """Say on which thread this is handled."""
    return threading.get_ident()


def test_a_direct_actor_is_served_on_the_askers_thread(dispatcher: Any) -> None:
    """
    With nothing queued and the role free no thread is changed.
    """
    ref = make(dispatcher, of=DirectScribe).ref

    assert elsewhere(lambda: ref.ask(whose_thread) == threading.get_ident())


def test_any_other_actor_is_served_on_the_dispatchers_thread(dispatcher: Any) -> None:
    """
    An actor says that it is direct, or it is not.
    """
    ref = make(dispatcher).ref

    assert elsewhere(lambda: ref.ask(whose_thread, timeout=PATIENCE) != threading.get_ident())


def test_the_main_thread_runs_no_handlers(dispatcher: Any) -> None:
    """
    A signal could strike inside one.
    """
    ref = make(dispatcher, of=DirectScribe).ref

    assert threading.get_ident() != ref.ask(whose_thread, timeout=PATIENCE)


def test_a_thread_with_a_running_loop_runs_no_handlers(dispatcher: Any) -> None:
    """
    The loop belongs to somebody else.
    """
    ref = make(dispatcher, of=DirectScribe).ref

    async def ask() -> bool:
        return bool(ref.ask(whose_thread, timeout=PATIENCE) != threading.get_ident())

    assert elsewhere(lambda: asyncio.run(ask()))


def test_an_asker_does_not_run_what_others_wait_for(dispatcher: Any) -> None:
    """
    While a handler runs, or a letter is queued, an asker waits its turn.
    """
    gate, first = Gate(), make(dispatcher)
    direct = make(dispatcher, of=DirectScribe)
    first.ref.tell(lambda _: gate.wait())
    assert gate.reached.wait(PATIENCE)
    first.ref.tell("queued")

    def ask() -> bool:
        answer = direct.ref.submit(whose_thread)
        assert dispatcher.run_direct(direct.ref, whose_thread) is None
        gate.open()
        return bool(answer.get(timeout=PATIENCE) != threading.get_ident())

    assert elsewhere(ask)
    settle(dispatcher)
    assert ["queued"] == first.page


def test_an_ask_does_not_overtake_what_the_same_thread_has_told(dispatcher: Any) -> None:
    """
    First come, first served holds for a sender, on whatever thread its ask is answered.
    """
    scribe = make(dispatcher, of=DirectScribe)

    def talk() -> None:
        for number in range(0, 200, 2):
            scribe.ref.tell(number)
            scribe.ref.ask(number + 1, timeout=PATIENCE)

    elsewhere(talk)

    assert list(range(200)) == scribe.page


def test_a_dead_direct_actor_refuses(dispatcher: Any) -> None:
    """
    An asker that finds the role free and the actor gone gets the dead-actor error.
    """
    ref = make(dispatcher, of=DirectScribe).ref
    ref.stop(timeout=PATIENCE)

    with pytest.raises(pykka.ActorDeadError):
        elsewhere(lambda: ref.ask("late"))


def test_what_a_direct_handler_raises_is_its_askers(dispatcher: Any) -> None:
    """
    The actor goes on.
    """
    ref = make(dispatcher, of=DirectScribe).ref

    with pytest.raises(LookupError, match="not here"):
        elsewhere(lambda: ref.ask(LookupError("not here")))
    assert "yes" == elsewhere(lambda: ref.ask("yes"))


def test_a_direct_actor_that_answers_later_keeps_to_the_time_out(dispatcher: Any) -> None:
    """
    The asker waits for an answer no longer than it said.
    """
    ref = make(dispatcher, of=DirectScribe).ref

    with pytest.raises(pykka.Timeout):
        elsewhere(lambda: ref.ask(DirectScribe.keep, timeout=0.01))


def test_timers_fire_in_the_order_of_their_times() -> None:
    """
    A clock that is moved by hand fires what has come due, soonest first, and no more.
    """
    clock, fired = ManualClock(), list[str]()
    with opened(ThreadDispatcher, clock) as dispatcher:
        done = Reply[None]()
        dispatcher.after(3, done.resolve)
        dispatcher.after(2, lambda: fired.append("second"))
        dispatcher.after(1, lambda: fired.append("first"))
        dispatcher.after(2, lambda: fired.append("after the second"))
        dispatcher.after(4, lambda: fired.append("too early"))
        clock.advance(3)
        done.get(timeout=PATIENCE)

    assert ["first", "second", "after the second"] == fired


def test_a_cancelled_timer_does_not_fire() -> None:
    """
    Neither does one of many, which are swept out of the heap.
    """
    clock, fired = ManualClock(), list[int]()
    with opened(ThreadDispatcher, clock) as dispatcher:
        timers = [dispatcher.after(1, lambda n=number: fired.append(n)) for number in range(300)]
        for number, timer in enumerate(timers):
            if number % 100:
                timer.cancel()
                timer.cancel()
        done = Reply[None]()
        dispatcher.after(1, done.resolve)
        clock.advance(1)
        done.get(timeout=PATIENCE)

    assert [0, 100, 200] == fired


def test_a_timer_that_raises_costs_no_other_timer(dispatcher: Any) -> None:
    """
    Nothing leaves a timer's action, and the dispatcher goes on.
    """
    done = Reply[None]()

    def broken() -> None:
        raise SystemExit

    dispatcher.after(0, broken)
    dispatcher.after(0, done.resolve)

    done.get(timeout=PATIENCE)
    assert "still here" == make(dispatcher).ref.ask("still here", timeout=PATIENCE)


def test_what_is_due_fires_in_the_middle_of_a_backlog() -> None:
    """
    A busy dispatcher looks at its clock now and then.
    """
    clock = ManualClock()
    with opened(ThreadDispatcher, clock) as dispatcher:
        scribe = make(dispatcher)
        dispatcher.after(1, lambda: scribe.page.append("timer"))

        def pile_up(me: Scribe) -> None:
            clock.advance(1)
            for number in range(1000):
                me.ref.tell(number)

        scribe.ref.tell(pile_up)
        settle(dispatcher)

    assert scribe.page.index("timer") < 100
