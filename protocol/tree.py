"""What a runtime shows of its runs: rows of a list, and a tree that prints itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from retinue.protocol.result import NO_USAGE, StopReason, Usage


@attrs.frozen
class RunInfo:
    """
    One run as it was when it was asked for; a snapshot that grants nothing.

    Args:
        state: the phase of a live run, or ``ended``.
        stop_reason: why it ended, or None.
        seconds: from its start to its end, or to now.
        quiet_seconds: since its log last grew, so that alive is not read as progressing.
        waits_for: what it waits for: run ids, ``inbox``, ``children``, ``a thread``, ...
        usage: what it has spent itself.
        total_usage: what it and everything below it have spent.
        tools: what its tool filter keeps, and whether its parent's is in that (``ceiling``)
            or not (``own``); empty without a filter, and for runs that ended.
    """

    run_id: str
    provider: str
    parent_id: str | None = None
    label: str | None = None
    name: str | None = None
    agent: str | None = None
    depth: int = 0
    state: str = "idle"
    stop_reason: StopReason | None = None
    turn: int = 0
    seconds: float = 0.0
    quiet_seconds: float = 0.0
    waits_for: tuple[str, ...] = ()
    waiting: int = 0
    usage: Usage = NO_USAGE
    total_usage: Usage = NO_USAGE
    tools: str = ""

    @property
    def is_live(self) -> bool:
        """Whether the run has not ended."""
        return self.state != "ended"

    def line(self) -> str:
        """Say all that in one line."""
        title = self.name or self.label or self.agent or self.provider
        state = self.state if self.stop_reason is None else str(self.stop_reason)
        parts = [f"{self.run_id} {title} [{state}] {self.seconds:.1f} s"]
        if self.is_live and self.waits_for:
            parts.append("waits for " + ", ".join(self.waits_for))
        if self.tools:
            parts.append(f"tools {self.tools}")
        if self.is_live and self.quiet_seconds >= 1:
            parts.append(f"quiet for {self.quiet_seconds:.0f} s")
        spent = self.usage.input_tokens + self.usage.output_tokens
        total = self.total_usage.input_tokens + self.total_usage.output_tokens
        if spent or total:
            parts.append(f"{spent} tokens" + _in_all(spent, total, str))
        if self.usage.cost or self.total_usage.cost:
            said = _in_all(self.usage.cost, self.total_usage.cost, "{:.4f}".format)
            parts.append(f"cost {self.usage.cost:.4f}{said}")
        return ", ".join(parts)


def _in_all(own: float, total: float, written: Callable[[Any], str]) -> str:
    """Say what is spent with everything below, where that is more."""
    return f" ({written(total)} in all)" if total > own else ""


@attrs.frozen
class RunTree:
    """Runs in pre-order; ``str()`` draws them."""

    rows: tuple[RunInfo, ...]

    def __iter__(self) -> Iterator[RunInfo]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        top = min((row.depth for row in self.rows), default=0)
        return "\n".join("  " * (row.depth - top) + row.line() for row in self.rows)


def in_preorder(rows: Sequence[RunInfo]) -> tuple[RunInfo, ...]:
    """
    Order *rows* so that children follow their parent, each in the order given.

    Iterative, so any depth; rows whose parent is not among them are roots, and of rows in
    a circle the first is one (LST-16).
    """
    known = {row.run_id for row in rows}
    children: dict[str | None, list[RunInfo]] = {}
    for row in rows:
        parent = row.parent_id if row.parent_id in known else None
        children.setdefault(parent, []).append(row)
    ordered: dict[str, RunInfo] = {}
    for first in (*children.get(None, ()), *rows):
        to_visit = [first]
        while to_visit:
            row = to_visit.pop()
            if row.run_id not in ordered:
                ordered[row.run_id] = row
                to_visit.extend(reversed(children.get(row.run_id, ())))
    return tuple(ordered.values())
