"""`retinue survey` that is stopped: by signals, by terminals, by readers that leave."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.actors.serve.processes import (
    Command,
    finished,
    read_terminal,
    read_until,
)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_a_signal_cancels_and_what_was_counted_is_printed(
    start: Command, held: Path, number: signal.Signals, code: int
) -> None:
    """
    The tree is cancelled, the report is marked partial, and nothing is left.
    """
    process = start(held, "--provider", "holding", "--json")
    read_until(process.stderr, b"held")
    process.send_signal(number)

    came, out, err = finished(process)

    assert (code, f"retinue: cancelled by {number.name}\n") == (came, err)
    report = json.loads(out)
    assert report["partial"]
    assert (2, 3, 6, 2, 2) == tuple(
        report[key] for key in ("files", "lines", "bytes", "directories", "runs")
    )


def test_a_second_signal_ends_everything_at_once(start: Command, held: Path) -> None:
    """
    A runtime that will not stop does not keep a person waiting.
    """
    process = start(held, "--provider", "stubborn")
    read_until(process.stderr, b"held")
    process.send_signal(signal.SIGINT)
    read_until(process.stderr, b"stopping")
    process.send_signal(signal.SIGINT)

    assert (130, "", "") == finished(process)


def test_a_survey_that_takes_too_long_is_cancelled(start: Command, held: Path) -> None:
    """
    `--cancel-after` prints what there is, and has an exit code of its own.
    """
    code, out, err = finished(
        start(held, "--provider", "holding", "--json", "--cancel-after", "0.5")
    )

    assert 3 == code
    assert json.loads(out)["partial"]
    assert "retinue: cancelled after 0.5 s\n" in err


def test_a_terminal_shows_a_live_tree(start: Command, held: Path) -> None:
    """
    While the survey runs its runs are drawn on stderr; a signal takes that away again.
    """
    ours, theirs = pty.openpty()
    try:
        process = start(held.name, "--provider", "holding", stderr=theirs)
        drawn = read_terminal(ours, b"6 bytes in 2 of 3 directories, 3 runs alive")
        process.send_signal(signal.SIGINT)
        code, out, _ = finished(process)
        rest = read_terminal(ours, b"cancelled by SIGINT")
    finally:
        os.close(ours)
        os.close(theirs)

    assert 130 == code
    assert out.startswith("partial: 2 files")
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", drawn).decode()
    assert f"{held.name}  1 file  0/1" in text
    assert "  b  1 file  0/1" in text
    assert "    held" in text
    assert "2 files, 3 lines, 6 bytes in 2 of 3 directories, 3 runs alive" in text
    assert b"\x1b[?25l" in drawn
    assert b"\x1b[?25h" in rest


def test_a_second_signal_gives_the_terminal_back(start: Command, held: Path) -> None:
    """
    The cursor is shown again, however abrupt the end is.
    """
    ours, theirs = pty.openpty()
    try:
        process = start(held, "--provider", "stubborn", stderr=theirs)
        read_terminal(ours, b"3 runs alive")
        process.send_signal(signal.SIGINT)
        rest = read_terminal(ours, b"stopping")
        process.send_signal(signal.SIGINT)
        code, out, _ = finished(process)
        if b"\x1b[?25h" not in rest:  # else the tree was gone before the second signal
            rest += read_terminal(ours, b"\x1b[?25h")
    finally:
        os.close(ours)
        os.close(theirs)

    assert (130, "") == (code, out)
    assert b"Traceback" not in rest


def test_a_reader_that_leaves_is_no_failure(start: Command, tree: Path) -> None:
    """
    As in `| head -1`: no traceback, no message, and the code is the survey's own.
    """
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = start(tree, stdout=writing)
    finally:
        os.close(writing)

    assert (0, "", "") == finished(process)


def test_head_gets_its_line(tree: Path, environment: dict[str, str]) -> None:
    """
    The first line of the report is the sum.
    """
    command = f"'{sys.executable}' -m retinue.actors.serve.cli survey '{tree}' | head -1"

    done = subprocess.run(
        ["/bin/sh", "-c", command], check=True, env=environment, capture_output=True
    )

    assert b"5 files, 44 lines, 490 bytes in 7 directories by 7 runs\n" == done.stdout
    assert b"" == done.stderr
