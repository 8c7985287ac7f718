"""How the tree of a pykka host ends: by its close, by its death, and by ``stop_all``."""

from __future__ import annotations

import threading
import time
from typing import Any

import pykka
import pytest

from retinue.actors import ManualClock, Run, RunResult, Runtime
from retinue.protocol.errors import Closing, StartCancelled
from retinue.protocol.events import RunEnded
from retinue.protocol.result import ABORTED, HOST_GONE
from tests.actors.behaviours import Steps, echo
from tests.actors.hosts import Host, die, hosting, within
from tests.actors.providers import Slow
from tests.doubles import PATIENCE, Gate, Probe

HostRef = pykka.ActorRef[Host]


def endless(turn: Any) -> Steps:
    """Sleep, and say when that is over."""
    yield turn.sleep(86_400)


def family() -> tuple[Any, threading.Event]:
    """Return a behaviour that waits for a child for ever, and what is set when that works."""
    begun = threading.Event()

    def child(turn: Any) -> Steps:
        begun.set()
        yield turn.sleep(86_400)

    def parent(turn: Any) -> Steps:
        run = yield from turn.start("spawn", "child", agent=child, label="child")
        yield from run.result

    return parent, begun


def started(host: HostRef, agent: Any, **options: Any) -> Run:
    """Start a run as a child of the host."""
    run: Run = within(host, lambda it: it.rt.start("spawn", "go", agent=agent, **options).get())
    return run


@pytest.fixture(name="threads")
def note_threads() -> set[threading.Thread]:
    """Give the threads that there were before."""
    return set(threading.enumerate())


def gone(threads: set[threading.Thread]) -> bool:
    """Wait until every thread that has come since has ended."""
    for thread in set(threading.enumerate()) - threads:
        thread.join(PATIENCE)
    return set(threading.enumerate()) <= threads


def test_a_host_that_closes_leaves_nothing(threads: set[threading.Thread]) -> None:
    """
    Its ``on_stop`` ends the tree, children first, and returns when all threads are gone.
    """
    ends = list[str]()

    def note(event: object) -> None:
        if isinstance(event, RunEnded):
            ends.append(event.label or event.run_id)

    parent, begun = family()
    with hosting(Probe()) as host:
        within(host, lambda it: it.rt.subscribe(note))
        run = started(host, parent, label="parent")
        assert begun.wait(PATIENCE)
        stand_in = within(host, lambda it: it.rt.stand_in)

    assert ABORTED == run.result.get(timeout=PATIENCE).stop_reason
    assert ["child", "parent", stand_in.id] == ends
    assert gone(threads)


def test_a_host_that_died_is_found_within_a_second(threads: set[threading.Thread]) -> None:
    """
    Nobody closes; the next look ends the whole tree with the reason ``host-gone``.
    """
    clock = ManualClock()
    parent, begun = family()
    with hosting(Probe(), closes=False, clock=clock) as host:
        run = started(host, parent)
        assert begun.wait(PATIENCE)
        registry = within(host, lambda it: it.rt.registry)
        die(host)
        assert not run.result.is_done

        clock.advance(1.0)

        assert HOST_GONE == run.result.get(timeout=PATIENCE).stop_reason
        assert gone(threads)
        assert not registry.is_alive()
        assert registry not in pykka.ActorRegistry.get_all()


def test_a_host_that_lives_is_looked_at_and_left_alone() -> None:
    """
    A look every second of the clock, and nothing comes of it.
    """
    clock = ManualClock()
    with hosting(Probe(), clock=clock) as host:
        run = within(host, lambda it: it.rt.open(echo).get())
        for second in ("one", "two", "three"):
            clock.advance(1.0)
            assert second == run.ask(second).get(timeout=PATIENCE).text


def test_a_host_that_died_is_found_by_what_it_is_told(threads: set[threading.Thread]) -> None:
    """
    A result that nobody takes any more ends the tree without a look.
    """
    gate = Gate()

    def child(_: Any) -> None:
        gate.wait()

    with hosting(Probe(), closes=False, clock=ManualClock()) as host:
        run = started(host, endless)
        started(host, child)
        die(host)
        gate.open()

        assert HOST_GONE == run.result.get(timeout=PATIENCE).stop_reason
        assert gone(threads)


def test_a_host_may_die_during_a_start(threads: set[threading.Thread]) -> None:
    """
    The start is taken back, and its provider is not waited for.
    """
    clock = ManualClock()
    slow = Slow(seconds=3600.0)
    with hosting(Probe(), closes=False, clock=clock, providers=[slow]) as host:
        reply = within(host, lambda it: it.rt.start("slow", "go", agent=echo))
        die(host)

        clock.advance(1.0)

        with pytest.raises((StartCancelled, Closing)):
            reply.get(timeout=PATIENCE)
        clock.advance(3600.0)
        assert gone(threads)


def test_stop_all_ends_everything_and_is_bounded(threads: set[threading.Thread]) -> None:
    """
    With one that blocks and looks, one that is deaf, and generators: children come first,
    and what is deaf holds nobody up for longer than the grace.
    """
    deaf, ends = Gate(), list[str]()
    reached = threading.Event()

    def blocking(turn: Any) -> None:
        reached.set()
        while True:
            turn.sleep(3600.0)

    def stuck(_: Any) -> None:
        deaf.wait()

    def note(event: object) -> None:
        if isinstance(event, RunEnded) and event.label:
            ends.append(event.label)

    parent, begun = family()
    with hosting(Probe(), grace=0.1) as host:
        within(host, lambda it: it.rt.subscribe(note))
        runs = [started(host, agent, label=agent.__name__) for agent in (parent, blocking, stuck)]
        assert deaf.reached.wait(PATIENCE)
        assert reached.wait(PATIENCE)
        assert begun.wait(PATIENCE)

        before = time.monotonic()
        pykka.ActorRegistry.stop_all(timeout=PATIENCE)

        assert time.monotonic() - before < PATIENCE
        assert [ABORTED] * 3 == [run.result.get(timeout=PATIENCE).stop_reason for run in runs]
        assert ends.index("child") < ends.index("parent")
        assert {"child", "parent", "blocking", "stuck"} == set(ends)
        assert [] == pykka.ActorRegistry.get_all()
    deaf.open()
    assert gone(threads)


def test_a_runtime_whose_registry_was_stopped_is_closed(threads: set[threading.Thread]) -> None:
    """
    ``stop_all`` without a host: everything is refused from then on, and a close is quiet.
    """
    runtime = Runtime()
    run = runtime.open(echo).get(timeout=PATIENCE)

    pykka.ActorRegistry.stop_all(timeout=PATIENCE)

    with pytest.raises(Closing):
        runtime.tree()
    with pytest.raises(Closing):
        runtime.start("spawn", "go", agent=echo).get(timeout=PATIENCE)
    runtime.close()
    assert run.dispose().get(timeout=PATIENCE)
    assert gone(threads)


def test_a_dead_hosts_results_hurt_nobody(threads: set[threading.Thread]) -> None:
    """
    Its runtime, closed by hand afterwards, has nothing left to say.
    """
    heard = Probe()
    with hosting(heard, closes=False, clock=ManualClock()) as host:
        runtime = within(host, lambda it: it.rt)
        run = started(host, endless)
        die(host)
        runtime.close()

    assert run.result.get(timeout=PATIENCE).stop_reason in {ABORTED, HOST_GONE}
    assert [] == [letter for letter in heard.unread() if isinstance(letter, RunResult)]
    assert gone(threads)
