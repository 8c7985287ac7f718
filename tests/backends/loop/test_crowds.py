"""Many models at once on real threads, whose sync tools wait for children of their own."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any, Final

import pytest

from retinue.actors import Agent, Run, Runtime
from retinue.protocol.model import Answer, ModelRequest
from retinue.protocol.result import ABORTED, COMPLETED, NO_USAGE
from tests.actors.conftest import watched
from tests.backends.loop.models import HOUR, calls, says, told
from tests.doubles import PATIENCE

MANY: Final = 300
# Three hundred runs with six hundred below them take a while on a busy machine.
LONG: Final = 6 * PATIENCE


@pytest.fixture(name="threaded")
def make_threaded() -> Any:
    """Give a runtime on threads, watched and closed."""
    yield from watched(Runtime())


class Plain:
    """A model that answers with what a function says."""

    name = "plain"

    def __init__(self, answer: Callable[[ModelRequest], Answer]) -> None:
        self._answer = answer

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        """Answer at once."""
        yield self._answer(request)


LEAF: Final = Agent(model=Plain(lambda _: says("leaf")), name="leaf")


def delegating(tool: Callable[..., Any], name: str) -> Agent:
    """Return an agent whose model calls *tool* once and then is done."""

    def answer(request: ModelRequest) -> Answer:
        return calls(("a", tool.__name__, {})) if request.step == 1 else says(name)

    return Agent(model=Plain(answer), tools=[tool], name=name)


def ask_leaves(turn: Any) -> str:
    """Wait for two children."""
    runs = [turn.start("spawn", "x", agent=LEAF) for _ in range(2)]
    return "+".join([run.result.get().text for run in runs])


def test_hundreds_of_sync_tools_wait_for_children_at_once(threaded: Runtime) -> None:
    """
    H31, section 5: the pool grows, so that waits within waits starve nobody, and what all
    of them spent adds up.
    """
    middle = delegating(ask_leaves, "middle")

    def gather(turn: Any) -> str:
        """Wait for three hundred."""
        outcomes = turn.wait([turn.start("spawn", "x", agent=middle) for _ in range(MANY)])
        return str(Counter(outcome.text for outcome in outcomes)["middle"])

    run = threaded.start("spawn", "go", agent=delegating(gather, "root")).get(timeout=PATIENCE)
    result = run.result.get(timeout=LONG)

    assert "root" == result.unwrap()
    assert f"a: {MANY}" in told(run)
    assert 2 + MANY * 2 + MANY * 2 == result.total_usage.requests


def test_a_cancel_in_the_middle_of_a_crowd_reaches_everybody(threaded: Runtime) -> None:
    """
    Promises 3 and 4: threads that wait within threads let go, and dispose returns after them.
    """
    begun = threading.Semaphore(0)
    numbers = count()

    def begin(turn: Any) -> str:
        """Say so, and wait for two children; the second half of all never comes to that."""
        begun.release()
        if next(numbers) >= MANY // 2:
            turn.sleep(HOUR)
        return ask_leaves(turn)

    middle = delegating(begin, "middle")

    def gather(turn: Any) -> str:
        """Wait for three hundred."""
        return str(turn.wait([turn.start("spawn", "x", agent=middle) for _ in range(MANY)]))

    run = threaded.start("spawn", "go", agent=delegating(gather, "root")).get(timeout=PATIENCE)
    for _ in range(MANY // 3):
        assert begun.acquire(timeout=LONG)
    run.cancel("enough")

    assert ABORTED == run.result.get(timeout=LONG).stop_reason
    run.dispose().get(timeout=LONG)
    assert "a: cancelled before it was done" in told(run)


def stop_somehow(run: Run, number: int) -> None:
    """Do to a run what its number says."""
    match number % 5:
        case 0:
            run.cancel("not you")
        case 1:
            run.interrupt()
        case 2:
            run.wrap_up()
        case 3:
            run.dispose()
        case _:
            pass


def test_runs_that_are_stopped_in_every_way_at_once_leave_sound_logs(threaded: Runtime) -> None:
    """
    LOG-14, LOG-23: each at a moment of its own, and each log is balanced.
    """
    middle = delegating(ask_leaves, "middle")
    runs = [threaded.start("spawn", "go", agent=middle).get(timeout=PATIENCE) for _ in range(100)]
    for number, run in enumerate(runs):
        stop_somehow(run, number)
    results = [run.result.get(timeout=LONG) for run in runs]

    assert {result.stop_reason for result in results} <= {COMPLETED, ABORTED}
    assert all(result.stop_reason == COMPLETED for result in results[4::5])
    for run in runs:
        run.dispose().get(timeout=LONG)
        told(run)
    assert all(result.total_usage != NO_USAGE for result in results[4::5])
