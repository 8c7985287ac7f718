"""Whoever disposed of a run and has the answer knows that everybody has been told of its end."""

from __future__ import annotations

import pytest

from retinue.actors import Runtime
from retinue.protocol.events import RunEnded
from tests.actors.behaviours import echo, opened
from tests.actors.budgets import virtual
from tests.doubles import PATIENCE


@pytest.mark.parametrize("seed", range(20))
def test_a_dispose_is_answered_when_the_ends_have_been_told(seed: int) -> None:
    """
    Its own and those of everything below it, in whatever order things move.
    """
    told: list[str] = []
    with virtual(seed) as runtime:
        runtime.subscribe(
            lambda event: told.append(event.run_id) if isinstance(event, RunEnded) else None
        )
        root = opened(runtime, echo)
        children = [opened(runtime, echo, parent=root) for _ in range(3)]
        root.dispose().get()

        assert root.id == told[-1]
        assert {root.id, *[child.id for child in children]} == set(told)


def test_a_dispose_of_what_has_ended_is_answered_after_the_runtime_too() -> None:
    """
    It has nothing left, and nobody is left to be told.
    """
    with Runtime() as runtime:
        run = opened(runtime, echo)

    assert run.dispose().get(timeout=PATIENCE)
