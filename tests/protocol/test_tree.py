"""What a runtime shows of its runs."""

from __future__ import annotations

import random

import attrs
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.result import ABORTED, Usage
from retinue.protocol.tree import RunInfo, RunTree, in_preorder


def row(number: int, parent: int | None = None, depth: int = 0) -> RunInfo:
    """Return a row of a list."""
    above = None if parent is None else f"a-{parent}"
    return RunInfo(f"a-{number}", "spawn", above, depth=depth)


def ids(rows: tuple[RunInfo, ...]) -> list[int]:
    """Return the numbers of the rows."""
    return [int(one.run_id.removeprefix("a-")) for one in rows]


def test_children_follow_their_parent_in_the_order_given() -> None:
    """
    LST-16: stable pre-order; a child listed before its parent still comes after it.
    """
    rows = [row(5, 2), row(1), row(2, 1), row(4), row(3, 1), row(6, 2)]

    assert [1, 2, 5, 6, 3, 4] == ids(in_preorder(rows))


def test_a_chain_of_ten_thousand_is_ordered_without_recursion() -> None:
    """
    LST-16: depth costs no Python frames, whichever way the rows come.
    """
    chain = [row(number, number - 1 if number else None, number) for number in range(10_000)]
    shuffled = random.Random(7).sample(chain, len(chain))

    assert list(range(10_000)) == ids(in_preorder(shuffled))


def test_a_row_whose_parent_is_not_shown_is_a_root() -> None:
    """
    LST-16: what stands below something that is gone is listed all the same.
    """
    assert [2, 3, 1] == ids(in_preorder([row(2, 9), row(3, 2), row(1)]))


def test_rows_in_a_circle_are_listed_once() -> None:
    """
    LST-16: damaged data is shown and neither dropped nor walked for ever.
    """
    rows = [row(1), row(2, 3), row(3, 2), row(4, 4), row(5, 2)]

    assert [1, 2, 3, 4, 5] == sorted(ids(in_preorder(rows)))


@given(st.lists(st.integers(0, 30), max_size=30), st.randoms(use_true_random=False))
def test_every_row_is_listed_once_and_after_its_parent(
    parents: list[int], shuffle: random.Random
) -> None:
    """
    LST-16: of any forest, in any order of its rows.
    """
    rows = [row(number, parent % (number or 1)) for number, parent in enumerate(parents)]
    rows = [
        attrs.evolve(one, parent_id=None) if one.parent_id == one.run_id else one for one in rows
    ]
    shuffle.shuffle(rows)

    ordered = ids(in_preorder(rows))

    assert sorted(ids(tuple(rows))) == sorted(ordered)
    for one in rows:
        if one.parent_id is not None:
            above = int(one.parent_id.removeprefix("a-"))
            assert ordered.index(above) < ordered.index(ids((one,))[0])


def test_a_tree_draws_itself() -> None:
    """
    Two spaces for each level below the topmost row; it can be iterated and counted.
    """
    tree = RunTree((row(1, None, 3), row(2, 1, 4)))

    assert "a-1 spawn [idle] 0.0 s\n  a-2 spawn [idle] 0.0 s" == str(tree)
    assert (2, [1, 2]) == (len(tree), ids(tuple(tree)))
    assert "" == str(RunTree(()))


def test_a_line_says_what_is_known_of_a_run() -> None:
    """
    H20, H22: for how long it has been quiet, and what it waits for.
    """
    live = RunInfo(
        "a-1",
        "spawn",
        label="count",
        state="working",
        seconds=12.34,
        quiet_seconds=7.6,
        waits_for=("a-2", "a thread"),
        usage=Usage(10, 5, 1, 0.25),
    )

    assert live.is_live
    assert (
        "a-1 count [working] 12.3 s, waits for a-2, a thread, quiet for 8 s, 15 tokens, cost 0.2500"
    ) == live.line()


def test_a_line_of_an_ended_run_says_why() -> None:
    """
    What is over waits for nothing and is not quiet.
    """
    ended = RunInfo(
        "a-1", "spawn", agent="counter", state="ended", stop_reason=ABORTED, quiet_seconds=9
    )

    assert not ended.is_live
    assert "a-1 counter [aborted] 0.0 s" == ended.line()


def test_the_most_telling_name_is_shown() -> None:
    """
    A resident's name, else the label, else the agent's name, else the provider.
    """
    full = RunInfo("a-1", "spawn", name="Zoe", label="chat", agent="counter")
    nameless = attrs.evolve(full, name=None)
    bare = attrs.evolve(nameless, label=None)
    rows = [full, nameless, bare, attrs.evolve(bare, agent=None)]

    assert ["Zoe", "chat", "counter", "spawn"] == [one.line().split()[1] for one in rows]
