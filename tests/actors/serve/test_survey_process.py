"""`retinue survey` as a process: numbers beside `find` and `wc`, refusals, encodings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.actors.serve.processes import (
    Command,
    finished,
    output_of,
)
from tests.actors.serve.trees import build


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
