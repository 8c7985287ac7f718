"""Reading directories that hold anything, and that change while they are read."""

from __future__ import annotations

import ctypes
import os
import resource
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from retinue.actors.serve._survey_read import read_below, read_directory
from retinue.actors.serve._survey_tally import EMPTY, Tally
from tests.actors.serve.swaps import leave, link_away, nothing
from tests.actors.serve.trees import FIFO, LOOP, SOCKET, build, counted, wide

NOBODY = 65534


def read(place: Path, check: Callable[[], None] = nothing) -> tuple[Tally, list[str]]:
    """Read one directory whole; return all its pieces as one."""
    pieces: list[Tally] = []
    piece, names = read_directory(str(place), check, pieces.append)
    return sum((*pieces, piece), EMPTY), names


class Once:
    """A check that acts the first time that it is made: when the entries are listed."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._action: Callable[[], object] | None = action

    def __call__(self) -> None:
        """Act, once."""
        action, self._action = self._action, None
        if action is not None:
            action()


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """
    FIFOs, sockets and links are passed by: none blocks, and none counts.
    """
    build({b"a": b"1\n", b"f": FIFO, b"s": SOCKET, b"l": LOOP, b"d": {}, b"c": {}}, tmp_path)

    tally, names = read(tmp_path)

    assert ["c", "d"] == names
    assert (1, 1, 2, 1, 2) == (
        tally.files,
        tally.lines,
        tally.bytes,
        tally.directories,
        tally.found,
    )
    assert 0 == tally.unreadable.total


def test_lines_are_newlines(tmp_path: Path) -> None:
    """
    As `wc -l` has it: an end without a newline is no line, an empty line is one.
    """
    build({b"a": b"one\ntwo", b"b": b"\n\n\n", b"c": b"", b"d": b"\0\n\xff"}, tmp_path)

    tally, _ = read(tmp_path)

    assert 5 == tally.lines


def test_a_large_file_is_read_in_pieces(tmp_path: Path) -> None:
    """
    A file longer than what is read at once is counted to its last byte.
    """
    content = b"0123456\n" * 100_001
    build({b"large": content}, tmp_path)

    tally, _ = read(tmp_path)

    assert (100_001, len(content)) == (tally.lines, tally.bytes)


def test_holes_are_not_read(tmp_path: Path) -> None:
    """
    A sparse file of a terabyte takes no time; its data is counted where it stands.
    """
    size = 1 << 40
    with (tmp_path / "sparse").open("wb") as file:
        file.write(b"\n" * 3)
        file.seek(size // 2)
        file.write(b"\n" * 4)
        file.truncate(size)

    tally, _ = read(tmp_path)

    assert (1, 7, size) == (tally.files, tally.lines, tally.bytes)


@pytest.mark.parametrize(
    ("replace", "reason"),
    [
        (leave, "No such file or directory"),
        (link_away, "Too many levels of symbolic links"),
        (os.mkfifo, None),
        (os.mkdir, None),
    ],
    ids=["gone", "link", "fifo", "directory"],
)
def test_a_file_that_changes_under_our_eyes_is_no_file(
    tmp_path: Path, replace: Callable[[Path], object], reason: str | None
) -> None:
    """
    Between the list and the open a file may vanish or become a trap; it is never followed.
    """
    build({b"a": b"1\n", b"b": b"2\n"}, tmp_path)

    def swap() -> None:
        for path in (tmp_path / "a", tmp_path / "b"):
            path.unlink()
            replace(path)

    tally, _ = read(tmp_path, Once(swap))

    assert (0, 0, 0) == (tally.files, tally.lines, tally.bytes)
    expected = [] if reason is None else [reason] * 2
    assert expected == [entry.reason for entry in tally.unreadable.entries]


def test_a_file_that_cannot_be_opened_is_counted_and_named(tmp_path: Path) -> None:
    """
    It is a file, and its size is known; what it says is not. That we lack descriptors is
    not its fault: the tally says that it is partial.
    """
    build({b"a": b"1\n"}, tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def no_more_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))

    try:
        tally, _ = read(tmp_path, Once(no_more_files))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert (1, 0, 2) == (tally.files, tally.lines, tally.bytes)
    (entry,) = tally.unreadable.entries
    assert (str(tmp_path / "a"), "Too many open files") == (entry.path, entry.reason)
    assert tally.is_partial


@contextmanager
def without_rights() -> Generator[None]:
    """Take from this thread, and from no other, what only root may do."""
    set_user = ctypes.CDLL(None).setfsuid
    if os.geteuid() == 0:
        set_user(NOBODY)
    try:
        yield
    finally:
        set_user(os.geteuid())


@pytest.fixture(name="locked")
def make_locked() -> Iterator[Path]:
    """Give a directory that anybody may enter, with a file and a directory that nobody may."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        place = Path(folder)
        place.chmod(0o755)
        build({b"file": b"1\n", b"folder": {b"a": b"1\n"}}, place)
        for path in place.iterdir():
            path.chmod(0)
        yield place
        (place / "folder").chmod(0o700)


