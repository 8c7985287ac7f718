"""Sealed history: long chains cost what they hold, and nothing recurses over them."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from retinue.protocol.errors import InvariantViolated
from retinue.protocol.log import Described, Ending, Log, SealedTurn, Seed, TurnFinished, TurnStarted
from retinue.protocol.seed import chain
from tests.protocol.logs import T, answered, log_with

LONG = 100_000


@pytest.fixture(name="long", scope="module")
def long_seed() -> Seed:
    """Return a seed of 100 000 turns."""
    log = Log()
    for number in range(1, LONG + 1):
        log.append(TurnStarted(number, T))
        log.append(TurnFinished(number, Ending.COMPLETED, None, None, T))
    return log.seed()


class Canary:
    """Something whose end can be seen."""


def test_a_long_chain_survives_pickle(long: Seed) -> None:
    """
    A seed of 100 000 turns crosses a process boundary without recursing.
    """
    loaded: Seed = pickle.loads(pickle.dumps(long))  # noqa: S301  # our own bytes

    assert (LONG, 2 * LONG, LONG) == (loaded.turns, loaded.length, loaded.last_turn)
    assert all(mine == theirs for mine, theirs in zip(long.events(), loaded.events(), strict=True))


def test_a_long_chain_is_its_own_copy(long: Seed) -> None:
    """
    To copy a seed copies a pointer.
    """
    assert long.head is copy.deepcopy(long).head
    assert long.head is copy.deepcopy(long.head)
    assert long.head is copy.copy(long.head)


def test_a_long_chain_shows_itself_in_one_line(long: Seed) -> None:
    """
    A seed in an error or a debugger is a line, however long it is.
    """
    assert "<Seed: 100000 turns, 200000 events>" == repr(long)
    assert "<SealedTurn 100000: 2 of 200000 events>" == repr(long.head)


def test_a_long_chain_compares_by_identity(long: Seed) -> None:
    """
    Comparing and hashing look at no event.
    """
    other = Seed(long.head)

    assert long != other
    assert long.head == other.head
    assert {long.head} == {other.head}


def test_a_long_chain_is_freed_at_once() -> None:
    """
    The last pointer to 100 000 turns frees them all, without recursing and without the
    collector.
    """
    canary = Canary()
    log = Log()
    log.append(Described(canary, T))
    for number in range(1, LONG + 1):
        log.append(TurnStarted(number, T))
        log.append(TurnFinished(number, Ending.COMPLETED, None, None, T))
    seen = weakref.ref(canary)
    del canary
    gc.disable()
    try:
        assert seen() is not None
        del log
        assert seen() is None
    finally:
        gc.enable()


def test_a_seed_pins_nothing_that_came_later() -> None:
    """
    What a parent did after a fork is freed with the parent.
    """
    parent = log_with(2)
    seed = parent.seed()
    canary = Canary()
    parent.append(Described(canary, T))
    log_with(2, parent)
    seen = weakref.ref(canary)
    del canary

    del parent

    assert seen() is None
    assert 2 == seed.turns


def test_forks_share_their_history() -> None:
    """
    Two forks, and a fork of one of them, hold the same sealed turns and not copies.
    """
    parent = log_with(3)
    first, second = Log(parent.seed(), T), Log(parent.seed(), T)
    log_with(1, first)
    third = Log(first.seed(), T)

    shared = chain(parent.latest)
    assert shared == chain(second.latest)
    assert shared == chain(third.latest)[:3]


def test_a_conversation_is_worked_out_once() -> None:
    """
    The first request for messages is O(N), the next gives the same tuple.
    """
    seed = log_with(3).seed()

    assert seed.messages() is Seed(seed.head).messages()
    assert [
        text for number in (1, 2, 3) for text in (f"question {number}", f"answer {number}")
    ] == [message.text for message in seed.messages()]


def test_a_conversation_grows_by_what_is_new() -> None:
    """
    A later request reuses what an earlier one worked out, and is the chain's only copy.
    """
    log = log_with(2)
    early = log.seed()
    before = early.messages()

    log_with(1, log)
    after = log.messages()

    assert all(old is new for old, new in zip(before, after, strict=False))
    assert [log.latest] == [turn for turn in chain(log.latest) if turn.cached is not None]
    assert before == early.messages()


def test_a_long_conversation_does_not_recurse(long: Seed) -> None:
    """
    The messages of 100 000 turns are worked out in a loop.
    """
    assert () == long.messages()


def test_forks_on_many_threads_read_one_conversation() -> None:
    """
    Threads that ask at once, at different turns of one chain, each get their own prefix.
    """

    def length(seed: Seed) -> int:
        return len(seed.messages())

    log = Log()
    seeds: list[Seed] = []
    for _ in range(20):
        log_with(1, log)
        seeds.append(log.seed())

    with ThreadPoolExecutor(8) as pool:
        lengths = list(pool.map(length, seeds * 20))

    assert [2 * seed.turns for seed in seeds] * 20 == lengths


def test_a_sealed_turn_that_does_not_end_is_not_loaded() -> None:
    """
    FRK-1: bytes from outside cannot make a seed that ends inside a turn.
    """
    broken = SealedTurn(tuple(answered(1, "q", "a")[:-1]), None, 1)

    with pytest.raises(InvariantViolated, match="ends with its turn's end"):
        pickle.loads(pickle.dumps(broken))  # noqa: S301  # our own bytes
