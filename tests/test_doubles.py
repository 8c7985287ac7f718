"""The doubles keep their word."""

from __future__ import annotations

import threading

import pytest

from tests.doubles import PATIENCE, Gate, Probe, Sequencer


def test_a_probe_returns_letters_in_the_order_of_their_arrival() -> None:
    """
    The first letter told is the first one expected, with its type.
    """
    probe = Probe()
    probe.tell("first")
    probe.tell(2)

    assert "first" == probe.expect(str)
    assert 2 == probe.expect(int)
    assert [] == probe.unread()


def test_a_probe_refuses_a_letter_of_another_kind() -> None:
    """
    A letter that was not expected fails the test, and is shown.
    """
    probe = Probe()
    probe.tell("surprise")

    with pytest.raises(AssertionError, match="surprise"):
        probe.expect(int)


def test_a_gate_holds_a_thread_until_it_is_opened() -> None:
    """
    `reached` says that the thread waits; it goes on only after `open`.
    """
    gate, passed = Gate(), threading.Event()

    def walk() -> None:
        gate.wait()
        passed.set()

    walker = threading.Thread(target=walk)
    walker.start()

    assert gate.reached.wait(PATIENCE)
    assert not passed.is_set()

    gate.open()

    assert passed.wait(PATIENCE)
    walker.join(PATIENCE)


def test_a_sequencer_orders_blocks_of_different_threads() -> None:
    """
    Blocks run by number, whichever thread was started first.
    """
    sequencer, order = Sequencer(), list[int]()

    def block(position: int) -> None:
        with sequencer(position):
            order.append(position)

    threads = [threading.Thread(target=block, args=(n,)) for n in (2, 1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert [0, 1, 2] == order
