"""
The deterministic dispatcher: its speed beside the normal one, and an hour of many agents.

10 000 agents that sleep 20 times through one hour of virtual time; by default a tenth
of them in a tenth of the time.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

from benchmarks._harness import (
    PATIENCE_SECONDS,
    Row,
    Series,
    Size,
    alternate,
    bare,
    compared,
    within,
)
from benchmarks.ring import MEMBERS, LightMember
from benchmarks.tree import node, total
from retinue.actors import DeterministicDispatcher, Reply, Runtime, ThreadDispatcher, agent

HOUR = 3600.0
NAPS = 20


def _hops(dispatcher: Any, hops: int) -> float:
    done: Reply[Any] = Reply(dispatcher.pump)
    members = [LightMember.start(dispatcher, number) for number in range(MEMBERS)]
    for member, neighbour in zip(members, [*members[1:], members[0]], strict=True):
        member.tell((neighbour, done))
    started = time.perf_counter()
    members[0].tell(hops)
    done.get()
    return (time.perf_counter() - started) / hops * 1e6


def threaded_ring(hops: int) -> float:
    """Return microseconds per hop of a ring on the normal dispatcher."""
    with bare() as dispatcher:
        return _hops(dispatcher, hops)


def deterministic_ring(hops: int) -> float:
    """Return microseconds per hop of a ring on the deterministic one."""
    dispatcher = DeterministicDispatcher(1)
    try:
        return _hops(dispatcher, hops)
    finally:
        dispatcher.close(PATIENCE_SECONDS)


def tree_round(dispatcher: Any, levels: int) -> float:
    """Return microseconds per run of a tree."""
    with Runtime(dispatcher=dispatcher) as runtime:
        started = time.perf_counter()
        run = runtime.start("spawn", str(levels), agent=node).get()
        run.result.get().unwrap()
        return (time.perf_counter() - started) / total(levels) * 1e6


@agent
def sleeper(turn: Any) -> Generator[Any, Any, None]:
    """Sleep through an hour."""
    for _ in range(NAPS):
        yield from turn.sleep(HOUR / NAPS)


def hour(agents: int) -> float:
    """Return the seconds that an hour of so many agents takes."""
    dispatcher = DeterministicDispatcher(1)
    with Runtime(dispatcher=dispatcher) as runtime:
        started = time.perf_counter()
        replies = [runtime.start("spawn", "sleep", agent=sleeper) for _ in range(agents)]
        for reply in replies:
            reply.get().result.get()
        taken = time.perf_counter() - started
        if dispatcher.clock.now() < HOUR:
            raise RuntimeError("the hour has not passed")
        runtime.close(PATIENCE_SECONDS)
        return taken


def measure(size: Size) -> Iterator[Row]:
    """Measure both dispatchers, and the hour."""
    hops = size.pick(200, 20_000, 100_000)
    levels = size.pick(1, 4, 6)
    series = alternate(
        {
            "bare": lambda: deterministic_ring(hops),
            "bare, threads": lambda: threaded_ring(hops),
            "run": lambda: tree_round(DeterministicDispatcher(1), levels),
            "run, threads": lambda: tree_round(ThreadDispatcher(), levels),
        },
        size,
    )
    yield from compared(
        "deterministic",
        {"bare": series["bare"], "threads": series["bare, threads"]},
        {("bare", "threads"): 0.5},
        f"µs per hop of {hops}",
    )
    yield from compared(
        "deterministic",
        {"run": series["run"], "threads": series["run, threads"]},
        {("run", "threads"): 0.5},
        f"µs per run of a tree of {total(levels)}",
    )
    agents = size.pick(20, 1_000, 10_000)
    taken = Series((hour(agents),))
    unit = f"s for an hour of {agents} agents"
    yield within("deterministic/hour", "run", taken, 10.0 * agents / 10_000, unit)
