"""
The survey: one run per directory, each of which delegates the directories below its own.

A run reads its directory on the pool, starts a child for each directory in it, and adds
up what they return. What it has counted it also gives out at once, piece by piece, so
that whoever listens has the sum of the pieces when a run is cut short.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote_to_bytes

import attrs

from retinue.actors.serve._survey_read import join, read_below, read_directory
from retinue.actors.serve._survey_tally import EMPTY, Tally, from_json, shown, unread
from retinue.protocol.agent import Agent
from retinue.protocol.delegation import Limits
from retinue.protocol.errors import Cancelled, LimitReached, RetinueError

if TYPE_CHECKING:
    from retinue.actors._reply import Reply
    from retinue.actors.handle import Cancellation, Run
    from retinue.actors.runtime import Runtime

# How many directories of a tree are read at once; a chain of waiting parents stands above
# each, so this bounds what is alive. Half of what the pool takes: the rest is for others.
WIDTH: Final = 16

# What one call on the pool reads of directories that have no runs of their own.
_BATCH: Final = 64

_PLAIN: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


@attrs.frozen
class Plan:
    """
    How a directory is surveyed.

    Args:
        provider: the provider that runs the children.
        depth: how many levels below the directory are delegated; None delegates all.
        width: how many directories are read at once, there and below.
    """

    provider: str = "spawn"
    depth: int | None = None
    width: int = WIDTH

    def below(self, width: int) -> Plan:
        """Return the plan of a child that is given a share of the width."""
        depth = None if self.depth is None else self.depth - 1
        return attrs.evolve(self, depth=depth, width=width)

    def as_options(self) -> Mapping[str, Any]:
        """Return the plan as the options of a start."""
        return {"provider": self.provider, "depth": self.depth, "width": self.width}


def as_prompt(path: str) -> str:
    """Write a path as text that any provider can carry: every byte that is not ASCII is %XX."""
    return quote(os.fsencode(path), safe=_PLAIN)


def from_prompt(text: str) -> str:
    """Read what ``as_prompt`` wrote."""
    return os.fsdecode(unquote_to_bytes(text))


class Survey:
    """
    The behaviour: a generator, so that thousands of directories need no thread each.

    Its result is the tally of the directory and of everything below it.
    """

    def __init__(self) -> None:
        self._total = EMPTY

    def turn(self, turn: Any) -> Generator[Any, Any, dict[str, Any]]:
        """Survey the directory that the prompt names."""
        plan = Plan(**turn.options)
        path = from_prompt(turn.text)

        def give(piece: Tally) -> None:
            self._total += piece
            turn.delta(piece.as_text())

        piece, names = yield from turn.call(read_directory, path, turn.check, give)
        give(attrs.evolve(piece, runs=1))
        paths = [join(path, name) for name in names]
        if plan.depth == 0:
            yield from _count_here(turn, paths, give)
        else:
            yield from _delegate(turn, plan, paths, give)
        return self._total.as_json()
