"""
Opening and counting one entry of a directory; it may block.

Rule: only regular files are read, and no link is followed. An entry that turns into
something else between the list and the open is noticed after the open.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import Final

Check = Callable[[], None]

# Without O_NONBLOCK a FIFO that took a file's place would never let go of the thread.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

# The kernel takes paths of less than 4096 bytes.
_LONGEST_PATH: Final = 4000

_CHUNK: Final = 1 << 18

# In a smaller file a hole costs less to read than to look for.
_SPARSE: Final = 1 << 20
_BLOCK: Final = 512


def open_directory(path: str) -> int:
    """Open a directory whose path may be longer than the kernel takes at once."""
    opened: int | None = None
    rest = os.fsencode(path)
    try:
        while len(rest) > _LONGEST_PATH:
            cut = rest.rindex(b"/", 0, _LONGEST_PATH)
            deeper = os.open(rest[:cut], _DIRECTORY, dir_fd=opened)
            if opened is not None:
                os.close(opened)
            opened, rest = deeper, rest[cut:].strip(b"/") or b"."
        return os.open(rest, _DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
    finally:
        if opened is not None:
            os.close(opened)


def size_of(name: str, directory: int) -> int | None:
    """Return the size of a file that cannot be read; None when it is no file any more."""
    try:
        facts = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None
    return facts.st_size if stat.S_ISREG(facts.st_mode) else None


def count_file(name: str, directory: int, check: Check) -> tuple[int | None, int]:
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
