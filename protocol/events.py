"""Lifecycle events: what observers, watchers, parents and hosts are told."""

from __future__ import annotations

import attrs

from retinue.protocol.errors import InvariantViolated
from retinue.protocol.result import NO_USAGE, RunResult, Usage


@attrs.frozen
class ProviderAdded:
    """A provider was registered. An observer that raises takes the registration back."""

    provider: str


@attrs.frozen
class ProviderRemoved:
    """A provider is gone; its live runs go on."""

    provider: str


@attrs.frozen
class RunStarted:
    """A run exists and can be found by its id; no turn of it has begun (LIF-2)."""

    run_id: str
    provider: str
    parent_id: str | None = None
    label: str | None = None
    name: str | None = None
    depth: int = 0


@attrs.frozen
class RunEnded:
    """
    A run has ended and released what it held, once.

    ``stuck`` names what would not stop; ``release_error`` says how a release failed;
    ``total_usage`` is what the run and everything below it have spent, for good.
    """

    run_id: str
    provider: str
    result: RunResult
    parent_id: str | None = None
    label: str | None = None
    stuck: tuple[str, ...] = ()
    release_error: str | None = None
    total_usage: Usage = NO_USAGE


@attrs.frozen
class OutputDelta:
    """A piece of a run's text as it comes."""

    run_id: str
    text: str


@attrs.frozen
class RunStalled:
    """A step of the run has blocked the dispatcher for *seconds*."""

    run_id: str
    seconds: float


@attrs.frozen
class Undelivered:
    """A message that was accepted and never taken: its run ended first."""

    run_id: str
    message: object
    reason: str


LifecycleEvent = (
    ProviderAdded | ProviderRemoved | RunStarted | RunEnded | OutputDelta | RunStalled | Undelivered
)


class LifecycleMonitor:
    """
    Check a stream of lifecycle events; subscribe an instance to any runtime (REG-20).

    Raises:
        InvariantViolated: from ``__call__``, on the first event that breaks a rule.
    """

    def __init__(self) -> None:
        self.providers: set[str] = set()
        self.open: dict[str, RunStarted] = {}
        self.ended: set[str] = set()
        self.violations: list[str] = []

    def __call__(self, event: object) -> None:
        """Take one event."""
        problem = self._check(event)
        if problem is not None:
            self.violations.append(problem)
            raise InvariantViolated(problem)

    def _check(self, event: object) -> str | None:
        match event:
            case ProviderAdded(provider) | ProviderRemoved(provider):
                return self._provider(event, provider)
            case RunStarted():
                return self._started(event)
            case RunEnded():
                return self._ended(event)
            case _:
                return None

    def _provider(self, event: object, name: str) -> str | None:
        if not name:
            return "a provider has no name"
        if isinstance(event, ProviderAdded):
            if name in self.providers:
                return f"provider {name!r} was added twice"
            self.providers.add(name)
            return None
        if name not in self.providers:
            return f"provider {name!r} was removed and never added"
        self.providers.discard(name)
        return None

    def _started(self, event: RunStarted) -> str | None:
        if not event.run_id or not event.provider:
            return f"a start without run id or provider: {event}"
        if event.run_id in self.open or event.run_id in self.ended:
            return f"{event.run_id} started twice"
        self.open[event.run_id] = event
        return None

    def _ended(self, event: RunEnded) -> str | None:
        start = self.open.pop(event.run_id, None)
        if start is None:
            return f"{event.run_id} ended and had not started"
        self.ended.add(event.run_id)
        if (start.provider, start.parent_id) != (event.provider, event.parent_id):
            return f"{event.run_id} ended with another provider or parent than it started"
        return None
