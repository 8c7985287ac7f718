"""Ask 1 000 actors at once, and gather their answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pykka

from benchmarks._harness import Row, Size, alternate, bare, compared, let_go
from benchmarks.ask import PykkaEcho
from benchmarks.blocking import LightEcho


def _asked(refs: list[Any]) -> float:
    started = time.perf_counter()
    answers = pykka.get_all([ref.ask(1, block=False) for ref in refs])
    taken = time.perf_counter() - started
    if sum(answers) != len(refs):
        raise RuntimeError("an answer was lost")
    return taken * 1e3


def bare_round(count: int) -> float:
    """Return milliseconds on our actor layer."""
    with bare() as dispatcher:
        refs = [LightEcho.start(dispatcher, number) for number in range(count)]
        refs[-1].ask(0)
        return _asked(refs)


def pykka_round(count: int) -> float:
    """Return milliseconds on pykka."""
    refs = [PykkaEcho.start() for _ in range(count)]
    taken = _asked(refs)
    let_go(refs)
    return taken


def task_round(count: int) -> float:
    """Return milliseconds with tasks, queues and futures."""

    async def echo(inbox: asyncio.Queue[Any]) -> None:
        while True:
            value, answer = await inbox.get()
            answer.set_result(value)

    async def host() -> float:
        loop = asyncio.get_running_loop()
        inboxes: list[asyncio.Queue[Any]] = [asyncio.Queue() for _ in range(count)]
        tasks = [asyncio.create_task(echo(inbox)) for inbox in inboxes]
        await asyncio.sleep(0)
        started = time.perf_counter()
        answers = [loop.create_future() for _ in range(count)]
        for inbox, answer in zip(inboxes, answers, strict=True):
            inbox.put_nowait((1, answer))
        await asyncio.gather(*answers)
        taken = time.perf_counter() - started
        for task in tasks:
            task.cancel()
        return taken * 1e3

    return asyncio.run(host())


def measure(size: Size) -> Iterator[Row]:
    """Measure our actor layer against both rivals."""
    count = size.pick(20, 1_000, 1_000)
    series = alternate(
        {
            "bare": lambda: bare_round(count),
            "Y": lambda: task_round(count),
            "P": lambda: pykka_round(count),
        },
        size,
        size.pick(1, 9, 25),
    )
    yield from compared("fan", series, {("bare", "P"): 20, ("bare", "Y"): None}, f"ms for {count}")
