"""What a runtime shows: trees, lists, watchers and subscribers."""

from __future__ import annotations

import threading
from typing import Any

import pykka
import pytest

from retinue.actors import ManualClock, Run, Runtime
from retinue.protocol.events import RunEnded, RunStarted
from retinue.protocol.result import ABORTED, COMPLETED
from retinue.protocol.tree import RunInfo
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate, Probe


def row_of(runtime: Runtime, run: Run) -> RunInfo:
    """Return the run's row in the tree."""
    return next(row for row in runtime.tree() if row.run_id == run.id)


def sleeper(turn: Any) -> Steps:
    """Wait until somebody ends the run."""
    yield turn.sleep(1e9)


def test_a_tree_shows_parents_before_children_and_what_has_ended(runtime: Runtime) -> None:
    """
    LST-16: in pre-order, with depth; what ended lately is there with its reason.
    """

    def parent(turn: Any) -> Steps:
        yield from turn.call(gate.wait)
        done = yield from turn.start("spawn", "x", agent=echo, label="done")
        yield from done.result
        yield from turn.start("spawn", "x", agent=sleeper, label="left")
        begun.set()
        yield turn.sleep(1e9)

    begun, gate = threading.Event(), Gate()
    root = started(runtime, parent, label="root")
    other = opened(runtime, echo, name="other")
    gate.open()
    assert begun.wait(PATIENCE)
    tree = runtime.tree()

    titles = [(row.name or row.label, row.depth, row.parent_id) for row in tree]
    assert [("root", 0, None), ("done", 1, root.id), ("left", 1, root.id), ("other", 0, None)] == (
        titles
    )
    assert ["working", "ended", "working", "idle"] == [row.state for row in tree]
    assert COMPLETED == tree.rows[1].stop_reason
    assert str(tree).splitlines()[1].startswith(f"  {tree.rows[1].run_id} done [completed]")
    assert other.id == tree.rows[3].run_id


def test_children_and_descendants_are_the_live_ones(runtime: Runtime) -> None:
    """
    LST-15: of a run, or of the runtime; one that has none has an empty list.
    """
    kids: list[Run] = []

    def parent(turn: Any) -> Steps:
        if turn.depth < 2:
            kids.append((yield from turn.start("spawn", "x", agent=parent)))
        else:
            begun.set()
        yield turn.sleep(1e9)

    begun = threading.Event()
    root, other = started(runtime, parent), opened(runtime, echo)
    assert begun.wait(PATIENCE)

    def ids(rows: Any) -> list[str]:
        return [row.run_id for row in rows]

    assert [root.id, other.id] == ids(runtime.children())
    assert [kids[0].id] == ids(runtime.children(root))
    assert [kids[0].id, kids[1].id] == ids(runtime.descendants(root))
    assert [] == ids(runtime.children(other)) == ids(runtime.descendants(other))
    root.dispose().get(timeout=PATIENCE)
    assert [] == ids(runtime.children(root)) == ids(runtime.descendants(root))


def test_a_list_says_what_a_run_waits_for(runtime: Runtime) -> None:
    """
    H22: its inbox, its children, another run, by id.
    """
    gate = Gate()
    resident = opened(runtime, lambda _: gate.wait())

    def asking(turn: Any) -> Any:
        return turn.ask(resident, "hello").text

    run = started(runtime, asking)
    assert gate.reached.wait(PATIENCE)

    assert (resident.id,) == row_of(runtime, run).waits_for
    assert ("inbox",) == row_of(runtime, opened(runtime, echo)).waits_for
    gate.open()
    ended(run)
    assert () == row_of(runtime, run).waits_for


