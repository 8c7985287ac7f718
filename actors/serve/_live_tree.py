"""A tree of live runs in a terminal: drawn anew in place, and taken away at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

# What is over sooner shows nothing of itself.
_PATIENCE: Final = 0.3

# The tree has at most so many lines.
_LINES: Final = 12
_MARGIN: Final = 3

_SHOW_CURSOR: Final = b"\x1b[?25h\n"


class LiveTree:
    """
    Lines of a tree above a spinner with a status.

    Used on the main thread; ``abandon`` may be called in a signal handler.
    """

    period: float = 0.1

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._spinner = Spinner("dots")
        self._height = 0

    def draw(self, seconds: float, make: Callable[[int], tuple[Sequence[Text], Text]]) -> None:
        """
        Draw anew what *make* gives for so many lines of room: the lines, and the status.

        Args:
            seconds: how long the work has gone on; nothing is drawn of what is over soon.
        """
        if seconds < _PATIENCE:
            return
        if self._live is None:
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(self._drawn(make), refresh=True)

    def _drawn(self, make: Callable[[int], tuple[Sequence[Text], Text]]) -> RenderableType:
        room = max(1, min(_LINES, self._console.size.height - _MARGIN))
        lines, status = make(room)
        # It never shrinks, so that what is below it stands still.
        self._height = min(room, max(self._height, len(lines)))
        self._spinner.update(text=status)
        return Group(*lines, *[Text()] * (self._height - len(lines)), self._spinner)

    def hide(self) -> None:
        """Take the tree away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def abandon(self) -> None:
        """Show the cursor again; called in a signal handler, so without rich and its locks."""
        if self._live is not None:
            os.write(self._console.file.fileno(), _SHOW_CURSOR)
