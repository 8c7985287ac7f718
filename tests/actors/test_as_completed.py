"""Outcomes can be had each as it comes, in sync code and in asyncio."""

from __future__ import annotations

import asyncio
import threading

import pykka
import pytest

from retinue.actors import Runtime
from tests.actors.behaviours import Gates
from tests.doubles import PATIENCE


def test_outcomes_can_be_had_as_they_come(runtime: Runtime) -> None:
    """
    In the order of the ends; one that has ended already comes first.
    """
    gates = Gates(runtime, "abc")
    gates.open("c")
    coming = runtime.as_completed(gates.runs)
    order = ["c"]
    texts = []
    for outcome in coming:
        texts.append(outcome.text)
        if len(order) < 3:
            order.append("ba"[len(order) - 1])
            gates.open(order[-1])

    assert ["c", "b", "a"] == texts
    assert 3 == len(coming)


def test_outcomes_can_be_had_as_they_come_in_asyncio(runtime: Runtime) -> None:
    """
    The same with `async for`, and the loop is free meanwhile.
    """
    gates = Gates(runtime, "abc")
    ticks: list[int] = []

    async def tick() -> None:
        while True:
            ticks.append(1)
            await asyncio.sleep(0)

    async def main() -> list[str]:
        ticking = asyncio.create_task(tick())
        await asyncio.sleep(0)
        coming = runtime.as_completed(gates.runs)
        opener = threading.Thread(target=gates.open, args=("bca",))
        opener.start()
        texts = [outcome.text async for outcome in coming]
        opener.join(PATIENCE)
        ticking.cancel()
        return texts

    assert ["b", "c", "a"] == asyncio.run(main())
    assert ticks


def test_an_iteration_stops_waiting_after_its_time(runtime: Runtime) -> None:
    """
    For each outcome anew, in both worlds; the runs go on.
    """
    gates = Gates(runtime, "a")

    async def main() -> None:
        async for _ in runtime.as_completed(gates.runs, timeout=0.01):
            pass

    with pytest.raises(pykka.Timeout):
        list(runtime.as_completed(gates.runs, timeout=0.01))
    with pytest.raises(pykka.Timeout):
        asyncio.run(main())
    gates.open("a")
    assert ["a"] == [outcome.text for outcome in runtime.as_completed(gates.runs)]
