"""
What people see of a question: the answer as it comes, and who works on it.

The answer goes to stdout, everything else to stderr. Where both are one terminal, the tree
stands aside while a line of the answer is unfinished.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.text import Text

from retinue.actors.serve._ask_progress import AskProgress, Row
from retinue.actors.serve._live_tree import LiveTree
from retinue.actors.serve._streams import write
from retinue.actors.serve._survey_report import visible
from retinue.protocol.events import RunEnded, RunStarted


def plain(text: str) -> str:
    """Return *text* for a terminal: lines and tabs stay, what else moves a cursor is escaped."""
    lines = [[visible(part) for part in line.split("\t")] for line in text.split("\n")]
    return "\n".join(["\t".join(parts) for parts in lines])


class Streaming:
    """
    The answer as it comes, message by message.

    Args:
        stream: where it goes; None keeps it for the end.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._message = ""
        self._is_whole = False
        self.is_in_line = False

    @property
    def is_on(self) -> bool:
        """Whether the answer is given out as it comes."""
        return self._stream is not None

    def give(self, pieces: Iterable[str]) -> None:
        """Write what has come; an empty piece ends a message."""
        for piece in pieces:
            if not piece:
                self._end_line()
                self._is_whole = True
                continue
            if self._is_whole:
                self._message, self._is_whole = "", False
            self._message += piece
            write(self._stream, plain(piece))
            self.is_in_line = not piece.endswith("\n")

    def finish(self, text: str) -> None:
        """Write the answer unless it is the last message that was given out."""
        self._end_line()
        if text and self._message != text:
            write(self._stream, plain(text) + "\n" * (not text.endswith("\n")))

    def _end_line(self) -> None:
        if self.is_in_line:
            write(self._stream, "\n")
            self.is_in_line = False


class TreeView(LiveTree):
    """Shows the live runs as a tree while no line of the answer is open."""

    def __init__(self, console: Console, streaming: Streaming) -> None:
        super().__init__(console)
        self._streaming = streaming

    def show(self, progress: AskProgress, seconds: float) -> None:
        """Write what has come of the answer, or draw the tree anew."""
        progress.news()
        if self._streaming.is_on:
            pieces = progress.said()
            if pieces:
                self.hide()
                self._streaming.give(pieces)
            if self._streaming.is_in_line:
                return
        self.draw(seconds, lambda room: _tree(progress, room, seconds))


def _tree(progress: AskProgress, room: int, seconds: float) -> tuple[list[Text], Text]:
    alive, rows, tokens = progress.live(room)
    status = f"{alive} runs alive, {tokens:,} tokens, {seconds:.0f} s"
    return [_line(row) for row in rows], Text(status, no_wrap=True, overflow="ellipsis")


def _line(row: Row) -> Text:
    text = Text("  " * row.depth, no_wrap=True, overflow="ellipsis")
    text.append(visible(row.label), "cyan")
    if row.doing:
        text.append(f"  {visible(row.doing)}", "dim")
    if row.tokens:
        text.append(f"  {row.tokens:,} tokens", "green")
    return text


class LineView:
    """Writes a line for each child that starts or ends: nothing is taken back."""

    period: float = 0.2

    def __init__(self, stream: TextIO | None, streaming: Streaming) -> None:
        self._stream = stream
        self._streaming = streaming

    def show(self, progress: AskProgress, seconds: float) -> None:
        """Write what has happened."""
        if self._streaming.is_on:
            self._streaming.give(progress.said())
        for event in progress.news():
            if event.parent_id is not None:
                write(self._stream, f"{seconds:.1f} s: {news_line(event)}\n")

    def hide(self) -> None:
        """Leave what is written."""

    def abandon(self) -> None:
        """Leave what is written."""


def news_line(event: RunStarted | RunEnded) -> str:
    """Say in one line what has happened to a child."""
    what = visible(f"{event.run_id} ({event.label or event.provider})")
    if isinstance(event, RunStarted):
        return f"{what} has started, a child of {event.parent_id}"
    usage = event.result.usage
    tokens = usage.input_tokens + usage.output_tokens
    return f"{what} ended {visible(event.result.stop_reason)}, {tokens:,} tokens"
