"""Trees to survey, and the command that surveys them as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.actors.serve.processes import Command
from tests.actors.serve.trees import DANGLING, FIFO, LOOP, SOCKET, Tree, build
from tests.checkout import ROOT

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


@pytest.fixture(name="start")
def make_start(launch: Command) -> Command:
    """Give a function that starts a survey."""
    return partial(launch, "survey")


@pytest.fixture(name="launch")
def make_launch(environment: dict[str, str], tmp_path: Path) -> Iterator[Command]:
    """Give a function that starts the command; what is left of it is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def launch(
        *arguments: str | bytes | Path, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "retinue.actors.serve.cli", *arguments]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=stdout, stderr=stderr
        )
        started.append(process)
        return process

    yield launch
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
