"""
Asks that race stops: every one of a million is answered, if only with an error.

The ratio is the share that was answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pykka

from benchmarks._harness import BUDGET_SECONDS, Row, Size, bare
from benchmarks.ask import PykkaEcho
from benchmarks.blocking import LightEcho
from retinue.actors import Runtime, agent

ASKERS = 2

# An actor is stopped after so many asks; then comes the next.
ASKS_PER_ACTOR = 500

# An answer that has not come when its actor has long been dead never comes.
SETTLE_SECONDS = 2.0

Asked = tuple[list[Any], Callable[[Any], bool]]


@agent
def echo(turn: Any) -> Generator[Any, Any, str]:
    """Answer with what it was asked."""
    yield from turn.step()
    text: str = turn.text
    return text


def _ask_until_stopped(ask: Callable[[], Any], stop: Callable[[], None]) -> list[Any]:
    """Ask on some threads while another stops; return all futures."""
    futures: list[list[Any]] = [[] for _ in range(ASKERS)]
    go = threading.Barrier(ASKERS + 1)

    def asker(mine: list[Any]) -> None:
        go.wait()
        for _ in range(ASKS_PER_ACTOR):
            try:
                mine.append(ask())
            except pykka.ActorDeadError:
                return

    threads = [threading.Thread(target=asker, args=(mine,)) for mine in futures]
    for thread in threads:
        thread.start()
    go.wait()
    until = time.perf_counter() + 0.01
    while len(futures[0]) < ASKS_PER_ACTOR // 4 and time.perf_counter() < until:
        time.sleep(0)
    stop()
    for thread in threads:
        thread.join()
    return [future for mine in futures for future in mine]


def _unanswered(futures: list[Any]) -> int:
    until = time.perf_counter() + SETTLE_SECONDS
    lost = 0
    for future in futures:
        try:
            future.get(timeout=max(until - time.perf_counter(), 0.0))
        except pykka.Timeout:
            lost += 1
        except Exception:  # noqa: BLE001, S112 - an error is an answer
            continue
    return lost


def _raced(actors: Callable[[], tuple[Any, Any]], count: int) -> tuple[int, int]:
    """Race until *count* were asked or the time is up; return asked and unanswered."""
    asked = lost = 0
    until = time.perf_counter() + BUDGET_SECONDS / 2
    while asked < count and (count > 1_000_000 or time.perf_counter() < until):
        ask, stop = actors()
        futures = _ask_until_stopped(ask, stop)
        asked += len(futures)
        lost += _unanswered(futures)
    return asked, lost


def bare_race(count: int) -> tuple[int, int]:
    """Race on our actor layer."""
    with bare() as dispatcher:

        def actors() -> tuple[Any, Any]:
            ref = LightEcho.start(dispatcher, dispatcher.next_number())
            return lambda: ref.ask(1, block=False), ref.stop

        return _raced(actors, count)


def pykka_race(count: int) -> tuple[int, int]:
    """Race on pykka."""

    def actors() -> tuple[Any, Any]:
        ref = PykkaEcho.start()
        return lambda: ref.ask(1, block=False), ref.stop

    return _raced(actors, count)


def run_race(count: int) -> tuple[int, int]:
    """Race with residents."""
    with Runtime() as runtime:

        def actors() -> tuple[Any, Any]:
            run = runtime.open(echo).get()
            return lambda: run.ask("one"), run.cancel

        return _raced(actors, count)


def measure(size: Size) -> Iterator[Row]:
    """Race on both layers, and on pykka for comparison."""
    count = size.pick(500, 1_000_000, 10_000_000)
    fewer = size.pick(500, 100_000, 1_000_000)
    rival_asked, rival_lost = pykka_race(fewer)
    for layer, race, wanted in (("bare", bare_race, count), ("run", run_race, fewer)):
        asked, lost = race(wanted)
        unit = f"asks unanswered of {asked} (P: of {rival_asked})"
        yield Row("race/P", layer, lost, rival_lost, 1 - lost / asked, 1, unit, 1)
