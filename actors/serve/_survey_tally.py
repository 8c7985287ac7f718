"""
What a survey has counted: values that add up, in whatever order they come.

Rule: adding is associative and commutative, and EMPTY changes nothing. Lists that are
bounded therefore keep what is first by an order that no two entries share.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, cast

import attrs
import msgspec

# How many of the largest files, and of the entries that could not be read, are named.
LARGEST_KEPT: Final = 10
UNREADABLE_KEPT: Final = 100

NO_KIND: Final = "(none)"

# What follows the last dot of a longer name is part of a sentence or a hash.
_LONGEST_KIND: Final = 12


@attrs.frozen
class Count:
    """Files of one kind."""

    files: int = 0
    lines: int = 0
    bytes: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.files + other.files, self.lines + other.lines, self.bytes + other.bytes)


@attrs.frozen
class File:
    """One file, as it is named among the largest."""

    path: str
    bytes: int
    lines: int

    def rank(self) -> tuple[int, str]:
        """The place among the largest, the first being the smallest number."""
        return (-self.bytes, self.path)


@attrs.frozen
class Unread:
    """An entry that could not be read, and why."""

    path: str
    reason: str

    def rank(self) -> tuple[str, str]:
        """The place in the list."""
        return (self.path, self.reason)


@attrs.frozen
class Unreadable:
    """The entries that could not be read: how many, and the first of them by their path."""

    total: int = 0
    entries: tuple[Unread, ...] = ()

    def __add__(self, other: Unreadable) -> Unreadable:
        if not other.total:
            return self
        if not self.total:
            return other
        entries = sorted((*self.entries, *other.entries), key=Unread.rank)
        return Unreadable(self.total + other.total, tuple(entries[:UNREADABLE_KEPT]))


@attrs.frozen
class Tally:
    """
    What was counted in some directories.

    Args:
        directories: how many were looked into, those that could not be read included.
        runs: how many runs counted.
        found: how many directories were seen to be there, in or below which others count.
        is_partial: whether something was left out: a run failed or was cancelled.
        kinds: the files by the suffix of their names.
        largest: the largest files, the first the largest.
    """

    files: int = 0
    lines: int = 0
    bytes: int = 0
    directories: int = 0
    runs: int = 0
    found: int = 0
    is_partial: bool = False
    unreadable: Unreadable = Unreadable()
    kinds: Mapping[str, Count] = attrs.field(factory=dict[str, Count])
    largest: tuple[File, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        if self is EMPTY:
            return other
        return Tally(
            self.files + other.files,
            self.lines + other.lines,
            self.bytes + other.bytes,
            self.directories + other.directories,
            self.runs + other.runs,
            self.found + other.found,
            self.is_partial or other.is_partial,
            self.unreadable + other.unreadable,
            _added(self.kinds, other.kinds),
            _largest(self.largest, other.largest),
        )

    def as_text(self) -> str:
        """Write the tally as one line of JSON."""
        return msgspec.json.encode(self).decode()

    def as_json(self) -> dict[str, Any]:
        """Return the tally as a JSON value."""
        return cast("dict[str, Any]", msgspec.json.decode(msgspec.json.encode(self)))


EMPTY: Final = Tally()
_DECODER: Final = msgspec.json.Decoder(Tally)


def from_text(text: str) -> Tally:
    """
    Read what ``as_text`` wrote.

    Raises:
        ValueError: it is something else.
    """
    return _DECODER.decode(text)


def from_json(value: object) -> Tally:
    """
    Take what ``as_json`` returned.

    Raises:
        ValueError: it is something else.
    """
    return msgspec.convert(value, Tally)


def shown(name: str) -> str:
    r"""Return a name of the file system as text; a byte that is no UTF-8 becomes ``\xff``."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def kind_of(name: str) -> str:
    """Return the suffix of a file's name in lower case, without the dot, or ``(none)``."""
    stem, _, suffix = name.rpartition(".")
    if not stem.strip(".") or not suffix or len(suffix) > _LONGEST_KIND or " " in suffix:
        return NO_KIND
    return shown(suffix.lower())


def unread(path: str, reason: str) -> Tally:
    """Return the tally of one entry that could not be read."""
    return Tally(unreadable=Unreadable(1, (Unread(shown(path), reason),)))


def _added(one: Mapping[str, Count], other: Mapping[str, Count]) -> Mapping[str, Count]:
    if not other:
        return one
    if not one:
        return other
    kinds = dict(one)
    for kind, count in other.items():
        known = kinds.get(kind)
        kinds[kind] = count if known is None else known + count
    return kinds


def _largest(one: tuple[File, ...], other: tuple[File, ...]) -> tuple[File, ...]:
    if not other:
        return one
    if not one:
        return other
    if len(one) == LARGEST_KEPT and one[-1].bytes > other[0].bytes:
        return one
    return tuple(sorted((*one, *other), key=File.rank)[:LARGEST_KEPT])
