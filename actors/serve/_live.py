"""What people see of a survey: a live tree or lines while it is under way, tables at its end."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from retinue.actors.serve._live_tree import LiveTree
from retinue.actors.serve._streams import write
from retinue.actors.serve._survey_progress import Progress, Row
from retinue.actors.serve._survey_report import headline, sections, visible
from retinue.actors.serve._survey_tally import Tally


class TreeView(LiveTree):
    """Shows the live runs as a tree, and the sum below it, until it is hidden."""

    def show(self, progress: Progress, seconds: float) -> None:
        """Draw the tree anew."""
        self.draw(seconds, lambda room: _tree(progress, room, seconds))


def _tree(progress: Progress, room: int, seconds: float) -> tuple[list[Text], Text]:
    alive, rows = progress.live(room)
    total = progress.total
    status = Text.assemble(
        (f"{total.files:,}", "bold"),
        f" files, {total.lines:,} lines, {decimal(total.bytes)} in ",
        (f"{total.directories:,}", "bold"),
        f" of {total.found + 1:,} directories, {alive} runs alive, {seconds:.0f} s",
        no_wrap=True,
        overflow="ellipsis",
    )
    return [_line(row) for row in rows], status


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
