"""What both dispatchers promise of mailboxes: order, lanes, turns, and an answer to everybody."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pykka
import pytest
from pykka._envelope import Envelope

from retinue.actors import DeterministicDispatcher, Reply, ThreadDispatcher
from retinue.protocol.errors import WouldBlock
from retinue.protocol.messages import Cancel
from tests.actors.scribes import KINDS, Scribe, make, opened, settle
from tests.doubles import PATIENCE


@pytest.fixture(name="dispatcher", params=KINDS, ids=lambda kind: kind.__name__)
def make_dispatcher(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give a dispatcher of each kind, and close it."""
    with opened(request.param) as dispatcher:
        yield dispatcher


def test_messages_of_one_sender_keep_their_order(dispatcher: Any) -> None:
    """
    A mailbox is first come, first served.
    """
    scribe = make(dispatcher)

    for number in range(200):
        scribe.ref.tell(number)
    settle(dispatcher)

    assert list(range(200)) == scribe.page


def test_a_cancel_waits_for_one_handler_at_most(dispatcher: Any) -> None:
    """
    Control overtakes the whole backlog of its actor, from wherever in it it is sent.
    """
    scribe = make(dispatcher)
    cancel = Cancel("enough")

    for number in range(100):
        scribe.ref.tell(number)
    scribe.ref.tell(lambda me: me.ref.tell(cancel))
    for number in range(100, 200):
        scribe.ref.tell(number)
    settle(dispatcher)

    assert [*range(100), cancel, *range(100, 200)] == scribe.page


def test_control_keeps_its_own_order(dispatcher: Any) -> None:
    """
    Two cancels arrive in the order in which they were sent.
    """
    scribe = make(dispatcher)
    orders = [Cancel(f"reason {number}") for number in range(20)]

    scribe.ref.tell(lambda me: [me.ref.tell(order) for order in ("work", *orders)])
    settle(dispatcher)

    assert [*orders, "work"] == scribe.page


def test_actors_on_threads_take_turns() -> None:
    """
    Of two actors with a backlog each handles one message, then the other does.
    """
    page: list[Any] = []
    with opened(ThreadDispatcher) as dispatcher:
        busy, other = make(dispatcher, page, "busy"), make(dispatcher, page, "other")

        def pile_up(_: Scribe) -> None:
            for number in range(50):
                busy.ref.tell(number)
            for number in range(50):
                other.ref.tell(number)

        make(dispatcher).ref.tell(pile_up)
        settle(dispatcher)

    assert [(name, number) for number in range(50) for name in ("busy", "other")] == page


def test_no_actor_waits_for_anothers_backlog_under_any_seed() -> None:
    """
    Which of two backlogs moves is drawn anew for each message.
    """
    for seed in range(50):
        page: list[Any] = []
        with opened(DeterministicDispatcher, seed) as dispatcher:
            for name in ("one", "other"):
                ref = make(dispatcher, page, name).ref
                for number in range(50):
                    ref.tell(number)
            dispatcher.run_until_idle()

        assert {"one", "other"} == {name for name, _ in page[:25]}


def test_asks_behind_a_stop_end_with_the_dead_actor_error(dispatcher: Any) -> None:
    """
    H59: none of 100 futures stays open; told messages are handed back in order.
    """
    scribe = make(dispatcher)
    asks: list[Reply[Any]] = []

    def pile_up(me: Scribe) -> None:
        for number in range(100):
            asks.append(me.ref.ask(number, block=False))
            me.ref.tell(f"told {number}")
        me.stop()

    scribe.ref.tell(pile_up)
    settle(dispatcher)

    assert 100 == sum(isinstance(ask.error, pykka.ActorDeadError) for ask in asks)
    assert [f"told {number}" for number in range(100)] == scribe.handed_back
    assert [] == scribe.page


def test_a_sealed_mailbox_refuses_what_comes_late(dispatcher: Any) -> None:
    """
    Whoever asks, tells or stops a dead actor hears so at once.
    """
    ref = make(dispatcher).ref
    assert ref.stop() is True

    with pytest.raises(pykka.ActorDeadError):
        ref.tell("late")
    with pytest.raises(pykka.ActorDeadError):
        ref.ask("late")
    assert isinstance(ref.ask("late", block=False).error, pykka.ActorDeadError)
    assert ref.stop() is False
    assert not ref.is_alive()
    assert ref.actor_stopped.is_set()


def test_a_letter_put_behind_the_check_of_a_sealed_mailbox_is_answered(dispatcher: Any) -> None:
    """
    The window in which pykka loses asks: the sender has seen a live actor, which then stops.
    """
    ref = make(dispatcher).ref
    ref.stop()
    asked, told = Reply[Any](), Envelope("late")

    ref.actor_inbox.put(Envelope("late", reply_to=asked))

    with pytest.raises(pykka.ActorDeadError):
        asked.get(timeout=PATIENCE)
    with pytest.raises(pykka.ActorDeadError):
        ref.actor_inbox.put(told)


def test_no_ask_that_races_a_stop_stays_unanswered() -> None:
    """
    Threads that ask while the actor stops get an answer or the dead-actor error, each of them.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with opened(ThreadDispatcher) as dispatcher:
            answers = [answer for _ in range(20) for answer in race(dispatcher)]
    finally:
        sys.setswitchinterval(before)

    assert all(answer.is_done for answer in answers)
    assert {True, False} == {answer.error is None for answer in answers}


def race(dispatcher: Any) -> list[Reply[Any]]:
    """Have three threads ask while the actor stops; returns what they were answered."""
    ref = make(dispatcher).ref
    answers: list[Reply[Any]] = []
    barrier = threading.Barrier(4)

    def keep_asking() -> None:
        barrier.wait(PATIENCE)
        answers.extend([ref.ask("anybody there?", block=False) for _ in range(100)])

    threads = [threading.Thread(target=keep_asking) for _ in range(3)]
    for thread in threads:
        thread.start()
    barrier.wait(PATIENCE)
    answers.append(ref.ask("first", block=False))
    ref.stop(timeout=PATIENCE)
    for thread in threads:
        thread.join(PATIENCE)
    settle(dispatcher)
    return answers


def test_a_handler_that_waits_is_refused(dispatcher: Any) -> None:
    """
    A blocking ask inside a handler raises at once, and the asker of the handler hears it.
    """
    other = make(dispatcher)
    asking = make(dispatcher)

    with pytest.raises(WouldBlock, match="would block"):
        asking.ref.ask(lambda _: other.ref.ask("are you there?"), timeout=PATIENCE)

    assert "still" == asking.ref.ask("still", timeout=PATIENCE)


def test_an_asker_can_be_answered_later(dispatcher: Any) -> None:
    """
    A handler that kept its asker's Reply lets others be served meanwhile.
    """
    scribe = make(dispatcher)

    late = scribe.ref.ask(Scribe.keep, block=False)
    assert "now" == scribe.ref.ask("now", timeout=PATIENCE)
    scribe.ref.tell(lambda me: me.kept[0].resolve("later"))

    assert "later" == late.get(timeout=PATIENCE)


def test_a_close_ends_every_thread_and_can_be_repeated(dispatcher: Any) -> None:
    """
    The second close finds nothing to do.
    """
    make(dispatcher).ref.ask("work", timeout=PATIENCE)

    assert [] == dispatcher.close(PATIENCE)
    assert [] == [thread.name for thread in threading.enumerate() if "retinue" in thread.name]
