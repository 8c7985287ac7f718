"""Cancels that meet a start, at every place that a start passes; each order is written down."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

import pytest

from retinue.actors import Cancellation, Run, Runtime, agent
from retinue.protocol.errors import Closing, InvalidRequest, StartCancelled
from retinue.protocol.events import RunStarted
from retinue.protocol.log import Cause, Ending
from retinue.protocol.messages import Cancel
from retinue.protocol.result import ABORTED
from tests.actors.by_hand import ByHand, Stage, stage
from tests.doubles import PATIENCE

Steps = Generator[Any, Any, Any]
SEEDS = range(60)
CANCEL = Cancel("no longer wanted")


@agent
def quick(_: Any) -> Steps:
    """Answer at once."""
    return "quick"
    yield


@pytest.fixture(name="here")
def make_stage() -> Iterator[Stage]:
    """Give a stage."""
    with stage() as made:
        yield made


class LateToken(Cancellation):
    """A token that takes a listener when everything that was sent before has happened."""

    runtime: Runtime

    def listen(self, listener: Callable[[str], None]) -> None:
        """Ask the registry, which stands behind what was sent, then listen."""
        self.runtime.tree()
        super().listen(listener)


def test_a_tripped_token_starts_nothing() -> None:
    """
    VAL-4: refused before anything exists, on threads as well, where nobody waits for it.
    """
    events: list[Any] = []
    with Runtime() as runtime:
        token = LateToken()
        token.runtime = runtime
        token.cancel("changed my mind")
        runtime.subscribe(events.append)
        start = runtime.start("spawn", "go", agent=quick, cancel=token)
        with pytest.raises(StartCancelled, match="changed my mind"):
            start.get(timeout=PATIENCE)
        runtime.tree()

    assert [] == events


def test_a_token_of_the_wrong_kind_starts_nothing(here: Stage) -> None:
    """
    Every refusal is in the Reply, and comes before there is anything to roll back.
    """
    start = here.runtime.start("hand", "go", cancel="now")  # type: ignore[arg-type]
    here.settle()

    assert isinstance(start.error, InvalidRequest)
    assert [] == here.hand.drivers


def test_a_token_that_trips_behind_the_call_leaves_no_trace() -> None:
    """
    VAL-5: nobody hears of a run, at the root and below, under any order.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            parent, _ = here.start()
            here.events.clear()
            token = Cancellation()
            starts = [
                here.runtime.start("hand", "go", cancel=token),
                here.runtime.start("hand", "go", cancel=token, parent=parent),
            ]
            token.cancel()
            here.settle()

            assert [StartCancelled] * 2 == [type(start.error) for start in starts]
            assert [] == here.events
            assert 1 == len(here.hand.drivers)
            here.hand.drivers[0].end()


@pytest.mark.parametrize("below", [False, True], ids=["root", "child"])
def test_a_token_that_trips_when_the_run_is_announced_is_no_failed_start(*, below: bool) -> None:
    """
    VAL-6, RUN-4: there is a run with an id; it ends aborted and never sees its prompt.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            parent = here.start()[0] if below else None
            token = Cancellation()
            here.runtime.subscribe(
                lambda event, token=token: isinstance(event, RunStarted) and token.cancel()
            )
            run = here.runtime.start("hand", "go", cancel=token, parent=parent).get()
            result = run.result.get()

            assert (ABORTED, ()) == (result.stop_reason, result.output)
            assert [] == here.hand.drivers[-1].turns
            assert run.dispose().get() is True
            if below:
                here.hand.drivers[0].end()


def test_a_token_that_trips_in_the_turn_aborts_it_for_the_parents_cause(here: Stage) -> None:
    """
    RUN-4: the log says aborted, and by whom.
    """
    token = Cancellation()
    _, driver = here.start(cancel=token)
    token.cancel()
    here.settle()
    assert [Cause.PARENT] == driver.stops


@pytest.mark.parametrize("kind", ["cancel", "dispose"])
def test_a_start_under_a_parent_that_is_being_disposed_of_is_refused(
    here: Stage, kind: str
) -> None:
    """
    VAL-8: no orphan, and no word of it.
    """
    here.hand = ByHand("late", closes=False)
    here.runtime.register(here.hand).get()
    parent, driver = here.start()
    getattr(parent, kind)()
    here.settle()
    starts = [here.runtime.start("hand", "go", parent=parent)]
    here.settle()
    driver.end()
    here.settle()
    starts.append(here.runtime.start("hand", "go", parent=parent))
    here.settle()
    driver.closed()
    here.settle()
    starts.append(here.runtime.start("hand", "go", parent=parent))

    assert [Closing] * 3 == [type(start.error) for start in starts]
    assert ["RunStarted", "RunEnded"] == here.life


ENDS: dict[str, Callable[[Run], object]] = {
    "cancel": Run.cancel,
    "dispose": Run.dispose,
    "stop": lambda run: run.ref.stop(block=False),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_parent_that_ends_while_its_child_is_opened_takes_the_start_back(
    here: Stage, end: Callable[[Run], object]
) -> None:
    """
    VAL-8b, RUN-2: the start is refused at once, all is rolled back, and nobody hears of it.
    """
    slow = here.quietly("slow")
    parent, driver = here.start()
    start = here.runtime.start("slow", "go", parent=parent)
    here.settle()
    rolled_back: list[bool] = []
    registry: Any = here.runtime.registry
    start.on_done(lambda _: rolled_back.append(not registry.actor.opening))
    end(parent)
    here.settle()

    assert isinstance(start.error, StartCancelled)
    assert [True] == rolled_back
    assert ["RunStarted"] == here.life
    driver.end()
    here.settle()
    assert ["RunStarted", "RunEnded"] == here.life
    slow.doors["go"].resolve()
    here.settle()
    assert ([], 1) == (slow.drivers[0].turns, slow.drivers[0].closes)
    assert ["RunStarted", "RunEnded"] == here.life


def test_a_cancel_that_overtakes_the_opened_driver_closes_it(here: Stage) -> None:
    """
    The driver stands in the mailbox of a run that a cancel has just ended.
    """
    slow = here.quietly("slow")
    start = here.runtime.start("slow", "go")
    here.settle()
    registry: Any = here.runtime.registry
    [opening] = registry.actor.opening.values()
    here.dispatcher.inject(here.dispatcher.steps + 2, partial(opening.ref.tell, CANCEL))
    slow.doors["go"].resolve()
    here.settle()

    assert isinstance(start.error, StartCancelled)
    assert [1] == [driver.closes for driver in slow.drivers]
    assert [] == here.events


def test_a_cancel_that_overtakes_the_admission_leaves_no_orphan() -> None:
    """
    Design 3.2: the start stands in the registry's mailbox when its parent is cancelled.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            parent, driver = here.start()
            start = here.runtime.start("hand", "go", parent=parent)
            steps = here.dispatcher.steps
            here.dispatcher.inject(steps + 2, partial(parent.ref.tell, CANCEL))
            here.settle()
            admitted = [line for line in here.dispatcher.trace[steps:] if "Delegate" in line]
            assert [f"{parent.ref.number} Delegate"] == admitted
            driver.end()
            here.settle()

            assert isinstance(start.error, StartCancelled)
            for child in here.hand.drivers[1:]:
                assert len(child.turns) == len(child.stops)
                child.end(Ending.ABORTED) if child.turns else None
            here.settle()
            assert here.life[-1] == "RunEnded"
            assert here.life.count("RunStarted") == here.life.count("RunEnded")
