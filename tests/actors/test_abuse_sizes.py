"""Much of everything: children, depth, text; and text that is hard to hold."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from retinue.actors import Runtime
from retinue.protocol.result import ABORTED, DIAGNOSTIC_LIMIT
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE

# Deeper than Python lets functions call one another.
DEEP: Final = sys.getrecursionlimit() + 20


def stepped(turn: Any) -> Steps:
    """Start one deeper, and give back what it gives."""
    if turn.text == "0":
        return "the bottom"
    run = yield from turn.start("spawn", str(int(turn.text) - 1), agent=stepped)
    return (yield from run.result).text


async def awaited(turn: Any) -> str:
    """Do the same on the loop."""
    if turn.text == "0":
        return "the bottom"
    run = await turn.start("spawn", str(int(turn.text) - 1), agent=awaited)
    return str((await run.result).text)


@pytest.mark.parametrize("behaviour", [stepped, awaited])
def test_delegations_may_be_deeper_than_calls(runtime: Runtime, behaviour: Any) -> None:
    """
    Nothing of a start, an end or a result recurses.
    """
    run = started(runtime, behaviour, str(DEEP))

    assert "the bottom" == ended(run).text
    assert run.dispose().get(timeout=PATIENCE)


def test_a_cancel_reaches_any_depth(runtime: Runtime) -> None:
    """
    The whole chain is marked, cleaned up and released; it could be listed before.
    """
    reached, cleaned = threading.Event(), list[str]()

    def behaviour(turn: Any) -> Steps:
        try:
            if turn.text == "0":
                reached.set()
                yield turn.sleep(86_400)
            run = yield from turn.start("spawn", str(int(turn.text) - 1), agent=behaviour)
            yield from run.result
        finally:
            cleaned.append(turn.text)

    run = started(runtime, behaviour, str(DEEP))
    assert reached.wait(PATIENCE)
    assert DEEP == len(runtime.descendants(run))

    run.cancel("enough")

    assert ABORTED == ended(run).stop_reason
    assert run.dispose().get(timeout=PATIENCE)
    assert sorted(str(number) for number in range(DEEP + 1)) == sorted(cleaned)


def many(count: int) -> Callable[[Any], Steps]:
    """Return a behaviour that starts *count* children at once and adds up what they give."""

    def child(turn: Any) -> Steps:
        yield
        return turn.text

    def behaviour(turn: Any) -> Steps:
        starts = [turn.start("spawn", str(number), agent=child) for number in range(count)]
        outcomes = yield from turn.wait(starts)
        return [int(outcome.text) for outcome in outcomes]

    return behaviour


def test_many_children_at_once_keep_their_order(runtime: Runtime) -> None:
    """
    One outcome per start, in the order of the starts.
    """
    run = started(runtime, many(1000))

    assert list(range(1000)) == ended(run).structured


def test_many_threads_start_at_once(runtime: Runtime) -> None:
    """
    Each gets its own runs and their own results.
    """

    def work(number: int) -> list[str]:
        runs = [started(runtime, echo, f"{number}.{each}") for each in range(20)]
        return [ended(run).text for run in runs]

    with ThreadPoolExecutor(8) as pool:
        texts = [text for some in pool.map(work, range(8)) for text in some]

    assert [f"{number}.{each}" for number in range(8) for each in range(20)] == texts
    assert 0 == len(runtime.children())


def test_a_prompt_may_be_huge(runtime: Runtime) -> None:
    """
    It is kept as it is, and copied nowhere that matters.
    """
    text = "x" * 20_000_000

    assert text == ended(started(runtime, echo, text)).text


@pytest.mark.parametrize("text", ["\ud800", "\0", "\U0010ffff", "a\r\nb", "", "}{"])
def test_text_is_text(runtime: Runtime, text: str) -> None:
    """
    H26: lone surrogates, zeros and nothing at all, as prompt, label, name and error.
    """

    def behaviour(turn: Any) -> str:
        if turn.text != text:
            raise ValueError(turn.text * 5000)
        return str(turn.text)

    run = started(runtime, behaviour, text, label=text)
    failed = ended(started(runtime, behaviour, f"{text}!"))

    assert text == ended(run).text
    assert run.label == text
    assert len(str(failed.diagnostic).encode()) <= DIAGNOSTIC_LIMIT
    if text:
        assert text == opened(runtime, echo, name=text).name
    assert run.id in str(runtime.tree())
