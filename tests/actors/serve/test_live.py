"""What people see of a survey: trees, lines and tables."""

from __future__ import annotations

import io
from pathlib import Path

import attrs
import pytest
from rich.console import Console

from retinue.actors.serve._live import LineView, TreeView, report_tables
from retinue.actors.serve._streams import write
from retinue.actors.serve._survey_progress import Progress
from retinue.actors.serve._survey_tally import Count, File, Tally, unread
from retinue.protocol.events import OutputDelta, RunEnded, RunStarted
from retinue.protocol.result import ABORTED, RunResult

TALLY = Tally(
    files=1234,
    lines=5678,
    bytes=9_000_000,
    directories=1,
    runs=1,
    is_partial=True,
    kinds={"py": Count(1234, 5678, 9_000_000)},
    largest=(File("[bold]\x1b[2J", 5000, 1),),
) + unread("secret", "Permission denied")


def terminal(height: int = 24) -> Console:
    """Return a console that writes into a buffer, as if that were a terminal."""
    return Console(file=io.StringIO(), force_terminal=True, width=80, height=height)


def drawn(console: Console) -> str:
    """Return what a console has written, and forget it."""
    file = console.file
    assert isinstance(file, io.StringIO)
    text = file.getvalue()
    file.seek(0)
    file.truncate()
    return text


@pytest.fixture(name="progress")
def make_progress() -> Progress:
    """Give the progress of a survey with two runs."""
    progress = Progress()
    progress(RunStarted("r-1", "spawn", None, "top"))
    progress(OutputDelta("r-1", Tally(files=1, directories=1, runs=1, found=2).as_text()))
    progress(RunStarted("r-2", "spawn", "r-1", "below", depth=1))
    return progress


def test_the_tree_waits_before_it_shows_itself(progress: Progress) -> None:
    """
    A survey that is over at once does not make the terminal flicker.
    """
    console = terminal()
    view = TreeView(console)

    view.show(progress, 0.1)
    view.hide()

    assert "" == drawn(console)


def test_the_tree_shows_runs_and_the_sum(progress: Progress) -> None:
    """
    Each live run has a line: its directory, its files, and how many below are done.
    """
    console = terminal()
    view = TreeView(console)

    view.show(progress, 2.0)
    text = drawn(console)
    view.hide()

    assert "top\x1b[0m\x1b[2m  1 file\x1b[0m\x1b[32m  0/2" in text
    assert "  \x1b[36mbelow" in text
    assert "of 3 directories, 2 runs alive, 2 s" in text
    assert "\x1b[?25h" in drawn(console)


def test_the_tree_never_shrinks(progress: Progress) -> None:
    """
    When a run ends its line stays empty, so that the sum below does not jump.
    """
    console = terminal()
    view = TreeView(console)
    view.show(progress, 2.0)
    before = drawn(console).count("\n")

    progress(RunEnded("r-2", "spawn", RunResult("r-2", ABORTED), "r-1"))
    view.show(progress, 2.1)
    after = drawn(console)
    view.hide()

    assert before == after.count("\n")
    assert "below" not in after
    assert "1/2" in after


def test_a_low_terminal_has_room_for_the_sum() -> None:
    """
    Runs for which there is no room are not drawn.
    """
    progress = Progress()
    for number in range(9):
        progress(RunStarted(f"r-{number}", "spawn", None, f"run{number}"))
    console = terminal(height=5)
    view = TreeView(console)

    view.show(progress, 2.0)
    text = drawn(console)
    view.hide()

    assert ["run0" in text, "run1" in text, "run2" in text] == [True, True, False]
    assert "9 runs alive" in text


def test_lines_come_now_and_then(progress: Progress) -> None:
    """
    A log gets a line every few seconds, however often it is asked for.
    """
    stream = io.StringIO()
    view = LineView(stream)

    for seconds in (0.0, 4.9, 5.0, 5.1, 9.9, 10.2):
        view.show(progress, seconds)
    view.hide()
    view.abandon()

    assert [
        "after 5 s: 1 file, 0 lines, 0 bytes in 1 directory by 1 run",
        "after 10 s: 1 file, 0 lines, 0 bytes in 1 directory by 1 run",
    ] == stream.getvalue().splitlines()


def test_tables_are_written_for_people() -> None:
    """
    Numbers have separators, and a name is text, whatever is in it.
    """
    text = report_tables(TALLY, Console(width=80, force_terminal=False))

    lines = [line.rstrip() for line in text.splitlines()]
    assert "partial: 1,234 files, 5,678 lines, 9,000,000 bytes in 1 directory by 1 run" in text
    assert "1,234  5,678  9,000,000  py" in lines
    assert "5,000      1  [bold]\\x1b[2J" in lines
    assert "secret: Permission denied" in lines


def test_tables_say_what_they_leave_out() -> None:
    """
    The end of a long list is counted.
    """
    many = attrs.evolve(TALLY, kinds={f"k{number}": Count(1) for number in range(23)})

    assert "and 3 more kinds" in report_tables(many, Console(width=80))


def test_a_stream_that_is_closed_gets_nothing() -> None:
    """
    A program that was started without stdout writes nothing there.
    """
    write(None, "nobody reads this")


def test_what_an_encoding_cannot_say_is_escaped() -> None:
    """
    A name never stops a report.
    """
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")

    write(stream, "ü\n")

    assert b"\\xfc\n" == raw.getvalue()


def test_a_full_disk_is_told_once() -> None:
    """
    The writer hears of it; the interpreter's last flush does not stumble over it again.
    """
    stream = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - closed below

    with pytest.raises(OSError, match="No space left"):
        write(stream, "text")

    stream.close()
