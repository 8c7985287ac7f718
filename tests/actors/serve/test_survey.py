"""The survey as a tree of runs: its numbers, its bounds, and what a cancel leaves of it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.actors import Runtime
from retinue.actors.serve._survey_progress import Progress
from retinue.actors.serve._survey_tally import Tally, from_json
from retinue.actors.serve.survey import WIDTH, Plan, as_prompt, from_prompt, start_survey
from retinue.protocol.events import RunStarted
from tests.actors.serve.census import Census
from tests.actors.serve.held import Holding
from tests.actors.serve.trees import TREES, Tree, build, counted, wide
from tests.doubles import PATIENCE, Gate

PATIENT = 4 * PATIENCE
WHOLE = Plan()


def surveyed(
    runtime: Runtime, place: Path, plan: Plan = WHOLE, max_live: int | None = None
) -> Tally:
    """Survey a directory and return the tally that its root run returned."""
    run = start_survey(runtime, str(place), plan, max_live=max_live).get(timeout=PATIENT)
    return from_json(run.result.get(timeout=PATIENT).unwrap())


def numbers(tally: Tally) -> tuple[int, int, int, int]:
    """Return what an oracle counts too."""
    return (tally.files, tally.lines, tally.bytes, tally.directories)


PLANS = st.builds(Plan, depth=st.none() | st.integers(0, 3), width=st.integers(1, WIDTH))


@given(tree=TREES, plan=PLANS, max_live=st.none() | st.integers(1, 6))
def test_any_tree_is_counted_as_a_plain_walk_counts_it(
    tree: Tree, plan: Plan, max_live: int | None
) -> None:
    """
    Whatever there is, however deep it is delegated and however few runs may live, the sum
    is that of `os.walk`; so is the sum of the pieces that are given out on the way.
    """
    with tempfile.TemporaryDirectory() as folder, Runtime() as runtime:
        build(tree, Path(folder))
        progress = Progress()
        runtime.subscribe(progress)

        tally = surveyed(runtime, Path(folder), plan, max_live)
        runtime.close()

        expected = counted(Path(folder))
        assert (expected.files, expected.lines, expected.bytes, expected.directories) == (
            numbers(tally)
        )
        assert sum(expected.suffixes.values()) == sum(kind.files for kind in tally.kinds.values())
        assert tally.directories == tally.found + 1
        assert 0 == tally.unreadable.total
        assert not tally.is_partial
        assert tally == progress.total
        if plan.depth is None and max_live is None:
            assert tally.directories == tally.runs


def test_every_directory_has_a_run(runtime: Runtime, tmp_path: Path) -> None:
    """
    Two thousand directories are two thousand runs, few of them and few threads at once.
    """
    wide(tmp_path, 1000)
    wide(tmp_path / "d0", 500)
    wide(tmp_path / "d1", 500)
    census, before = Census(), threading.active_count()
    runtime.subscribe(census)

    tally = surveyed(runtime, tmp_path)

    assert (2000, 2000, 10_000, 2001) == numbers(tally)
    assert 2001 == tally.runs == census.started
    assert census.most <= 1 + 2 * WIDTH
    # Beside the dispatcher's two threads: at most WIDTH readers, and as many that have
    # retired and not yet gone while their successors work already.
    assert census.threads <= before + 2 + 2 * WIDTH


def test_a_narrow_survey_reads_one_directory_at_a_time(runtime: Runtime, tmp_path: Path) -> None:
    """
    The width is shared out below a directory, so that it bounds the whole tree.
    """
    build({b"a": {b"b": {b"c": {}}, b"d": {}}, b"e": {b"f": {b"g": {}}}}, tmp_path)
    census = Census()
    runtime.subscribe(census)

    tally = surveyed(runtime, tmp_path, Plan(width=1))

    assert 8 == tally.runs
    assert 4 == census.most


@pytest.mark.parametrize("depth", [0, 1, 2, 3, None])
def test_the_depth_bounds_the_runs_and_not_the_numbers(
    runtime: Runtime, tmp_path: Path, depth: int | None
) -> None:
    """
    What is too deep for a run of its own is counted by the deepest run above it.
    """
    build({b"a": {b"b": {b"c": {b"f": b"1\n"}}, b"d": {b"f": b"2\n"}}, b"f": b"3\n"}, tmp_path)

    tally = surveyed(runtime, tmp_path, Plan(depth=depth))

    assert (3, 3, 6, 5) == numbers(tally)
    assert {0: 1, 1: 2, 2: 4, 3: 5, None: 5}[depth] == tally.runs


@pytest.mark.parametrize("max_live", [1, 2, 3, 20])
def test_a_full_house_changes_no_number(runtime: Runtime, tmp_path: Path, max_live: int) -> None:
    """
    A directory for which there is no room is counted by its parent; nothing waits for ever.
    """
    wide(tmp_path, 20)
    wide(tmp_path / "d3", 20)
    census = Census()
    runtime.subscribe(census)

    tally = surveyed(runtime, tmp_path, max_live=max_live)

    assert (40, 40, 200, 41) == numbers(tally)
    assert census.most <= max_live
    assert tally.runs == census.started


def test_a_chain_of_directories_is_as_deep_as_it_likes(runtime: Runtime, tmp_path: Path) -> None:
    """
    Nothing recurses, and a path may be longer than the kernel takes at once.
    """
    opened = os.open(tmp_path, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("twelve-chars", dir_fd=opened)
        deeper = os.open("twelve-chars", os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = deeper
    os.close(opened)

    tally = surveyed(runtime, tmp_path)

    assert (401, 401, 0) == (tally.directories, tally.runs, tally.unreadable.total)


def test_the_directory_itself_may_be_a_link(runtime: Runtime, tmp_path: Path) -> None:
    """
    The path that was asked for is the one place where a link is followed.
    """
    wide(tmp_path / "real", 2)
    (tmp_path / "link").symlink_to("real")

    tally = surveyed(runtime, tmp_path / "link")

    assert (2, 2, 10, 3) == numbers(tally)
    assert f"{tmp_path}/link/d0/a.py" == tally.largest[0].path


@pytest.mark.parametrize("name", [b"plain", b"100%", b"a b", b"\xff\xfe", "ü".encode(), b"a\nb"])
def test_a_path_survives_the_way_through_a_prompt(name: bytes) -> None:
    """
    A prompt is text that any provider can carry, whatever bytes a name has.
    """
    path = os.fsdecode(b"/x/" + name)

    prompt = as_prompt(path)

    assert prompt.isascii()
    assert path == from_prompt(prompt)


def test_a_directory_that_vanishes_meanwhile_is_an_entry(tmp_path: Path) -> None:
    """
    A directory that was listed and is gone when its run begins costs nobody else anything.
    """
    build({b"a": {b"f": b"1\n"}, b"b": {b"f": b"1\n"}}, tmp_path)

    def vanish(path: str) -> None:
        if path.endswith("/b"):
            shutil.rmtree(path)

    with Runtime([Holding(before=vanish)]) as runtime:
        tally = surveyed(runtime, tmp_path, Plan("holding"))

    assert (1, 1, 2, 2) == numbers(tally)
    assert [str(tmp_path / "b")] == [entry.path for entry in tally.unreadable.entries]
    assert not tally.is_partial


def test_a_run_that_fails_leaves_the_rest_and_a_mark(tmp_path: Path) -> None:
    """
    The result says that it is partial and why, and holds everything else.
    """
    build({b"a": {b"f": b"1\n"}, b"b": {b"f": b"1\n"}, b"c": {}}, tmp_path)

    def fail(path: str) -> None:
        if path.endswith("/b"):
            raise ConnectionError("lost")

    with Runtime([Holding(before=fail)]) as runtime:
        tally = surveyed(runtime, tmp_path, Plan("holding"))

    assert tally.is_partial
    assert (1, 1, 2, 3) == numbers(tally)
    (entry,) = tally.unreadable.entries
    assert str(tmp_path / "b") == entry.path
    assert "lost" in entry.reason


def test_what_was_counted_is_there_after_a_cancel(tmp_path: Path) -> None:
    """
    The sum of the pieces has what ended runs returned, and what the others counted.
    """
    tree: Tree = {b"f": b"1\n", b"a": {b"f": b"1\n2\n"}, b"b": {b"f": b"1\n", b"held": {}}}
    build(tree, tmp_path)
    gate, progress = Gate(), Progress()

    with Runtime([Holding(reached=gate.reached.set)]) as runtime:
        runtime.subscribe(progress)
        run = start_survey(runtime, str(tmp_path), Plan("holding", width=1)).get(timeout=PATIENT)
        assert gate.reached.wait(PATIENT)
        alive, rows = progress.live(10)
        run.cancel("enough").get(timeout=PATIENT)
        result = run.result.get(timeout=PATIENT)

    assert "aborted" == result.stop_reason
    assert (3, 4, 8, 3) == numbers(progress.total)
    assert (3, [str(tmp_path), "b", "held"]) == (alive, [row.label for row in rows])
    assert [(1, 2, 1), (1, 1, 0), (0, 0, 0)] == [(row.files, row.found, row.done) for row in rows]
    assert (0, []) == progress.live(10)


def test_the_uppermost_runs_are_shown() -> None:
    """
    Of more runs than there is room for, those nearest to the root are shown, as a tree.
    """
    progress = Progress()
    for number, parent in enumerate(["", "r-0", "r-0", "r-1", "r-2"]):
        progress(RunStarted(f"r-{number}", "spawn", parent or None, str(number), None, number))

    alive, rows = progress.live(4)
    assert 5 == alive
    assert ["0", "1", "3", "2"] == [row.label for row in rows]
    assert ["0"] == [row.label for row in progress.live(1)[1]]


def test_a_plan_narrows_on_its_way_down() -> None:
    """
    A child is given a share of the width, and one level less.
    """
    plan = Plan("fork", 3, 16)

    assert Plan("fork", 2, 5) == plan.below(5)
    assert attrs.evolve(plan, depth=None, width=5) == attrs.evolve(plan, depth=None).below(5)


@pytest.mark.parametrize("provider", ["spawn", "fork"])
def test_any_provider_that_runs_behaviours_will_do(
    runtime: Runtime, tmp_path: Path, provider: str
) -> None:
    """
    Every run of the tree is started on the provider that was asked for.
    """
    wide(tmp_path, 3)
    providers: list[str] = []

    def observe(event: object) -> None:
        if isinstance(event, RunStarted):
            providers.append(event.provider)

    runtime.subscribe(observe)

    tally = surveyed(runtime, tmp_path, Plan(provider))

    assert (3, 3, 15, 4) == numbers(tally)
    assert [provider] * 4 == providers
