"""
How a tally is written: as JSON for machines, as plain lines, and as what a table shows.

Rule: a name comes from whoever made the file. What would move a terminal's cursor, or
end a line, is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

from retinue.actors.serve._survey_tally import Count, Tally

# So many kinds and unreadable entries are listed for people; JSON has all that are kept.
_KINDS_SHOWN: Final = 20
_UNREADABLE_SHOWN: Final = 20


@attrs.frozen
class Section:
    """
    One table of the report.

    Args:
        header: the names of the columns: numbers, and a name in the last.
        rows: as many cells each as the header has.
        rest: what was left out, or nothing.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    rest: str = ""


def report_json(tally: Tally) -> str:
    """Write a tally as one JSON object, in ASCII, on one line."""
    value: dict[str, Any] = tally.as_json()
    return json.dumps(
        {
            "files": tally.files,
            "lines": tally.lines,
            "bytes": tally.bytes,
            "directories": tally.directories,
            "runs": tally.runs,
            "partial": tally.is_partial,
            "unreadable": value["unreadable"],
            "kinds": {kind: value["kinds"][kind] for kind, _ in _kinds(tally)},
            "largest": value["largest"],
        }
    )


def report_lines(tally: Tally) -> Iterator[str]:
    """Write a tally as lines: the sum first, then one line per kind, file and entry."""
    yield headline(tally)
    for section in sections(tally):
        yield ""
        widths = [
            max(map(len, column)) for column in zip(section.header, *section.rows, strict=True)
        ]
        for row in (section.header, *section.rows):
            *numbers, name = row
            cells = [cell.rjust(width) for cell, width in zip(numbers, widths, strict=False)]
            yield "  ".join((*cells, name))
        if section.rest:
            yield section.rest


def headline(tally: Tally, number: Callable[[int], str] = str) -> str:
    """Say the sum in one line, its numbers written by *number*; an incomplete one says so."""

    def many(count: int, one: str, several: str) -> str:
        return f"{number(count)} {one if count == 1 else several}"

    return (
        f"{'partial: ' if tally.is_partial else ''}{many(tally.files, 'file', 'files')},"
        f" {many(tally.lines, 'line', 'lines')}, {many(tally.bytes, 'byte', 'bytes')}"
        f" in {many(tally.directories, 'directory', 'directories')}"
        f" by {many(tally.runs, 'run', 'runs')}"
        f"{f'; {number(tally.unreadable.total)} unreadable' if tally.unreadable.total else ''}"
    )


def sections(tally: Tally) -> Iterator[Section]:
    """Yield the tables of the report that have something to show."""
    kinds = _kinds(tally)
    if kinds:
        shown = [(str(c.files), str(c.lines), str(c.bytes), visible(kind)) for kind, c in kinds]
        rest = _more(len(shown) - _KINDS_SHOWN, "kind", "kinds")
        yield Section(("files", "lines", "bytes", "kind"), tuple(shown[:_KINDS_SHOWN]), rest)
    if tally.largest:
        files = [(str(file.bytes), str(file.lines), visible(file.path)) for file in tally.largest]
        yield Section(("bytes", "lines", "largest files"), tuple(files))
    unreadable = tally.unreadable
    if unreadable.total:
        entries = [
            (f"{visible(entry.path)}: {entry.reason}",)
            for entry in unreadable.entries[:_UNREADABLE_SHOWN]
        ]
        rest = _more(unreadable.total - len(entries), "unreadable entry", "unreadable entries")
        yield Section((f"unreadable ({unreadable.total})",), tuple(entries), rest)


def visible(text: str) -> str:
    """Return *text* with everything escaped that does not print."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _kinds(tally: Tally) -> list[tuple[str, Count]]:
    """Return the kinds with most lines first."""
    return sorted(tally.kinds.items(), key=lambda item: (-item[1].lines, -item[1].bytes, item[0]))


def _more(number: int, one: str, several: str) -> str:
    return f"and {number} more {one if number == 1 else several}" if number > 0 else ""
