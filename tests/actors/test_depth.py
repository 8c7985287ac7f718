"""Depth: how deep a run lies, and how deep it may be."""

from __future__ import annotations

import pytest

from retinue.actors import Run, Runtime
from retinue.backends.scripted import Hold, Scripted
from retinue.protocol.errors import DepthExceeded
from retinue.protocol.events import RunStarted
from tests.doubles import PATIENCE, Probe


@pytest.fixture(name="tree")
def make_tree(runtime: Runtime) -> Runtime:
    """Give a runtime whose provider `parents` keeps every run waiting."""
    runtime.register(Scripted(lambda _: [Hold()], name="parents")).get(timeout=PATIENCE)
    return runtime


def child_of(runtime: Runtime, parent: Run | None, max_depth: int | None = None) -> Run:
    """Start a run that waits, below *parent*."""
    return runtime.start("parents", "wait", parent=parent, max_depth=max_depth).get(
        timeout=PATIENCE
    )


def test_a_child_lies_one_deeper_than_its_parent(tree: Runtime) -> None:
    """
    DEP-2: from 0 at the root, and the start event says the same.
    """
    probe = Probe()

    def note(event: object) -> None:
        if isinstance(event, RunStarted):
            probe.tell(event)

    tree.subscribe(note)

    runs = [child_of(tree, None)]
    for _ in range(4):
        runs.append(child_of(tree, runs[-1]))

    assert [0, 1, 2, 3, 4] == [run.depth for run in runs]
    assert [0, 1, 2, 3, 4] == [probe.expect(RunStarted).depth for _ in runs]
    assert [0, 1, 2, 3, 4] == [row.depth for row in tree.tree()]


def test_a_cap_is_a_ceiling_and_no_budget_of_what_is_left(tree: Runtime) -> None:
    """
    DEP-3: the same number means the same depth wherever in the tree it is given.
    """
    root = child_of(tree, None, 2)
    first = child_of(tree, root, 2)
    second = child_of(tree, first, 2)

    with pytest.raises(DepthExceeded) as refused:
        child_of(tree, second, 2)

    assert (3, 2) == (refused.value.attempted, refused.value.maximum)


def test_a_cap_holds_below_without_being_said_again(tree: Runtime) -> None:
    """
    DEP-3, promise 7: it is the run's, and goes down with the tree.
    """
    root = child_of(tree, None, 1)
    first = child_of(tree, root)

    with pytest.raises(DepthExceeded, match="depth 2 is deeper than max_depth 1"):
        child_of(tree, first)


def test_a_cap_only_narrows(tree: Runtime) -> None:
    """
    Promise 7: neither a child's own request nor its children's lifts the ceiling.
    """
    root = child_of(tree, None, 1)

    first = child_of(tree, root, 9)

    with pytest.raises(DepthExceeded):
        child_of(tree, first, 9)


def test_a_narrower_cap_is_one_branchs_own(tree: Runtime) -> None:
    """
    A sibling is not held to it.
    """
    root = child_of(tree, None, 5)
    narrow, wide = child_of(tree, root, 1), child_of(tree, root)

    with pytest.raises(DepthExceeded):
        child_of(tree, narrow)
    assert 2 == child_of(tree, wide).depth


def test_zero_forbids_every_child_and_not_the_run_itself(tree: Runtime) -> None:
    """
    VAL-2, DEP-7: valid, and the root lies at it.
    """
    root = child_of(tree, None, 0)

    with pytest.raises(DepthExceeded):
        child_of(tree, root)
    with pytest.raises(DepthExceeded):
        child_of(tree, root, 0)


def test_too_deep_a_child_leaves_nothing(tree: Runtime) -> None:
    """
    DEP-3: refused before anything is created, for one-shots and residents alike (DEP-6).
    """
    root = child_of(tree, None, 0)

    for start in (
        tree.start("parents", "wait", parent=root),
        tree.open(None, provider="parents", parent=root, name="deep"),
    ):
        with pytest.raises(DepthExceeded):
            start.get(timeout=PATIENCE)

    assert () == tree.children(root)
    assert 1 == len(tree.tree())


def test_a_child_may_be_as_deep_as_the_cap(tree: Runtime) -> None:
    """
    DEP-3: at the ceiling is not above it.
    """
    root = child_of(tree, None)

    assert 1 == child_of(tree, root, 1).depth


def test_without_a_cap_a_tree_may_be_deep(tree: Runtime) -> None:
    """
    DEP-7: no number, no ceiling; and its end is no matter of depth either.
    """
    run = root = child_of(tree, None)
    for _ in range(300):
        run = child_of(tree, run)

    assert 300 == run.depth
    assert root.dispose().get(timeout=PATIENCE)
    assert "aborted" == run.result.get(timeout=PATIENCE).stop_reason
