"""
Fork a parent that has N turns behind it: it must not matter how many there are.

The rival copies the conversation as plain dicts with `copy.deepcopy`, and starts nothing.
"""

from __future__ import annotations

import copy
import gc
import time
from collections.abc import Generator, Iterator
from typing import Any

from benchmarks._harness import (
    PATIENCE_SECONDS,
    Row,
    Series,
    Size,
    alternate,
    faster,
    gathered,
    in_fresh_process,
    resident_bytes,
)
from retinue.actors import Reply, Runtime, agent

TEXT = "some words of a turn, long enough to be like others"


@agent
def child(_: Any) -> Generator[Any, Any, None]:
    """Wait, as at a model."""
    answer: Reply[Any] = Reply()
    yield answer


def after(turns: int, work: Any) -> Any:
    """Run *work* in the turn of a parent after so many turns, and return what it returned."""
    found: list[Any] = []

    @agent
    def parent(turn: Any) -> Generator[Any, Any, str]:
        if turn.text == "work":
            found.append((yield from work(turn)))
        return TEXT

    with Runtime() as runtime:
        run = runtime.open(parent).get()
        for start in range(0, turns, 1_000):
            for reply in [run.tell(TEXT) for _ in range(min(1_000, turns - start))]:
                reply.get()
        result = run.ask("work").get(timeout=PATIENCE_SECONDS)
        runtime.close(PATIENCE_SECONDS)
    if not found:
        raise RuntimeError(result.diagnostic)
    return found[0]


def start_round(provider: str, turns: int, count: int) -> float:
    """Return microseconds per start, until the child is published."""

    def work(turn: Any) -> Generator[Any, Any, float]:
        started = time.perf_counter()
        replies = [turn.start(provider, TEXT, agent=child) for _ in range(count)]
        run = (yield from gathered(replies))[-1]
        taken = time.perf_counter() - started
        if run.seed_turns != (turns if provider == "fork" else 0):
            raise RuntimeError(f"a {provider} of {turns} turns has {run.seed_turns}")
        return taken / count * 1e6

    return float(after(turns, work))


def conversation(turns: int) -> list[dict[str, str]]:
    """Return as many turns as plain messages, no two of them the same object."""
    return [
        {"role": role, "content": f"{TEXT} {number}"}
        for number in range(turns)
        for role in ("user", "assistant")
    ]


def copy_round(turns: int, count: int) -> float:
    """Return microseconds per deep copy."""
    history = conversation(turns)
    started = time.perf_counter()
    copies = [copy.deepcopy(history) for _ in range(count)]
    taken = time.perf_counter() - started
    del copies
    return taken / count * 1e6


def fork_bytes(count: int) -> float:
    """Return the bytes of a live fork of 200 turns, the whole run counted."""

    def work(turn: Any) -> Generator[Any, Any, float]:
        before = 0
        for number in (count // 10, count):
            gc.collect()
            before = resident_bytes()
            replies = [turn.start("fork", TEXT, agent=child) for _ in range(number)]
            yield from gathered(replies)
            del replies
            yield from turn.step()
        gc.collect()
        return (resident_bytes() - before) / count

    return max(float(after(200, work)), 1.0)


def copy_bytes(count: int) -> float:
    """Return the bytes of a deep copy of 200 turns."""
    history = conversation(200)
    copies = [copy.deepcopy(history) for _ in range(count // 10)]
    gc.collect()
    before = resident_bytes()
    copies += [copy.deepcopy(history) for _ in range(count)]
    gc.collect()
    return max((resident_bytes() - before) / count, 1.0)


def measure(size: Size) -> Iterator[Row]:
    """Measure forks of short and long parents, and against deep copies."""
    count = size.pick(10, 500, 2_000)
    turns = size.pick(100, 3_000, 10_000)
    series = alternate(
        {
            "short": lambda: start_round("fork", 10, count),
            "long": lambda: start_round("fork", turns, count),
            "middle": lambda: start_round("fork", 200, count),
            "spawn": lambda: start_round("spawn", 200, count),
            "copy": lambda: copy_round(200, count // 10),
        },
        size,
    )
    unit = f"µs per fork at {turns} turns, beside 10"
    yield faster("fork/turns", "run", series["long"], series["short"], 1 / 1.2, unit)
    unit = "µs per fork at 200 turns, beside a spawn"
    yield faster("fork/spawn", "run", series["middle"], series["spawn"], None, unit)
    unit = "µs per fork at 200 turns, the whole start, beside one deep copy"
    yield faster("fork/deepcopy", "run", series["middle"], series["copy"], 100, unit)
    rounds = size.pick(1, 3, 3)
    measured = (
        (lambda function, number: function(number)) if size is Size.QUICK else in_fresh_process
    )
    held, copied = (
        Series(tuple(measured(function, number) for _ in range(rounds)))
        for function, number in ((fork_bytes, count * 4), (copy_bytes, count))
    )
    unit = "B per fork at 200 turns, the whole run, beside one deep copy"
    yield faster("fork/bytes", "run", held, copied, 50, unit)
