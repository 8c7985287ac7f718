"""
Reading directories: what is in one, counted; called on the pool, so it may block.

Rule 1: only regular files are opened, and no link is followed: an entry that turns into
something else between the list and the open is noticed after the open.
Rule 2: whatever cannot be read is an entry of the tally, never an error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import Final

from retinue.actors.serve._survey_tally import (
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

_CHUNK: Final = 1 << 18

# Without O_NONBLOCK a FIFO that took a file's place would never let go of the thread.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

# The kernel takes paths of less than 4096 bytes.
_LONGEST_PATH: Final = 4000

# A piece is handed out after so many entries or bytes, that a large directory shows
# progress, and a cancel loses little of it.
_PIECE_ENTRIES: Final = 2000
_PIECE_BYTES: Final = 1 << 26

# Below this a hole costs less to read than to look for.
_SMALLEST_HOLE: Final = 1 << 20

# An entry that is gone, or is no directory or a link by now, is not what was listed.
_CHANGED: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))


class Reading:
    """
    The tally of one directory while it is read.

    Args:
        path: the directory.
        check: called between any two steps; raises when nobody wants the rest.
        give: takes the pieces that are complete before the directory is.
    """

    def __init__(
        self, path: str, check: Callable[[], None], give: Callable[[Tally], None]
    ) -> None:
        self._path = path
        self._check = check
        self._give = give
        self._below: list[str] = []
        self._start_piece()

    def _start_piece(self) -> None:
        self._directories = self._found = self._bytes = self._lines = self._entries = 0
        self._files: list[File] = []
        self._kinds: dict[str, list[int]] = {}
        self._unread: list[Unread] = []
        self._unread_total = 0

    def run(self) -> tuple[Tally, list[str]]:
        """Read the directory; return its last piece and the names of those below it."""
        try:
            opened = _open_directory(self._path)
        except OSError as error:
            self._note(self._path, error)
            self._directories = 0 if error.errno in _CHANGED else 1
            return self._piece(), []
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
        return self._piece(), self._below

    def _take(self, entry: os.DirEntry[str], directory: int) -> None:
        try:
            if entry.is_dir(follow_symlinks=False):
                self._below.append(entry.name)
                self._found += 1
            elif entry.is_file(follow_symlinks=False):
                self._read(entry.name, directory)
        except OSError as error:
            self._note(os.path.join(self._path, entry.name), error)  # noqa: PTH118 - faster
        self._entries += 1
        if self._entries >= _PIECE_ENTRIES or self._bytes >= _PIECE_BYTES:
            self._give(self._piece())
            self._start_piece()

    def _read(self, name: str, directory: int) -> None:
        try:
            counted = _count(name, directory, self._check)
            if counted is None:
                return
            size, lines = counted
        except OSError as error:
            self._note(os.path.join(self._path, name), error)  # noqa: PTH118
            facts = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if not stat.S_ISREG(facts.st_mode):
                return
            size, lines = facts.st_size, 0
        count = self._kinds.setdefault(kind_of(name), [0, 0, 0])
        count[0] += 1
        count[1] += lines
        count[2] += size
        self._lines += lines
        self._bytes += size
        self._files.append(File(name, size, lines))

    def _note(self, path: str, error: OSError) -> None:
        self._unread_total += 1
        self._unread.append(Unread(shown(path), error.strerror or type(error).__name__))

    def _piece(self) -> Tally:
        largest = sorted(self._files, key=lambda file: file.rank)[:LARGEST_KEPT]
        kinds = {kind: Count(*count) for kind, count in self._kinds.items()}
        self._unread.sort(key=lambda entry: entry.rank)
        return Tally(
            len(self._files),
            self._lines,
            self._bytes,
            self._directories,
            0,
            self._found,
            False,
            Unreadable(self._unread_total, tuple(self._unread[:UNREADABLE_KEPT])),
            kinds,
            tuple(
                File(shown(os.path.join(self._path, file.path)), file.bytes, file.lines)  # noqa: PTH118
                for file in largest
            ),
        )