def test_what_may_not_be_read_is_counted_and_named(locked: Path) -> None:
    """
    A file and a directory without permission are there, and the reason is told.
    """
    with without_rights():
        files, names = read(locked)
        folder, below = read(locked / "folder")

    assert ["folder"] == names
    assert (1, 0, 2) == (files.files, files.lines, files.bytes)
    assert [f"{locked}/file"] == [entry.path for entry in files.unreadable.entries]
    assert ([], 1, 0) == (below, folder.directories, folder.files)
    assert not files.is_partial
    assert not folder.is_partial
    assert {"Permission denied"} == {
        entry.reason for entry in (*files.unreadable.entries, *folder.unreadable.entries)
    }


def test_a_directory_that_is_gone_is_an_entry(tmp_path: Path) -> None:
    """
    A directory that vanished is named, and is none of those that were looked into.
    """
    tally, names = read(tmp_path / "gone")

    assert [] == names
    assert (0, 1) == (tally.directories, tally.unreadable.total)


def test_a_link_that_took_a_directorys_place_is_not_followed(tmp_path: Path) -> None:
    """
    The last part of a path is never a link, so that no loop and no way out opens.
    """
    build({b"link": LOOP}, tmp_path)

    tally, names = read(tmp_path / "link")

    assert ([], 0, 1) == (names, tally.directories, tally.unreadable.total)


def test_names_of_any_bytes_are_read(tmp_path: Path) -> None:
    """
    A name that is no UTF-8 is opened by its bytes, and shown with those escaped.
    """
    build({b"\xff\xfe.\xe9": b"1\n", b"\xe9": {}}, tmp_path)

    tally, names = read(tmp_path)

    assert [b"\xe9"] == [os.fsencode(name) for name in names]
    assert f"{tmp_path}/\\xff\\xfe.\\xe9" == tally.largest[0].path
    assert ["\\xe9"] == list(tally.kinds)


def test_a_large_directory_comes_in_pieces(tmp_path: Path) -> None:
    """
    What is known so far is given out before the directory is read to its end.
    """
    build({b"%d" % number: b"" for number in range(2001)}, tmp_path)
    pieces: list[Tally] = []

    last, _ = read_directory(str(tmp_path), nothing, pieces.append)

    assert [2000] == [piece.files for piece in pieces]
    assert (1, 0) == (last.files, last.directories)


def test_reading_ends_when_nobody_wants_it(tmp_path: Path) -> None:
    """
    The check is made between entries; what it raises ends the reading.
    """
    build({b"a": b"", b"b": b""}, tmp_path)

    def stop() -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        read(tmp_path, stop)


def test_many_directories_are_read_in_batches(tmp_path: Path) -> None:
    """
    What is below a directory is read in any number of steps, with the same sum.
    """
    wide(tmp_path, 30)
    build({b"x": {b"y": {b"z": {b"f": b"1\n2\n"}}}}, tmp_path / "d7")
    waiting = [str(tmp_path)]
    total = EMPTY

    while waiting:
        total += read_below(waiting, 4, nothing, lambda _: None)

    expected = counted(tmp_path)
    assert expected.files == total.files
    assert expected.lines == total.lines
    assert (expected.bytes, expected.directories) == (total.bytes, total.directories)


def test_paths_longer_than_the_kernel_takes_are_opened(tmp_path: Path) -> None:
    """
    A directory far below is reached in several steps.
    """
    name = "n" * 200
    opened = os.open(tmp_path, os.O_RDONLY)
    for _ in range(60):
        os.mkdir(name, dir_fd=opened)
        deeper = os.open(name, os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = deeper
    os.close(os.open("file", os.O_CREAT, dir_fd=opened))
    os.close(opened)

    tally, _ = read(Path(tmp_path, *[name] * 60))

    assert (1, 0) == (tally.files, tally.unreadable.total)
