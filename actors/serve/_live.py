"""What people see of a survey: a live tree or lines while it is under way, tables at its end."""

from __future__ import annotations

import os
from typing import Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from retinue.actors.serve._streams import write
from retinue.actors.serve._survey_progress import Progress, Row
from retinue.actors.serve._survey_report import headline, sections, visible
from retinue.actors.serve._survey_tally import Tally

# A survey that is over sooner shows nothing of itself.
_PATIENCE: Final = 0.3

# The tree has at most so many lines.
_LINES: Final = 12
_MARGIN: Final = 3

_SHOW_CURSOR: Final = b"\x1b[?25h\n"


class TreeView:
    """Shows the live runs as a tree, and the sum below it, until it is hidden."""

    period: float = 0.1

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._spinner = Spinner("dots")
        self._height = 0

    def show(self, progress: Progress, seconds: float) -> None:
        """Draw the tree anew."""
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
        self._live.update(self._drawn(progress, seconds), refresh=True)

    def hide(self) -> None:
        """Take the tree away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def abandon(self) -> None:
        """Show the cursor again; called in a signal handler, so without rich and its locks."""
        if self._live is not None:
            os.write(self._console.file.fileno(), _SHOW_CURSOR)

    def _drawn(self, progress: Progress, seconds: float) -> RenderableType:
        room = max(1, min(_LINES, self._console.size.height - _MARGIN))
        alive, rows = progress.live(room)
        # It never shrinks, so that what is below it stands still.
        self._height = min(room, max(self._height, len(rows)))
        lines = [_line(row) for row in rows] + [Text()] * (self._height - len(rows))
        total = progress.total
        status = Text.assemble(
            (f"{total.files:,}", "bold"),
            f" files, {total.lines:,} lines, {decimal(total.bytes)} in ",
            (f"{total.directories:,}", "bold"),
            f" of {total.found + 1:,} directories, {alive} runs alive, {seconds:.0f} s",
            no_wrap=True,
            overflow="ellipsis",
        )
        self._spinner.update(text=status)
        return Group(*lines, self._spinner)


def _line(row: Row) -> Text:
    text = Text("  " * row.depth, no_wrap=True, overflow="ellipsis")
    text.append(visible(row.label), "cyan")
    if row.files:
        text.append(f"  {row.files:,} file{'s' * (row.files != 1)}", "dim")
    if row.found:
        text.append(f"  {row.done:,}/{row.found:,}", "green")
    return text


class LineView:
    """Writes a line now and then, for logs: nothing moves and nothing is taken back."""

    period: float = 5.0

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._next = self.period

    def show(self, progress: Progress, seconds: float) -> None:
        """Write a line, if it is time for one."""
        if seconds >= self._next:
            self._next = seconds + self.period
            write(self._stream, f"after {seconds:.0f} s: {headline(progress.total)}\n")

    def hide(self) -> None:
        """Leave what is written."""

    def abandon(self) -> None:
        """Leave what is written."""


def report_tables(tally: Tally, console: Console) -> str:
    """Render a tally as tables, as wide as the terminal is."""
    with console.capture() as captured:
        console.print(
            Text(headline(tally, "{:,}".format), "bold yellow" if tally.is_partial else "bold")
        )
        for section in sections(tally):
            console.print()
            console.print(_table(section.header, section.rows))
            if section.rest:
                console.print(Text(section.rest, "dim"))
    return captured.get()


def _table(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    *numbers, name = header
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column(name, overflow="fold")
    for row in rows:
        *cells, last = row
        table.add_row(*(f"{int(cell):,}" for cell in cells), Text(last))
    return table
