"""Policies are captured when a child is started, and are its own from then on."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Run, Runtime
from retinue.protocol.log import PolicySet, SeedEnded, TurnStarted
from tests.actors.behaviours import WAYS, ended, opened, started
from tests.doubles import PATIENCE


def policies(run: Run) -> list[tuple[str, Any, str]]:
    """Return what was set in the run's own log: name, value and by whom."""
    return [
        (event.name, event.value, event.source)
        for event in run.own_transcript()
        if isinstance(event, PolicySet)
    ]


class Office:
    """A resident that sets policies and starts children as it is told."""

    def __init__(self, provider: str = "spawn") -> None:
        self.provider = provider
        self.children: list[Run] = []

    def turn(self, turn: Any) -> str:
        """Do what the prompt says."""
        words = turn.text.split()
        if words[0] == "set":
            turn.set_policy(words[1], words[2])
        elif words[0] == "start":
            self.children.append(turn.open(self.turn, provider=self.provider))
        return "done"


@pytest.fixture(name="office")
def make_office() -> Office:
    """Give the behaviour of a parent."""
    return Office()


def test_a_child_has_the_policies_of_the_moment_of_its_start(
    runtime: Runtime, office: Office
) -> None:
    """
    POL-1, POL-2: what was set explicitly, with approval pinned to never, before its first
    turn; a parent that set nothing passes nothing on.
    """
    root = opened(runtime, office.turn)
    for text in ("start", "set sandbox strict", "set approval always", "start", "set sandbox off"):
        root.ask(text).get(timeout=PATIENCE)
    office.children[1].ask("noop").get(timeout=PATIENCE)

    assert [] == policies(office.children[0])
    assert [("sandbox", "strict", "delegation"), ("approval", "never", "delegation")] == policies(
        office.children[1]
    )
    kinds = [type(event) for event in office.children[1].own_transcript()]
    assert kinds.index(PolicySet) < kinds.index(TurnStarted)


def test_later_switches_are_each_ones_own(runtime: Runtime, office: Office) -> None:
    """
    POL-3: the child's own switch wins for its children, and the parent's later one is the
    parent's future.
    """
    root = opened(runtime, office.turn)
    for text in ("set sandbox strict", "start", "set sandbox off"):
        root.ask(text).get(timeout=PATIENCE)
    child = office.children[0]
    for text in ("set sandbox read-only", "start"):
        child.ask(text).get(timeout=PATIENCE)

    assert [("sandbox", "read-only", "delegation")] == policies(office.children[1])
    assert ("sandbox", "read-only", "explicit") == policies(child)[-1]
    assert ("sandbox", "off", "explicit") == policies(root)[-1]


def test_fresh_policy_comes_after_the_stale_one_of_a_seed(runtime: Runtime) -> None:
    """
    FRK-7: a fork's log has its parent's old policies in the seed, and the captured one
    behind it.
    """
    office = Office("fork")
    root = opened(runtime, office.turn)
    for text in ("set sandbox off", "set sandbox strict", "start"):
        root.ask(text).get(timeout=PATIENCE)
    fork = office.children[0]
    values = [event.value for event in fork.transcript() if isinstance(event, PolicySet)]
    own = [type(event) for event in fork.own_transcript()]

    assert ["off", "strict", "strict"] == values
    assert own.index(SeedEnded) < own.index(PolicySet)


@pytest.mark.parametrize("make", WAYS[:1])
def test_a_resumed_run_captures_nothing_new(runtime: Runtime, make: Any) -> None:
    """
    POL-4: what it was given is in the log that it goes on from.
    """

    def work(turn: Any) -> str:
        if turn.text == "set":
            turn.set_policy("sandbox", "strict")
        return "done"

    run = started(runtime, make(work), "set")
    ended(run)
    resumed = run.resume("go on").get(timeout=PATIENCE)  # type: ignore[attr-defined]
    ended(resumed)

    assert [("sandbox", "strict", "explicit")] == policies(run)
    assert [] == policies(resumed)
    assert 1 == len([event for event in resumed.transcript() if isinstance(event, PolicySet)])
