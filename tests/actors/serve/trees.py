"""Directories to survey, and an oracle that counts them without any of our code."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

import attrs
from hypothesis import strategies as st

# A tree is a directory: names to contents, to directories, or to what else there may be.
Entry: TypeAlias = "bytes | str | Mapping[bytes, Entry]"
Tree: TypeAlias = Mapping[bytes, Entry]

FIFO: Final = "fifo"
SOCKET: Final = "socket"
LOOP: Final = "loop"
DANGLING: Final = "dangling"

NAMES: Final = st.binary(min_size=1, max_size=12).filter(
    lambda name: name not in {b".", b".."} and not set(name) & set(b"/\0")
)
FILES: Final = st.binary(max_size=60) | st.sampled_from([b"one\n", b"one\ntwo\n", b"\n" * 9])
TREES: Final[st.SearchStrategy[Tree]] = st.recursive(
    st.dictionaries(NAMES, FILES | st.sampled_from([FIFO, SOCKET, LOOP, DANGLING]), max_size=5),
    lambda inner: st.dictionaries(NAMES, FILES | inner, max_size=5),
    max_leaves=12,
)


def build(tree: Tree, place: Path) -> None:
    """Make a tree on disk; *place* may or may not be there."""
    place.mkdir(exist_ok=True)
    opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _fill(tree, opened)
    finally:
        os.close(opened)


def _fill(tree: Tree, directory: int) -> None:
    """Make the entries of one directory, by its descriptor: names may be anything."""
    for name, entry in tree.items():
        if isinstance(entry, bytes):
            opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=directory)
            os.write(opened, entry)
            os.close(opened)
        elif entry == FIFO:
            os.mkfifo(name, dir_fd=directory)
        elif entry == SOCKET:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(b"/proc/self/fd/%d/%b" % (directory, name))
        elif entry == LOOP:
            os.symlink(b".", name, dir_fd=directory)
        elif entry == DANGLING:
            os.symlink(b"nowhere", name, dir_fd=directory)
        else:
            assert isinstance(entry, Mapping)
            os.mkdir(name, dir_fd=directory)
            opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
            _fill(entry, opened)
            os.close(opened)


@attrs.frozen
class Counted:
    """What the oracle counts."""

    files: int
    lines: int
    bytes: int
    directories: int
    suffixes: Mapping[str, int]


def counted(place: Path) -> Counted:
    """Count a tree with ``os.walk``."""
    files = lines = size = directories = 0
    suffixes: Counter[str] = Counter()
    for folder, _, names in os.walk(os.fsencode(place)):
        directories += 1
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - pathlib knows no bytes
            if os.path.islink(path) or not os.path.isfile(path):  # noqa: PTH113, PTH114
                continue
            with open(path, "rb") as file:  # noqa: PTH123
                content = file.read()
            files += 1
            lines += content.count(b"\n")
            size += len(content)
            suffix = os.path.splitext(name)[1][1:].lower()  # noqa: PTH122
            suffixes[suffix.decode("utf-8", "backslashreplace")] += 1
    return Counted(files, lines, size, directories, suffixes)


def wide(place: Path, width: int) -> None:
    """Make a directory with many in it, each with one file of one line."""
    build({b"d%d" % number: {b"a.py": b"pass\n"} for number in range(width)}, place)