def test_alive_is_not_told_as_progressing(timed: Runtime, clock: ManualClock) -> None:
    """
    H20, H22: how long a run has said nothing, and how long it has been there.
    """
    begun, said = threading.Event(), Gate()

    def behaviour(turn: Any) -> None:
        begun.set()
        said.wait()
        turn.say("a word")
        turn.sleep(1e9)

    run = started(timed, behaviour)
    assert begun.wait(PATIENCE)
    clock.advance(30.0)
    silent = row_of(timed, run)
    said.open()
    while row_of(timed, run).quiet_seconds:
        pass
    clock.advance(2.0)
    spoke = row_of(timed, run)

    assert (30.0, 30.0) == (silent.seconds, silent.quiet_seconds)
    assert (32.0, 2.0) == (spoke.seconds, spoke.quiet_seconds)
    assert "quiet for 30 s" in silent.line()
    run.dispose().get(timeout=PATIENCE)
    assert (32.0, ABORTED) == (row_of(timed, run).seconds, row_of(timed, run).stop_reason)


def test_a_row_tells_how_much_waits(runtime: Runtime) -> None:
    """
    Prompts, steering and injected words that nobody took yet; and the turn that is open.
    """
    gate = Gate()
    run = opened(runtime, lambda _: gate.wait())
    run.tell("first").get(timeout=PATIENCE)
    assert gate.reached.wait(PATIENCE)
    for text in ("a", "b"):
        run.tell(text).get(timeout=PATIENCE)
    run.inject("c").get(timeout=PATIENCE)
    row = row_of(runtime, run)
    gate.open()

    assert (3, 1, "working") == (row.waiting, row.turn, row.state)


def test_a_watcher_is_told_once_and_also_when_it_comes_late(runtime: Runtime) -> None:
    """
    A callable or a pykka ref; watching twice is two.
    """

    class Watcher(pykka.ThreadingActor):
        def on_receive(self, message: Any) -> None:
            probe.tell(message)

    probe, early, late = Probe(), Probe(), Probe()
    host = Watcher.start()
    gate = Gate()
    run = started(runtime, lambda _: gate.wait())
    runtime.watch(run, early.tell)
    runtime.watch(run, host)
    gate.open()
    ended(run)
    events = [early.expect(RunEnded), probe.expect(RunEnded)]
    runtime.watch(run, late.tell)
    events.append(late.expect(RunEnded))
    runtime.tree()
    host.stop()

    assert [run.id] * 3 == [event.run_id for event in events]
    assert [] == early.unread() + late.unread() + probe.unread()


def test_a_watcher_or_subscriber_that_fails_costs_nobody_anything(runtime: Runtime) -> None:
    """
    LIF-7, promise 8: the others are told, and the run does not notice.
    """

    def failing(_: object) -> None:
        raise SystemExit("odd")

    probe = Probe()
    runtime.subscribe(failing)
    runtime.subscribe(probe.tell)
    run = opened(runtime, echo)
    runtime.watch(run, failing)
    assert "fine" == run.ask("fine").get(timeout=PATIENCE).text
    run.dispose().get(timeout=PATIENCE)
    runtime.tree()

    assert run.id == probe.expect(RunStarted).run_id
    assert run.id == probe.expect(RunEnded).run_id


def test_a_subscription_ends_when_it_is_ended(runtime: Runtime) -> None:
    """
    From then on nothing more comes; ending it twice is no error.
    """
    probe = Probe()
    end = runtime.subscribe(probe.tell)
    ended(started(runtime, echo))
    runtime.tree()
    assert isinstance(probe.expect(RunStarted), RunStarted)
    end()
    end()
    ended(started(runtime, echo))
    runtime.tree()

    rest = [type(event) for event in probe.unread()]
    assert rest in ([RunEnded], [])


@pytest.mark.parametrize("closed", [True, False])
def test_a_list_is_a_snapshot(runtime: Runtime, *, closed: bool) -> None:
    """
    LST-17: what happens later does not change it.
    """
    run = opened(runtime, echo)
    tree = runtime.tree()
    if closed:
        run.dispose().get(timeout=PATIENCE)

    assert ["idle"] == [row.state for row in tree]
    assert 1 == len(tree)
