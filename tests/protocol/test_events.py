"""Lifecycle events come in pairs, and a monitor says when they do not."""

from __future__ import annotations

from typing import Final

import attrs
import pytest

from retinue.protocol.errors import InvariantViolated
from retinue.protocol.events import (
    LifecycleMonitor,
    OutputDelta,
    ProviderAdded,
    ProviderRemoved,
    RunEnded,
    RunStalled,
    RunStarted,
    Undelivered,
)
from retinue.protocol.result import COMPLETED, RunResult

STARTED: Final = RunStarted("a-1", "spawn", "a-0")
ENDED: Final = RunEnded("a-1", "spawn", RunResult("a-1", COMPLETED), "a-0")


def monitor(*events: object) -> LifecycleMonitor:
    """Return a monitor that has taken *events*."""
    watching = LifecycleMonitor()
    for event in events:
        watching(event)
    return watching


def test_a_sound_stream_is_taken() -> None:
    """
    Providers come and go, runs start and end; everything else means nothing to pairs.
    """
    watching = monitor(
        ProviderAdded("spawn"),
        STARTED,
        OutputDelta("a-1", "text"),
        RunStalled("a-1", 0.2),
        Undelivered("a-1", "message", "too late"),
        ENDED,
        ProviderRemoved("spawn"),
        ProviderAdded("spawn"),
        RunStarted("a-2", "spawn"),
    )

    assert ([], {"a-1"}, ["a-2"]) == (watching.violations, watching.ended, list(watching.open))


def test_a_start_may_name_a_provider_that_is_gone() -> None:
    """
    REG-20: a run that was begun before, or is revived, keeps the name that it was made with.
    """
    watching = monitor(ProviderAdded("spawn"), ProviderRemoved("spawn"), STARTED, ENDED)

    assert [] == watching.violations


@pytest.mark.parametrize(
    ("before", "event", "problem"),
    [
        ([], ProviderAdded(""), "no name"),
        ([], ProviderRemoved(""), "no name"),
        ([ProviderAdded("p")], ProviderAdded("p"), "added twice"),
        ([], ProviderRemoved("p"), "never added"),
        ([ProviderAdded("p"), ProviderRemoved("p")], ProviderRemoved("p"), "never added"),
        ([], RunStarted("", "spawn"), "without run id or provider"),
        ([], RunStarted("a-1", ""), "without run id or provider"),
        ([STARTED], STARTED, "a-1 started twice"),
        ([STARTED, ENDED], STARTED, "a-1 started twice"),
        ([], ENDED, "a-1 ended and had not started"),
        ([STARTED, ENDED], ENDED, "a-1 ended and had not started"),
        ([STARTED], attrs.evolve(ENDED, provider="fork"), "another provider or parent"),
        ([STARTED], attrs.evolve(ENDED, parent_id=None), "another provider or parent"),
    ],
)
def test_what_breaks_a_pair_is_named(before: list[object], event: object, problem: str) -> None:
    """
    REG-20: the monitor raises, and keeps what it found for whoever looks later.
    """
    watching = monitor(*before)

    with pytest.raises(InvariantViolated, match=problem):
        watching(event)
    assert 1 == len(watching.violations)
    assert problem in watching.violations[0]
