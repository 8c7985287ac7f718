"""
A whole delegation, start → model turn → result → gone, beside the real reference runtime.

Both sides have a parent that a model works for, whose answers call the delegation tool, and
children with a model that answers at once. Ours is scripted, in this process; the harness
asks a server on loopback, which costs it a millisecond of its floor of 30. It takes no more
than 8 children at once.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any, Final

from benchmarks import _peer
from benchmarks._harness import (
    PATIENCE_SECONDS,
    Latch,
    Row,
    Series,
    Size,
    alternate,
    faster,
    in_fresh_process,
    resident_bytes,
    within,
)
from benchmarks.fork import TEXT
from benchmarks.history import Waiting
from retinue.actors import Agent, Runtime
from retinue.actors.tools import subagent
from retinue.backends.models.scripted import ScriptedModel

HARNESS_WIDTH: Final = 8
GOAL: Final = 50.0

# What a live child of the reference runtime takes, and what it takes to delegate to one
# where it is not installed, from reference measurements on a quiet machine.
HARNESS_CHILD_BYTES: Final = 1.1e6
HARNESS_CHILD_MS: Final = 56.0

CALL: Final = {"name": "subagent", "arguments": {"description": "find it", "prompt": "6 * 7?"}}


def parent_model(width: int, rounds: int) -> ScriptedModel:
    """Return a model that starts *width* children in each of so many answers."""
    children = {"0*": ["The answer is 42."]}
    return ScriptedModel({"": [{"calls": [CALL] * width}] * rounds + ["done"], **children})


def delegate(width: int, rounds: int) -> float:
    """Return milliseconds per child, from the parent's start until everything is gone."""
    model = parent_model(width, rounds)
    child = Agent(model=model, name="child")
    parent = Agent(model=model, tools=[subagent(agent=child)], instructions="Lead the others.")
    with Runtime() as runtime:
        started = time.perf_counter()
        run = runtime.start("spawn", "You lead the others.", agent=parent).get()
        result = run.result.get(timeout=PATIENCE_SECONDS)
        run.dispose().get(timeout=PATIENCE_SECONDS)
        taken = time.perf_counter() - started
    if result.text != "done" or result.total_usage.requests < width * rounds:
        raise RuntimeError(f"the benchmark itself failed: {result}")
    return taken / (width * rounds) * 1e3


def live_bytes(count: int) -> float:
    """Return the bytes of a child that waits in its model call, everything counted."""
    model = Waiting(1)
    child = Agent(model=model, name="child")
    with Runtime() as runtime:
        before, kept = 0, []
        for number in (max(count // 10, 1), count):
            gc.collect()
            before = resident_bytes()
            model.there = Latch(number)
            starts = [runtime.start("spawn", TEXT, agent=child) for _ in range(number)]
            kept += [start.get(timeout=PATIENCE_SECONDS) for start in starts]
            del starts
            model.there.wait()
        gc.collect()
        taken = (resident_bytes() - before) / count
        runtime.close(PATIENCE_SECONDS)
    return max(taken, 1.0)


def measure(size: Size) -> Iterator[Row]:
    """Measure delegations one after another and at once, and what a live child takes."""
    one_by_one, at_once = size.pick(3, 20, 100), size.pick(8, 1_000, 1_000)
    contenders: dict[str, Any] = {
        "turns": lambda: delegate(1, one_by_one),
        "once": lambda: delegate(at_once, 1),
        "eight": lambda: delegate(HARNESS_WIDTH, 1),
    }
    unit = "ms per child"
    if size is Size.QUICK or not _peer.is_installed():
        series = alternate(contenders, size)
        for name, text in (("turns", "one after another"), ("once", f"{at_once} at once")):
            row = f"{unit}, {text} (the harness, not installed here: as measured elsewhere)"
            yield within_goal(f"delegation/{name}", series[name], HARNESS_CHILD_MS, row)
    else:
        with _peer.harness() as harness:
            contenders["harness turns"] = lambda: harness.delegate(width=1, rounds=one_by_one) * 1e3
            contenders["harness once"] = lambda: (
                harness.delegate(width=HARNESS_WIDTH, rounds=1) * 1e3
            )
            series = alternate(contenders, size)
        text = f"{unit}, {one_by_one} one after another"
        yield faster(
            "delegation/turns", "run", series["turns"], series["harness turns"], GOAL, text
        )
        text = f"{unit}, {at_once} at once (the harness: {HARNESS_WIDTH}, its limit)"
        yield faster("delegation/once", "run", series["once"], series["harness once"], GOAL, text)
        text = f"{unit}, {HARNESS_WIDTH} at once"
        yield faster("delegation/eight", "run", series["eight"], series["harness once"], GOAL, text)
    count = size.pick(10, 2_000, 10_000)
    measured = live_bytes if size is Size.QUICK else lambda n: in_fresh_process(live_bytes, n)
    held = Series(tuple(measured(count) for _ in range(size.pick(1, 3, 3))))
    text = "B of a child in its model call, beside a fiftieth of the harness's"
    yield within("delegation/bytes", "run", held, HARNESS_CHILD_BYTES / GOAL, text)


def within_goal(name: str, ours: Series, rival: float, unit: str) -> Row:
    """Compare with a number that was measured elsewhere."""
    median = max(ours.median, 1e-9)
    return Row(name, "run", median, rival, rival / median, GOAL, unit, len(ours.values))
