"""What is known of a survey while it runs: the sum of its pieces, and which runs are alive."""

from __future__ import annotations

import threading

import attrs

from retinue.actors.serve._survey_tally import EMPTY, Tally, from_text
from retinue.protocol.events import OutputDelta, RunEnded, RunStarted


@attrs.define(eq=False)
class _Node:
    """One live run: its directory, how far it has come, and its live children."""

    label: str
    parent: _Node | None
    depth: int
    files: int = 0
    found: int = 0
    done: int = 0
    children: dict[str, _Node] = attrs.field(factory=dict[str, "_Node"])


@attrs.frozen
class Row:
    """
    One live run, as it is shown.

    Args:
        depth: how many rows deep it is indented.
        files: how many files it has counted itself.
        found: how many directories it found in its own.
        done: how many of those are surveyed.
    """

    label: str
    depth: int
    files: int
    found: int
    done: int


class Progress:
    """
    An observer that keeps count; subscribe it to a runtime that runs one survey.

    The runtime calls it on its own thread, and any thread may ask it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nodes: dict[str, _Node] = {}
        self._roots: dict[str, _Node] = {}
        self._total = EMPTY

    def __call__(self, event: object) -> None:
        """Take one lifecycle event."""
        with self._lock:
            match event:
                case RunStarted():
                    self._started(event)
                case OutputDelta():
                    self._given(event)
                case RunEnded():
                    self._ended(event)
                case _:
                    pass

    def _started(self, event: RunStarted) -> None:
        parent = self._nodes.get(event.parent_id or "")
        node = _Node(event.label or event.run_id, parent, event.depth)
        self._nodes[event.run_id] = node
        (self._roots if parent is None else parent.children)[event.run_id] = node

    def _given(self, event: OutputDelta) -> None:
        piece = from_text(event.text)
        self._total += piece
        node = self._nodes.get(event.run_id)
        if node is not None:
            node.files += piece.files
            node.found += piece.found
            node.done += piece.directories - piece.runs  # but for the run's own

    def _ended(self, event: RunEnded) -> None:
        node = self._nodes.pop(event.run_id, None)
        if node is None:
            return
        if node.parent is None:
            self._roots.pop(event.run_id, None)
        else:
            node.parent.children.pop(event.run_id, None)
            node.parent.done += 1

    @property
    def total(self) -> Tally:
        """What all runs have counted up to now."""
        with self._lock:
            return self._total

    def live(self, limit: int) -> tuple[int, list[Row]]:
        """Return how many runs are alive, and *limit* of them: the uppermost, as a tree."""
        with self._lock:
            chosen = list(self._roots.values())
            for node in chosen:
                if len(chosen) >= limit:
                    break
                chosen.extend(node.children.values())
            kept = set(chosen[:limit])
            rows: list[Row] = []
            to_visit = list(self._roots.values())
            while to_visit:
                node = to_visit.pop()
                if node in kept:
                    rows.append(Row(node.label, node.depth, node.files, node.found, node.done))
                    to_visit.extend(reversed(node.children.values()))
            return len(self._nodes), rows
