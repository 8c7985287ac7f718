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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from urllib.parse import quote, unquote_to_bytes

import attrs

from retinue.actors.serve._survey_read import Give, join, read_below, read_directory
from retinue.actors.serve._survey_tally import EMPTY, Tally, from_json, shown, unread
from retinue.protocol.agent import Agent
from retinue.protocol.content import clip
from retinue.protocol.delegation import Limits
from retinue.protocol.errors import Cancelled, LimitReached, RetinueError

if TYPE_CHECKING:
    from retinue.actors import Cancellation, Reply, Run, Runtime

# How many directories of a tree are read at once; a chain of waiting parents stands above
# each, so this bounds what is alive. Half of what the pool takes: the rest is for others.
WIDTH: Final = 16

# What one call on the pool reads of directories that have no runs of their own.
_BATCH: Final = 64

T = TypeVar("T")
Steps: TypeAlias = Generator[Any, Any, T]

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

    def turn(self, turn: Any) -> Steps[dict[str, Any]]:
        """Survey the directory that the prompt names."""
        plan = Plan(**turn.options)
        path = from_prompt(turn.text)

        def give(piece: Tally) -> None:
            self._total += piece
            turn.delta(piece.as_text())

        read: Reply[tuple[Tally, list[str]]]
        read = turn.call(read_directory, path, turn.check, give, 1)
        piece, names = yield from read
        give(piece)
        paths = [join(path, name) for name in names]
        if plan.depth == 0:
            yield from _count_here(turn, paths, give)
        else:
            yield from self._delegate(turn, plan, paths, give)
        return self._total.as_json()

    def _delegate(self, turn: Any, plan: Plan, paths: list[str], give: Give) -> Steps[None]:
        """Start a child per path, as many at once as the width allows, and add up."""
        waiting = deque(paths)
        live: deque[tuple[str, int, Reply[Run]]] = deque()
        free = plan.width
        while waiting or live:
            while waiting and free:
                share = max(1, free // len(waiting))
                free -= share
                path = waiting.popleft()
                live.append((path, share, _start(turn, plan.below(share), path)))
            path, share, start = live.popleft()
            try:
                run = yield from start
                result = yield from run.result
                self._total += from_json(result.unwrap())
            except LimitReached:
                yield from _count_here(turn, [path], give)
            except Cancelled:
                raise
            except (RetinueError, ValueError) as error:
                give(_not_surveyed(path, error))
            free += share


def _start(turn: Any, plan: Plan, path: str) -> Reply[Run]:
    start: Reply[Run] = turn.start(
        plan.provider,
        as_prompt(path),
        agent=SURVEY,
        label=shown(path.rpartition("/")[2]),
        options=plan.as_options(),
    )
    return start


def _count_here(turn: Any, paths: list[str], give: Give) -> Steps[None]:
    """Count what is at and below the paths without a run for each directory."""
    waiting = paths[::-1]
    while waiting:
        read: Reply[Tally] = turn.call(read_below, waiting, _BATCH, turn.check, give)
        give((yield from read))


def _not_surveyed(path: str, error: Exception) -> Tally:
    """Return the tally of a directory whose run gave none: what it counted, its pieces hold."""
    reason = clip(str(error)) or type(error).__name__
    return attrs.evolve(unread(path, reason), is_partial=True)


SURVEY: Final = Agent(Survey, name="survey")


def start_survey(
    runtime: Runtime,
    path: str,
    plan: Plan = Plan(),
    *,
    max_live: int | None = None,
    cancel: Cancellation | None = None,
) -> Reply[Run]:
    """
    Start the survey of a directory; the run's result is a tally as a JSON value.

    Args:
        path: the directory; the only place where a link is followed.
        plan: how it is surveyed.
        max_live: how many runs may be alive at once; a directory for which there is no
            room is counted by the run above it.
        cancel: a token that cancels the whole survey.
    """
    # With a slash at its end a path that is a link stands for what the link points to.
    path = path if path.endswith("/") or not Path(path).is_symlink() else f"{path}/"
    return runtime.start(
        plan.provider,
        as_prompt(path),
        agent=SURVEY,
        label=shown(path),
        options=plan.as_options(),
        limits=None if max_live is None else Limits(live=max_live),
        cancel=cancel,
    )
