"""Replies that are computed from others: what ``map``, ``filter``, ``reduce`` and ``join`` give."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

import pykka

from retinue.actors._reply import Callback, Reply
from retinue.protocol.errors import WouldBlock, ordinary

T = TypeVar("T")


class Derived(Reply[T]):
    """A Reply computed from others, on the thread or in the task that first asks for it."""

    __slots__ = ("_compute", "_sources")

    def __init__(
        self, sources: tuple[pykka.Future[Any], ...], compute: Callable[[list[Any]], T]
    ) -> None:
        first = sources[0]
        super().__init__(first.pump if isinstance(first, Reply) else None)
        self._sources = sources
        self._compute = compute

    @property
    def sources(self) -> tuple[pykka.Future[Any], ...]:
        """What has to be there before the value can be computed."""
        return self._sources

    def _wait(self, timeout: float | None) -> None:
        for source in self._sources:
            source.get(timeout=timeout)
        self.compute()

    def compute(self) -> None:
        """Take the sources' answers, which must be there, and settle."""
        try:
            self.resolve(self._compute([_answer_of(source) for source in self._sources]))
        except Exception as error:  # noqa: BLE001 - the error is the answer
            self.fail(error)

    def settling(self) -> Generator[Any, Any, None]:
        """Yield what has to be waited for below, then compute."""
        for source in self._sources:
            if isinstance(source, Reply):
                yield from source.settling()
        if not self._done:
            self.compute()

    def on_done(self, callback: Callback) -> None:
        """Call *callback*, when the last source is resolved, on the thread that does."""
        super().on_done(callback)
        self._pursue()

    def _pursue(self, _: Reply[Any] | None = None) -> None:
        for source in self._sources:
            if isinstance(source, Reply) and not source.is_done:
                return source.on_done(self._pursue)
        try:
            return None if self._done else self.compute()
        except BaseException as error:  # noqa: BLE001 - somebody waits, on another thread (H85)
            self.fail(ordinary(error))


def _answer_of(source: pykka.Future[Any]) -> Any:
    try:
        return source.get(timeout=0)
    except pykka.Timeout:
        if isinstance(source, Reply):
            raise
        # Nothing tells when a future of pykka's own is resolved, so a thread has to wait.
        raise WouldBlock(
            "joined with a pykka future that has no answer yet; in a generator wait for that"
            " by 'yield from turn.call(future.get)' first"
        ) from None
