"""
Actors and runs that ask each other in a circle: reported at once, and never a hang.

The ratio is the share that was reported; pykka, which hangs for ever, is not run.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

from benchmarks._harness import Row, Size, alternate, bare, gathered, lead
from retinue.actors import agent
from retinue.actors._actor import LightActor
from retinue.protocol.errors import AskCycle, WouldBlock

MEMBERS = 4


class LightMember(LightActor):
    """Asks its neighbour, and waits for the answer in its handler."""

    neighbour: Any

    def on_receive(self, message: Any) -> Any:
        """Ask on, once round the circle, or take the neighbour."""
        if isinstance(message, int):
            return self.neighbour.ask(message - 1) if message else None
        self.neighbour = message
        return None


def bare_round(circles: int) -> tuple[float, int]:
    """Return microseconds per circle, and how many of them were reported."""
    reported = 0
    with bare() as dispatcher:
        started = time.perf_counter()
        for _ in range(circles):
            members = [LightMember.start(dispatcher, number) for number in range(MEMBERS)]
            for member, neighbour in zip(members, [*members[1:], members[0]], strict=True):
                member.tell(neighbour)
            try:
                members[0].ask(MEMBERS, timeout=5)
            except WouldBlock:
                reported += 1
        return (time.perf_counter() - started) / circles * 1e6, reported


def run_round(circles: int) -> tuple[float, int]:
    """Return microseconds per circle, and how many of them were reported."""
    neighbours: dict[str, Any] = {}
    reported = 0

    @agent
    def member(turn: Any) -> Generator[Any, Any, str]:
        nonlocal reported
        try:
            answer = yield from turn.ask(neighbours[turn.run.id], "ask")
        except AskCycle:
            reported += 1
            return "a circle"
        return str(answer.text)

    @agent
    def host(turn: Any) -> Generator[Any, Any, float]:
        started = time.perf_counter()
        for _ in range(circles):
            replies = [turn.open(member) for _ in range(MEMBERS)]
            members = yield from gathered(replies)
            for one, other in zip(members, [*members[1:], members[0]], strict=True):
                neighbours[one.id] = other
            yield from turn.ask(members[0], "ask")
        return (time.perf_counter() - started) / circles * 1e6

    return float(lead(host)), reported


def measure(size: Size) -> Iterator[Row]:
    """Count what is reported."""
    circles = size.pick(2, 100, 1_000)
    for layer, function in (("bare", bare_round), ("run", run_round)):
        reports: list[int] = []

        def one_round(function: Any = function, reports: list[int] = reports) -> float:
            taken, reported = function(circles)
            reports.append(reported)
            return float(taken)

        series = alternate({layer: one_round}, size)[layer]
        share = sum(reports) / (circles * len(reports))
        unit = f"µs per circle of {MEMBERS}, made, asked and reported"
        yield Row("cycles", layer, series.median, None, share, 1, unit, len(reports))
