"""What is known of a question while it is worked on: who is at what, and what was said so far."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import attrs

from retinue.actors import Reply, Run, Runtime
from retinue.protocol.errors import RetinueError
from retinue.protocol.events import RunEnded, RunStarted
from retinue.protocol.log import AssistantMessage, Chunk, Event, Retried
from retinue.protocol.result import Usage
from retinue.protocol.tree import RunInfo


@attrs.frozen
class Row:
    """One live run, as it is shown: how deep, what it is for, what it is at, its tokens."""

    depth: int
    label: str
    doing: str
    tokens: int
    seconds: float


class AskProgress:
    """
    An observer that keeps what has ended; subscribe it to a runtime that works on one question.

    The runtime calls it on its own thread; all else is for the main thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._news: list[RunStarted | RunEnded] = []
        self._runtime: Runtime | None = None
        self._run: Run | None = None
        self._read = 0
        self.ended: list[RunEnded] = []

    def __call__(self, event: object) -> None:
        """Take one lifecycle event."""
        if isinstance(event, (RunStarted, RunEnded)):
            with self._lock:
                self._news.append(event)
                if isinstance(event, RunEnded):
                    self.ended.append(event)

    def follow(self, runtime: Runtime, start: Reply[Run]) -> None:
        """Look at the run that *start* brings."""
        self._runtime = runtime

        def started(reply: Reply[Any]) -> None:
            self._run = reply.value

        start.on_done(started)

    def news(self) -> list[RunStarted | RunEnded]:
        """Return what has started and ended since the last call."""
        with self._lock:
            news, self._news = self._news, []
        return news

    def live(self, limit: int) -> tuple[int, list[Row], int]:
        """Return how many runs are alive, *limit* of them in tree order, and all tokens so far."""
        rows = self._rows()
        alive = [row for row in rows if row.is_live]
        tokens = _tokens(rows[0].total_usage) if rows else 0
        return len(alive), [_row(row) for row in alive[:limit]], tokens

    def _rows(self) -> list[RunInfo]:
        if self._runtime is None:
            return []
        try:
            return list(self._runtime.tree())
        except RetinueError:  # closed meanwhile
            return []

    def said(self) -> list[str]:
        """Return what the run itself has said since the last call; ``""`` ends a message."""
        if self._run is None:
            return []
        events = self._run.own_transcript()
        new, self._read = events[self._read :], len(events)
        return list(_pieces(new))


def _pieces(events: Iterable[Event]) -> Iterable[str]:
    for event in events:
        match event:
            case Chunk(text=text):
                yield text
            case AssistantMessage() if event.content:
                yield ""
            case Retried():
                yield "\n[sent again: what came does not count]"
                yield ""
            case _:
                pass


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _row(info: RunInfo) -> Row:
    label = info.label or info.name or info.agent or info.provider
    doing = ", ".join([what for what in info.waits_for if what.startswith(("tool ", "the "))])
    return Row(info.depth, label, doing, _tokens(info.usage), info.seconds)
