"""
Reading directories: what is in one, counted; called on the pool, so it may block.

Rule: what cannot be read is an entry of the tally, never an error. Where that is for
want of memory or descriptors of our own, the tally is partial.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Final

from retinue.actors.serve._survey_files import Check, count_file, open_directory, size_of
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

Give = Callable[[Tally], None]

# A piece is handed out after so many entries or bytes, that a large directory shows
# progress and a cancel loses little of it.
_PIECE_ENTRIES: Final = 2000
_PIECE_BYTES: Final = 1 << 26

# An entry that is gone, or is no directory or a link by now, is not what was listed.
_CHANGED: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))

# Not the entry's fault but ours: another survey might read it.
_SHORTAGE: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))


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
        self._is_short = False

    def read(self, runs: int) -> tuple[Tally, list[str]]:
        try:
            opened = open_directory(self._path)
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
            counted = count_file(name, directory, self._check)
        except OSError as error:
            self._note(join(self._path, name), error)
            counted = size_of(name, directory), 0
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
        self._is_short |= error.errno in _SHORTAGE

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
            is_partial=self._is_short,
            unreadable=Unreadable(len(self._unread), tuple(self._unread[:UNREADABLE_KEPT])),
            kinds={kind: Count(*count) for kind, count in self._kinds.items()},
            largest=tuple(
                File(join(folder, file.path), file.bytes, file.lines)
                for file in self._files[:LARGEST_KEPT]
            ),
        )
