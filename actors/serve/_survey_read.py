"""
Reading directories: what is in one, counted; called on the pool, so it may block.

Rule 1: only regular files are opened, and no link is followed. An entry that turns into
something else between the list and the open is noticed after the open.
Rule 2: what cannot be read is an entry of the tally, never an error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import Final

from retinue.actors.serve._survey_tally import (
    EMPTY,
    LARGEST_KEPT,
    UNREADABLE_KEPT,
    Count,
    File,
    Tally,
    Unread,
    Unreadable,
    kind_of,
    shown,
)

Check = Callable[[], None]
Give = Callable[[Tally], None]

# Without O_NONBLOCK a FIFO that took a file's place would never let go of the thread.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

# The kernel takes paths of less than 4096 bytes.
_LONGEST_PATH: Final = 4000

# A piece is handed out after so many entries or bytes, that a large directory shows
# progress and a cancel loses little of it.
_PIECE_ENTRIES: Final = 2000
_PIECE_BYTES: Final = 1 << 26

_CHUNK: Final = 1 << 18

# In a smaller file a hole costs less to read than to look for.
_SPARSE: Final = 1 << 20
_BLOCK: Final = 512

# An entry that is gone, or is no directory or a link by now, is not what was listed.
_CHANGED: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))


def read_directory(path: str, check: Check, give: Give, runs: int = 0) -> tuple[Tally, list[str]]:
    """
    Read one directory.

    Args:
        path: the directory.
        check: called between any two steps; raises when nobody wants the rest.
        give: takes the pieces that are complete before the directory is.
        runs: how many runs the last piece counts.

    Returns:
        The last piece, and the names of the directories in it, in order.
    """
    return _Reading(path, check, give).read(runs)


def read_below(waiting: list[str], limit: int, check: Check, give: Give) -> Tally:
    """
    Read the last directory of *waiting*, then what is below it, until *limit* were read.

    What is left to read is in *waiting* afterwards; the other arguments and what is
    returned are those of ``read_directory``.
    """
    total = EMPTY
    while waiting and limit:
        path = waiting.pop()
        piece, names = read_directory(path, check, give)
        total += piece
        waiting.extend(join(path, name) for name in reversed(names))
        limit -= 1
    return total


def join(path: str, name: str) -> str:
    """Return the path of an entry of a directory."""
    return f"{path}{name}" if path.endswith("/") else f"{path}/{name}"


class _Reading:
    """One directory while it is read, and the piece that is being counted."""

    def __init__(self, path: str, check: Check, give: Give) -> None:
        self._path = path
        self._check = check
        self._give = give
        self._below: list[str] = []
        self._begin_piece(directories=0)

    def _begin_piece(self, *, directories: int) -> None:
        self._directories = directories
        self._found = self._counted = self._lines = self._bytes = self._entries = 0
        self._files: list[File] = []
        self._kinds: dict[str, list[int]] = {}
        self._unread: list[Unread] = []

    def read(self, runs: int) -> tuple[Tally, list[str]]:
        try:
            opened = _open_directory(self._path)
        except OSError as error:
            self._directories = 0 if error.errno in _CHANGED else 1
            self._note(self._path, error)
            return self._piece(runs), []
        self._directories = 1
        try:
            with os.scandir(opened) as entries:
                for entry in entries:
                    self._check()
                    self._take(entry, opened)
        except OSError as error:
            self._note(self._path, error)
        finally:
            os.close(opened)
        self._below.sort()
        return self._piece(runs), self._below

    def _take(self, entry: os.DirEntry[str], directory: int) -> None:
        try:
            if entry.is_dir(follow_symlinks=False):
                self._below.append(entry.name)
                self._found += 1
            elif entry.is_file(follow_symlinks=False):
                self._read_file(entry.name, directory)
        except OSError as error:
            self._note(join(self._path, entry.name), error)
        self._entries += 1
        if self._entries >= _PIECE_ENTRIES or self._bytes >= _PIECE_BYTES:
            self._give(self._piece())
            self._begin_piece(directories=0)

    def _read_file(self, name: str, directory: int) -> None:
        try:
            counted = _count(name, directory, self._check)
        except OSError as error:
            self._note(join(self._path, name), error)
            counted = _size(name, directory), 0
        size, lines = counted
        if size is None:
            return
        count = self._kinds.setdefault(kind_of(name), [0, 0, 0])
        count[0] += 1
        count[1] += lines
        count[2] += size
        self._lines += lines
        self._bytes += size
        self._counted += 1
        if size:
            self._files.append(File(shown(name), size, lines))

    def _note(self, path: str, error: OSError) -> None:
        self._unread.append(Unread(shown(path), error.strerror or type(error).__name__))

    def _piece(self, runs: int = 0) -> Tally:
        folder = shown(self._path)
        self._files.sort(key=File.rank)
        self._unread.sort(key=Unread.rank)
        return Tally(
            files=self._counted,
            lines=self._lines,
            bytes=self._bytes,
            directories=self._directories,
            runs=runs,
            found=self._found,
            unreadable=Unreadable(len(self._unread), tuple(self._unread[:UNREADABLE_KEPT])),
            kinds={kind: Count(*count) for kind, count in self._kinds.items()},
            largest=tuple(
                File(join(folder, file.path), file.bytes, file.lines)
                for file in self._files[:LARGEST_KEPT]
            ),
        )


def _open_directory(path: str) -> int:
    """Open a directory whose path may be longer than the kernel takes at once."""
    opened: int | None = None
    rest = os.fsencode(path)
    try:
        while len(rest) > _LONGEST_PATH:
            cut = rest.rindex(b"/", 0, _LONGEST_PATH)
            deeper = os.open(rest[:cut], _DIRECTORY, dir_fd=opened)
            if opened is not None:
                os.close(opened)
            opened, rest = deeper, rest[cut + 1 :]
        return os.open(rest, _DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
    finally:
        if opened is not None:
            os.close(opened)


def _size(name: str, directory: int) -> int | None:
    """Return the size of a file that cannot be read; None when it is no file any more."""
    try:
        facts = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None
    return facts.st_size if stat.S_ISREG(facts.st_mode) else None


def _count(name: str, directory: int, check: Check) -> tuple[int | None, int]:
    """Return the bytes and the newlines of a file; no bytes are None, of what is no file."""
    opened = os.open(name, _FILE, dir_fd=directory)
    try:
        facts = os.fstat(opened)
        if not stat.S_ISREG(facts.st_mode):
            return None, 0
        lines = 0
        for start, end in _data(opened, facts):
            check()
            os.lseek(opened, start, os.SEEK_SET)
            lines += _newlines(opened, end - start, check)
        return facts.st_size, lines
    finally:
        os.close(opened)


def _newlines(opened: int, left: int, check: Check) -> int:
    """Count newlines in so many bytes: a file that grows meanwhile is read to its old end."""
    lines = 0
    while left > 0:
        chunk = os.read(opened, min(left, _CHUNK))
        if not chunk:
            break
        lines += chunk.count(b"\n")
        left -= len(chunk)
        if left:
            check()
    return lines


def _data(opened: int, facts: os.stat_result) -> Iterator[tuple[int, int]]:
    """Yield where a file has data; there is no newline in a hole, however large."""
    size = facts.st_size
    if size < _SPARSE or facts.st_blocks * _BLOCK >= size:
        if size:
            yield 0, size
        return
    end = 0
    while end < size:
        try:
            start = os.lseek(opened, end, os.SEEK_DATA)
            end = min(os.lseek(opened, start, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno != errno.ENXIO:  # cannot tell; at the last hole it can
                yield end, size
            return
        yield start, end
