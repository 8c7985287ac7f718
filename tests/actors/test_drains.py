"""A turn that drains waits for the children that it started."""

from __future__ import annotations

from typing import Any

from retinue.actors import Run, Runtime
from retinue.protocol.result import COMPLETED
from tests.actors.behaviours import ended, opened, started
from tests.doubles import PATIENCE, Gate


def blocking(turn: Any) -> None:
    """Wait on a thread until somebody ends the run."""
    turn.sleep(1e9)


def test_a_turn_that_drains_waits_for_its_children(runtime: Runtime) -> None:
    """
    `drain=True`: nothing is abandoned, and the result comes when the last one has ended.
    """
    gate, kids = Gate(), list[Run]()

    def child(turn: Any) -> str:
        gate.wait()
        return str(turn.text)

    def behaviour(turn: Any) -> str:
        kids.extend(turn.start("spawn", text, agent=child) for text in "ab")
        return "done"

    run = started(runtime, behaviour, drain=True)
    while not [row for row in runtime.tree() if row.run_id == run.id and row.state == "draining"]:
        pass
    assert not run.result.is_done
    assert ("children",) == next(r.waits_for for r in runtime.tree() if r.run_id == run.id)
    gate.open()
    result = ended(run)

    assert (True, "done", ()) == (result.is_success, result.text, result.abandoned)
    assert ["a", "b"] == [ended(kid).text for kid in kids]


def test_a_drain_can_be_cancelled(runtime: Runtime) -> None:
    """
    The children are cancelled and named; the parent's own turn had completed (RUN-5).
    """
    kids: list[Run] = []

    def behaviour(turn: Any) -> str:
        kids.append(turn.start("spawn", "x", agent=blocking))
        return "done"

    run = started(runtime, behaviour, drain=True)
    while not [row for row in runtime.tree() if row.run_id == run.id and row.state == "draining"]:
        pass
    run.cancel("enough").get(timeout=PATIENCE)
    result = ended(run)

    assert (COMPLETED, (kids[0].id,)) == (result.stop_reason, result.abandoned)
    assert not result.is_success


def test_a_residents_drained_turn_lets_the_next_wait(runtime: Runtime) -> None:
    """
    The asker hears when the children are through; then the next prompt is worked on.
    """
    gate = Gate()

    def child(_: Any) -> None:
        gate.wait()

    def behaviour(turn: Any) -> str:
        if turn.text == "delegate":
            turn.start("spawn", "x", agent=child)
        return str(turn.text)

    run = opened(runtime, behaviour, drain=True)
    first, second = run.ask("delegate"), run.ask("next")
    assert gate.reached.wait(PATIENCE)
    runtime.tree()
    assert not first.is_done
    assert not second.is_done
    gate.open()

    assert ("delegate", ()) == (
        first.get(timeout=PATIENCE).text,
        first.get(timeout=PATIENCE).abandoned,
    )
    assert "next" == second.get(timeout=PATIENCE).text
