"""`retinue survey` as a process: signals, pipes, terminals, and numbers beside `find` and `wc`."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import pytest

from tests.actors.serve.trees import DANGLING, FIFO, LOOP, SOCKET, Tree, build
from tests.checkout import ROOT

# A process has to import the library, on a machine that may be busy.
PATIENT: Final = 30.0

TREE: Final[Tree] = {
    b"readme.md": b"one\ntwo\n",
    b"src": {
        b"a.py": b"pass\n" * 40,
        b"b.py": b"no newline at the end",
        b"\xff\xfe.bin": bytes(range(256)),
        b"deep": {b"er": {b"empty": {}, b"Makefile": b"all:\n"}},
    },
    b"traps": {b"f": FIFO, b"s": SOCKET, b"loop": LOOP, b"nowhere": DANGLING, b"\xe9": {}},
}
HELD: Final[Tree] = {b"a": b"1\n", b"b": {b"a": b"1\n2\n", b"held": {b"never": b"1\n"}}}


@pytest.fixture(name="tree")
def make_tree(tmp_path: Path) -> Path:
    """Make a tree with everything in it that a tree may hold."""
    build(TREE, tmp_path / "tree")
    return tmp_path / "tree"


@pytest.fixture(name="held")
def make_held(tmp_path: Path) -> Path:
    """Make a tree with a directory whose run is held."""
    build(HELD, tmp_path / "tree")
    return tmp_path / "tree"


@pytest.fixture(name="environment")
def make_environment(tmp_path: Path) -> dict[str, str]:
    """Give an environment in which a third package has added providers that hold runs."""
    package = tmp_path / "holding-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: holding\nVersion: 1\n")
    (package / "entry_points.txt").write_text(
        "[retinue.providers]\n"
        "holding = tests.actors.serve.held:holding\n"
        "stubborn = tests.actors.serve.held:stubborn\n"
    )
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(tmp_path), str(ROOT), *(str(Path(path).resolve()) for path in given if path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "80"}


Command = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(name="start")
def make_start(environment: dict[str, str], tmp_path: Path) -> Iterator[Command]:
    """Give a function that starts the command; what is left of it is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(
        *arguments: str | bytes | Path, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "retinue.actors.serve.cli", "survey", *arguments]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=stdout, stderr=stderr
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finished(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Wait for a process; return its exit code and what it wrote."""
    out, err = process.communicate(timeout=PATIENT)
    return process.returncode, (out or b"").decode(), (err or b"").decode()


def read_until(stream: IO[bytes] | None, line: bytes) -> None:
    """Read lines until one is *line*: the fact that a test waits for."""
    assert stream is not None
    while (read := stream.readline()) != line + b"\n":
        assert read, f"the process ended and never wrote {line!r}"


def output_of(*command: str | Path) -> bytes:
    """Return what another program counts."""
    return subprocess.run(command, check=True, capture_output=True).stdout


def test_the_numbers_are_those_of_find_and_wc(start: Command, tree: Path) -> None:
    """
    Files, directories, lines and bytes are what other programs count in the same tree.
    """
    files = f"find '{tree}' -type f -print0"

    code, out, err = finished(start(tree, "--json"))

    assert (0, "") == (code, err)
    report = json.loads(out)
    assert [
        "files",
        "lines",
        "bytes",
        "directories",
        "runs",
        "partial",
        "unreadable",
        "kinds",
        "largest",
    ] == list(report)
    assert len(output_of("sh", "-c", files).split(b"\0")) - 1 == report["files"]
    assert int(output_of("sh", "-c", f"{files} | xargs -0 cat | wc -l")) == report["lines"]
    assert int(output_of("sh", "-c", f"{files} | xargs -0 cat | wc -c")) == report["bytes"]
    directories = output_of("find", tree, "-type", "d", "-printf", ".")
    assert len(directories) == report["directories"] == report["runs"]
    assert {"total": 0, "entries": []} == report["unreadable"]
    assert not report["partial"]
    assert {"files": 2, "lines": 40, "bytes": 221} == report["kinds"]["py"]
    assert f"{tree}/src/\\xff\\xfe.bin" == report["largest"][0]["path"]


def test_without_a_terminal_the_report_is_plain_lines(start: Command, tree: Path) -> None:
    """
    No colours, no boxes, no cursor: the sum first, and nothing on stderr.
    """
    code, out, err = finished(start(tree))

    assert (0, "") == (code, err)
    assert out.splitlines()[0] == "5 files, 44 lines, 490 bytes in 7 directories by 7 runs"
    assert "\x1b" not in out


def test_the_path_may_be_relative_and_of_any_bytes(start: Command, tmp_path: Path) -> None:
    """
    A path is taken as it is given, and shown so.
    """
    build({b"\xff": {b"a.txt": b"1\n"}}, tmp_path / "x")

    code, out, _ = finished(start(b"x/\xff/", "--json"))

    assert 0 == code
    assert "x/\\xff/a.txt" == json.loads(out)["largest"][0]["path"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone"], "retinue: gone: No such file or directory\n"),
        (["file"], "retinue: file: Not a directory\n"),
        ([".", "--provider", "nobody"], "retinue: no provider named 'nobody'; there are"),
        ([".", "--depth", "-1"], "--depth"),
        ([".", "--max-live", "0"], "--max-live"),
        ([".", "--depth", "many"], "--depth"),
        ([], "PATH"),
    ],
    ids=["no path", "a file", "no provider", "depth", "max-live", "a word", "nothing"],
)
def test_what_cannot_be_done_is_refused(
    start: Command, tmp_path: Path, arguments: Sequence[str], message: str
) -> None:
    """
    The reason is on stderr, nothing is on stdout, and the code is 2.
    """
    (tmp_path / "file").touch()

    code, out, err = finished(start(*arguments))

    assert (2, "") == (code, out)
    assert message in err
    assert "Traceback" not in err


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


def test_a_report_that_cannot_be_written_is_a_failure(start: Command, tree: Path) -> None:
    """
    A full disk is told, and the code is 1.
    """
    with Path("/dev/full").open("wb") as full:
        code, _, err = finished(start(tree, stdout=full))

    assert (1, "retinue: the report could not be written: No space left on device\n") == (code, err)


def test_a_narrow_encoding_escapes_what_it_cannot_say(
    start: Command, tmp_path: Path, environment: dict[str, str]
) -> None:
    """
    A name outside of the encoding of stdout is no error.
    """
    build({"ü.txt".encode(): b"1\n"}, tmp_path / "tree")
    environment["PYTHONIOENCODING"] = "ascii"

    code, out, err = finished(start(tmp_path / "tree"))

    assert (0, "") == (code, err)
    assert "\\xfc.txt" in out


def test_a_terminal_shows_a_live_tree(start: Command, held: Path) -> None:
    """
    While the survey runs its runs are drawn on stderr; a signal takes that away again.
    """
    ours, theirs = pty.openpty()
    try:
        process = start(held, "--provider", "holding", stderr=theirs)
        drawn = read_terminal(ours, b"3 runs alive")
        process.send_signal(signal.SIGINT)
        code, out, _ = finished(process)
        rest = read_terminal(ours, b"cancelled by SIGINT")
    finally:
        os.close(ours)
        os.close(theirs)

    assert 130 == code
    assert out.startswith("partial: 2 files")
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", drawn).decode()
    assert f"{held}  1 file  0/1" in text
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
        read_terminal(ours, b"stopping")
        process.send_signal(signal.SIGINT)
        code, out, _ = finished(process)
        rest = read_terminal(ours, b"\x1b[?25h")
    finally:
        os.close(ours)
        os.close(theirs)

    assert (130, "") == (code, out)
    assert b"Traceback" not in rest


def read_terminal(terminal: int, fact: bytes) -> bytes:
    """Read what is drawn until *fact* is there."""
    drawn = b""
    deadline = time.monotonic() + PATIENT
    while fact not in drawn:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"{fact!r} was never drawn, but {drawn[-400:]!r}"
        drawn += os.read(terminal, 1 << 16)
    return drawn


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_package_is_told_in_a_sentence(
    environment: dict[str, str], tmp_path: Path, missing: str
) -> None:
    """
    Without the extra the command says what to install, and its code is 2.
    """
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from retinue.actors.serve.cli import main\nmain()"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert 2 == done.returncode
    assert f"needs {missing}, which is not installed; pip install 'retinue[cli]'" in done.stderr
    assert "Traceback" not in done.stderr
