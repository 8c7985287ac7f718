"""Providers that come, go and fail while starts are under way, and the order of what is told."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import pytest

from retinue.actors import DeterministicDispatcher, Limits, Reply, Runtime, agent
from retinue.protocol.errors import NoProvider, StartCancelled, StartFailed, StartTimeout
from retinue.protocol.events import RunEnded, RunStarted
from retinue.protocol.messages import DeadlinePassed, Opened
from retinue.protocol.result import COMPLETED
from tests.actors.by_hand import ByHand, HandDriver, Stage, stage
from tests.doubles import PATIENCE

Steps = Generator[Any, Any, Any]


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


@pytest.mark.parametrize("kind", [DeterministicDispatcher, None], ids=["deterministic", "threads"])
def test_a_run_that_settles_at_once_starts_before_it_ends(kind: Any) -> None:
    """
    RUN-18, LIF-3: whoever watches sees the start first, and the starter gets a run with a result.
    """
    events: list[Any] = []
    with Runtime(dispatcher=None if kind is None else kind(5)) as runtime:
        runtime.subscribe(events.append)
        runs = [runtime.start("spawn", "go", agent=quick).get(timeout=PATIENCE) for _ in range(50)]
        outcomes = runtime.wait(runs).get(timeout=PATIENCE)
        assert ["quick"] * 50 == [outcome.text for outcome in outcomes]
        for run in runs:
            run.dispose().get(timeout=PATIENCE)

    order = {run.id: [type(e) for e in events if e.run_id == run.id] for run in runs}
    assert [[RunStarted, RunEnded]] * 50 == list(order.values())


def test_a_run_outlives_the_registration_of_its_provider(here: Stage) -> None:
    """
    REG-14: it works on, is steered and disposed of; only new starts are refused.
    """
    provider = ByHand("leaving")
    remove = here.runtime.register(provider).get()
    here.hand = provider
    run, driver = here.start()
    assert remove() is True

    steer = run.steer("still there?")  # type: ignore[attr-defined]
    driver.step()
    here.settle()
    assert (1, 2) == (steer.get().turn, steer.get().step)
    with pytest.raises(NoProvider):
        here.runtime.start("leaving", "go").get()
    driver.end()
    assert COMPLETED == run.result.get().stop_reason
    assert run.dispose().get() is True


def test_a_start_that_a_removal_overtook_never_reaches_the_provider(here: Stage) -> None:
    """
    REG-15: the registry looks when it admits, and not before.
    """
    provider = ByHand("leaving")
    remove = here.runtime.register(provider).get()
    parent, driver = here.start()
    start = here.runtime.start("leaving", "go", parent=parent)
    remove()
    here.settle()

    assert isinstance(start.error, NoProvider)
    assert [] == provider.drivers
    driver.end()


def test_a_start_under_way_survives_the_removal_of_its_provider(here: Stage) -> None:
    """
    REG-14: what was admitted is opened, since ownership has passed.
    """
    provider = ByHand("leaving", at_once=False)
    remove = here.runtime.register(provider).get()
    start = here.runtime.start("leaving", "go")
    here.settle()
    remove()
    provider.doors["go"].resolve()

    run = start.get()
    here.settle()
    provider.drivers[0].end()
    assert COMPLETED == run.result.get().stop_reason


def test_one_start_that_is_parked_and_cancelled_delays_no_other(here: Stage) -> None:
    """
    REG-16: starts on one provider share nothing.
    """
    provider = here.quietly("slow")
    parked, other = (here.runtime.start("slow", name) for name in ("parked", "other"))
    here.settle()
    provider.doors["other"].resolve()
    run = other.get()
    here.settle()
    parked.abandon()
    here.settle()

    assert isinstance(parked.error, StartCancelled)
    assert ["other"] == provider.drivers[0].texts
    provider.drivers[0].end()
    assert COMPLETED == run.result.get().stop_reason
    provider.doors["parked"].resolve()


@pytest.mark.parametrize("at_once", [True, False])
def test_a_provider_that_fails_to_open_leaves_no_trace(here: Stage, *, at_once: bool) -> None:
    """
    LIF-6, LIF-13: no edge is told, name and places are free again, the cause is kept.
    """

    class Failing(ByHand):
        def open(self, order: Any, workplace: Any) -> Any:
            raise OSError("no such program")

    here.runtime.register(Failing("failing", at_once=at_once)).get()
    limits = Limits(live=1, total=1)
    parent, driver = here.start(limits=Limits(live=2, total=2))
    here.events.clear()
    for _ in range(3):
        start = here.runtime.open(None, provider="failing", name="same", parent=parent)
        with pytest.raises(StartFailed, match="no such program") as caught:
            start.get()
        assert isinstance(caught.value.__cause__, OSError)

    assert [] == here.events
    fine = here.runtime.open(None, provider="hand", name="same", parent=parent, limits=limits).get()
    fine.dispose()
    driver.end()


def test_a_provider_that_never_opens_has_its_time_and_no_more(here: Stage) -> None:
    """
    H16: the start is refused then, everything is rolled back, and a late driver closed.
    """
    provider = here.quietly("slow")

    with pytest.raises(StartTimeout):
        here.runtime.start("slow", "go", limits=Limits(start=1)).get()

    assert 1 == here.dispatcher.clock.now()
    assert [] == here.events
    provider.doors["go"].resolve()
    here.settle()
    assert 1 == provider.drivers[0].closes


def test_a_start_that_waits_for_room_has_its_time_and_no_more() -> None:
    """
    H16, H48: others that come and go before it do not begin its time anew.
    """

    @agent
    def busy(turn: Any) -> Steps:
        yield turn.sleep(0.8)

    with stage(limits=Limits(live=1, queue=True)) as here:
        starts: list[Reply[Any]] = [
            here.runtime.start("spawn", "go", agent=busy),
            here.runtime.start("spawn", "go", agent=busy),
            here.runtime.start("spawn", "go", agent=busy, limits=Limits(start=1)),
        ]
        with pytest.raises(StartTimeout):
            starts[2].get()

        assert 1 == here.dispatcher.clock.now()
        assert all(outcome.is_success for outcome in here.runtime.wait(starts[:2]).get())


def test_an_opened_run_is_not_refused_for_the_time_that_it_took_to_be_announced() -> None:
    """
    The limit is on opening: what has opened in time is a run, and works.
    """
    for seed in range(20):
        with stage(seed) as here:
            provider = here.quietly("slow")
            start = here.runtime.start("slow", "go", limits=Limits(start=1))
            here.settle()
            provider.doors["go"].resolve()
            registry: Any = here.runtime.registry
            [opening] = registry.actor.opening.values()
            late = partial(opening.ref.tell, DeadlinePassed("start"))
            here.dispatcher.inject(here.dispatcher.steps + 3, late)
            run = start.get()
            here.settle()

            assert ["go"] == provider.drivers[0].texts
            provider.drivers[0].end()
            assert COMPLETED == run.result.get().stop_reason


def test_a_driver_that_is_reported_twice_is_closed_again(here: Stage) -> None:
    """
    A run has one driver; what comes later is closed and costs the first nothing.
    """
    run, driver = here.start()
    second = HandDriver(driver.workplace, closes=False)
    driver.workplace.report(Opened(second))
    here.settle()
    driver.end()

    assert COMPLETED == run.result.get().stop_reason
    assert (1, []) == (second.closes, second.turns)
