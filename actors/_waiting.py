"""Waiting for several runs at once: all, the first, or each as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import pykka

from retinue.actors._reply import Reply
from retinue.actors.handle import Run
from retinue.protocol.errors import InvalidRequest, ordinary
from retinue.protocol.limits import check_time
from retinue.protocol.result import NotStarted, Unfinished

if TYPE_CHECKING:
    from retinue.actors._dispatcher import Dispatcher

ALL: Final = "all"
FIRST: Final = "first"


def _outcome_reply(item: Any, pump: Any) -> Reply[Any]:
    """Return a Reply of how *item*, a Run or a Reply of one, comes out; it never fails."""
    given: Any = item
    if not isinstance(item, (Run, Reply)):
        raise InvalidRequest(f"wait: expected runs or Replies of runs, got {type(item).__name__}")
    source: Reply[Any] = given.result if isinstance(item, Run) else given
    out: Reply[Any] = Reply(pump)
    sources = [source]

    def settle(reply: Reply[Any]) -> None:
        if reply.error is not None:
            out.resolve(NotStarted(ordinary(reply.error)))
            return
        value = reply.outcome()
        if isinstance(value, Run):
            sources[0] = value.result
            value.result.on_done(settle)
        else:
            out.resolve(value)

    # A run that lives long would otherwise collect one callback per wait.
    out.on_abandon = lambda: sources[0].forget(settle)
    source.on_done(settle)
    return out


def _listed(runs: Iterable[Any]) -> list[Any]:
    kind = runs.__class__.__name__
    if isinstance(runs, (Run, Reply)) or not isinstance(runs, Iterable):
        raise InvalidRequest(f"wait: expected a list of runs, got {kind}")
    return list(cast("Any", runs))


def _check_when(return_when: object) -> None:
    if return_when not in (ALL, FIRST):
        raise InvalidRequest(f"return_when: expected 'all' or 'first', got {return_when!r}")


def _unfinished(item: Any, timeout: float | None) -> Unfinished:
    if isinstance(item, Reply) and item.is_done and item.error is None:
        item = cast("Any", item).outcome()
    return Unfinished(item.id if isinstance(item, Run) else "", timeout)


def wait_for_runs(
    dispatcher: Dispatcher, runs: Sequence[Any], timeout: float | None, return_when: str
) -> Reply[list[Any]]:
    """
    Wait for runs; the Reply has one outcome per input, in order.

    An outcome is a RunResult, NotStarted with the error of a refused start, or Unfinished.

    Args:
        timeout: seconds of the runtime's clock; None waits without limit.
        return_when: ``all``, or ``first`` for as soon as one has an outcome.
    """
    answer: Reply[list[Any]] = Reply(dispatcher.pump)
    items: list[Any] = []
    try:
        _check_when(return_when)
        items = _listed(runs)
        if timeout is not None:
            check_time(timeout, "timeout")
        outcomes = [_outcome_reply(item, dispatcher.pump) for item in items]
    except InvalidRequest as error:
        answer.fail(error)
        return answer
    if not items:
        answer.resolve([])
        return answer

    def collect() -> None:
        answer.resolve(
            [
                outcome.outcome() if outcome.is_done else _unfinished(item, timeout)
                for item, outcome in zip(items, outcomes, strict=True)
            ]
        )
        for outcome in outcomes:
            outcome.abandon()

    timer = None if timeout is None else dispatcher.after(timeout, collect)
    wanted = 1 if return_when == FIRST else len(items)
    came: list[None] = []

    def one_came(_: Reply[Any]) -> None:
        came.append(None)  # list.append is atomic; a count would need a lock
        if len(came) >= wanted and not answer.is_done:
            if timer is not None:
                timer.cancel()
            collect()

    for outcome in outcomes:
        outcome.on_done(one_came)
    return answer


class AsCompleted:
    """The outcomes of runs, each as it comes; iterate with ``for`` or ``async for``."""

    def __init__(self, dispatcher: Dispatcher, runs: Iterable[Any], timeout: float | None) -> None:
        if timeout is not None:
            check_time(timeout, "timeout")
        self._timeout = timeout
        self._left = [_outcome_reply(item, dispatcher.pump) for item in _listed(runs)]
        self._dispatcher = dispatcher
        self._came: list[Reply[Any]] = []
        self._next: Reply[None] = Reply(dispatcher.pump)
        for outcome in self._left:
            outcome.on_done(self._arrived)

    def _arrived(self, outcome: Reply[Any]) -> None:
        self._came.append(outcome)
        self._next.resolve()

    def __len__(self) -> int:
        return len(self._left)

    def _take(self, taken: int) -> Any:
        """Return the outcome number *taken*, or None when it has not come."""
        if len(self._came) > taken:
            return self._came[taken]
        self._next = Reply(self._dispatcher.pump)
        return self._came[taken] if len(self._came) > taken else None

    def __iter__(self) -> Iterator[Any]:
        for taken in range(len(self._left)):
            while (outcome := self._take(taken)) is None:
                self._next.get(timeout=self._timeout)
            yield outcome.outcome()

    async def __aiter__(self) -> AsyncIterator[Any]:
        import asyncio  # not with this module: it is half of what importing Retinue costs

        for taken in range(len(self._left)):
            while (outcome := self._take(taken)) is None:
                try:
                    async with asyncio.timeout(self._timeout):
                        await self._next
                except TimeoutError:
                    raise pykka.Timeout(f"{self._timeout} seconds") from None
            yield outcome.outcome()
