"""What is kept of ended runs: enough for lists and for a second reading, and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import attrs

from retinue.protocol.content import Reasoning, Text
from retinue.protocol.events import RunEnded, RunStarted
from retinue.protocol.tree import RunInfo

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef
    from retinue.protocol.result import RunResult

# How many ended runs can still be found by their id and are shown in trees.
RETAINED: Final = 1000
# How much their results may weigh together, in characters.
MOST_WEIGHT: Final = 16_000_000
# What is taken for the weight of what cannot be measured, such as the locals of an error's
# frames; and after how many parts of a value it is not measured any further.
UNKNOWN_WEIGHT: Final = 100_000
_PARTS: Final = 1000


class Kept:
    """One ended run, without what it worked with: prompt, agent and log may be large (H60)."""

    __slots__ = ("fields", "number", "parent", "result", "weight")

    def __init__(self, ref: RunRef, result: RunResult, now: float) -> None:
        request = ref.request
        self.number = ref.number
        self.parent = None if ref.parent is None else ref.parent.number
        self.fields = (
            request.provider,
            request.label,
            request.name,
            None if request.agent is None else request.agent.name,
            ref.depth,
            result.stop_reason,
            now - ref.started_at,
            result.usage,
            ref.spent,
        )
        self.result: RunResult | None = result
        self.weight = weight_of(result)

    def row(self, prefix: str) -> RunInfo:
        """Say how the run ended, in a list."""
        parent = None if self.parent is None else f"{prefix}-{self.parent}"
        provider, label, name, agent, depth, reason, seconds, usage, total = self.fields
        return RunInfo(
            f"{prefix}-{self.number}",
            provider,
            parent,
            label,
            name,
            agent,
            depth,
            "ended",
            reason,
            0,
            seconds,
            usage=usage,
            total_usage=total,
        )


class Archive:
    """The runs that ended lately; owned by the registry."""

    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}
        self._read: deque[Kept] = deque()
        self._weight = 0

    def add(self, ref: RunRef, result: RunResult, now: float) -> None:
        """Keep what is said of one more run, and forget the oldest over the bounds."""
        kept = Kept(ref, result, now)
        self._kept[ref.number] = kept
        self._read.append(kept)
        self._weight += kept.weight
        while self._weight > MOST_WEIGHT or len(self._read) > RETAINED:
            oldest = self._read.popleft()
            self._weight -= oldest.weight
            oldest.result = None
        if len(self._kept) > RETAINED:
            del self._kept[next(iter(self._kept))]

    def result(self, number: int) -> RunResult | None:
        """Return the result of a run, if it is still kept."""
        kept = self._kept.get(number)
        return None if kept is None else kept.result

    def lighten(self, number: int) -> None:
        """Let go of an error's frames: whoever disposed of the run has read it."""
        kept = self._kept.get(number)
        if kept is not None and kept.result is not None and kept.result.error is not None:
            kept.result = attrs.evolve(kept.result, error=None)
            self._weight -= kept.weight
            kept.weight = weight_of(kept.result)
            self._weight += kept.weight

    def rows(self, prefix: str) -> Iterator[RunInfo]:
        """Yield how each run ended."""
        return (kept.row(prefix) for kept in self._kept.values())


def weight_of(result: RunResult) -> int:
    """Return about how many characters a result holds."""
    weight = 0 if result.error is None else UNKNOWN_WEIGHT
    for block in result.output:
        if type(block) is Text or type(block) is Reasoning:
            weight += len(block.text)
        else:
            weight += _weight_of_value(attrs.astuple(block, recurse=False))
    return weight


def _weight_of_value(value: object) -> int:
    weight = parts = 0
    to_visit: list[Any] = [value]
    while to_visit:
        item = to_visit.pop()
        inside: Any = item
        parts += 1
        if parts > _PARTS:
            return weight + UNKNOWN_WEIGHT
        if isinstance(item, (str, bytes)):
            weight += len(item)
        elif isinstance(item, dict):
            to_visit.extend(inside.keys())
            to_visit.extend(inside.values())
        elif isinstance(item, (list, tuple)):
            to_visit.extend(inside)
        weight += 8
    return weight


def started_event(ref: RunRef) -> RunStarted:
    """Say that a run has started, to observers."""
    request = ref.request
    parent = None if ref.parent is None else ref.parent.run_id
    return RunStarted(ref.run_id, request.provider, parent, request.label, request.name, ref.depth)


def ended_event(ref: RunRef, result: RunResult) -> RunEnded:
    """Say that a run has ended, to watchers and observers."""
    return RunEnded(
        ref.run_id,
        ref.request.provider,
        result,
        None if ref.parent is None else ref.parent.run_id,
        ref.request.label,
        ref.stuck,
        ref.release_error,
        ref.spent,
    )
