"""Programs that do more than start one run; faults strike them at random moments."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import pykka

from retinue.actors import Limits, Run, agent
from retinue.protocol.errors import RetinueError
from tests.actors.injection import Program, Trial
from tests.actors.starts import (
    STARTS,
    WORK,
    Steps,
    loop_worker,
    parent_of,
    thread_worker,
    worker,
)


def lone_thread(trial: Trial) -> None:
    """A root that blocks."""
    trial.start("spawn", "work", agent=thread_worker, cancel=trial.token)


def lone_coroutine(trial: Trial) -> None:
    """A root on the loop."""
    trial.start("spawn", "work", agent=loop_worker, cancel=trial.token)


def broken(trial: Trial) -> None:
    """A child that its provider fails to open, after a while."""
    trial.start("spawn", "work", agent=parent_of(trial, "broken"))


def crowded(trial: Trial) -> None:
    """Three children where there is room for one at a time."""

    @agent
    def parent(turn: Any) -> Steps:
        starts = [trial.start("spawn", "part", agent=worker, cancel=trial.token) for _ in range(3)]
        outcomes = yield from turn.wait(starts)
        return str(len(outcomes))

    limits = Limits(live=2, queue=True)
    trial.start("spawn", "work", agent=parent, limits=limits)


def drained(trial: Trial) -> None:
    """A turn that returns at once and waits for its children; one belongs to the run."""

    @agent
    def parent(turn: Any) -> Steps:
        del turn
        trial.start("spawn", "part", agent=worker, cancel=trial.token)
        trial.start("slow", "part", agent=worker, cancel=trial.token, background=True)
        return "returned"
        yield

    trial.start("spawn", "work", agent=parent, drain=True)


def abandoned(trial: Trial) -> None:
    """A turn that returns while its children are still being started."""

    @agent
    def parent(turn: Any) -> Steps:
        for provider in ("spawn", "slow", "tardy"):
            trial.start(provider, "part", agent=worker, cancel=trial.token)
            yield from turn.step()
        return "returned"

    trial.start("spawn", "work", agent=parent)


def asked(trial: Trial) -> None:
    """A resident child that is asked twice."""

    @agent
    def partner(turn: Any) -> Steps:
        yield turn.sleep(WORK)
        return turn.text

    @agent
    def parent(turn: Any) -> Steps:
        run: Run = yield from trial.open(partner, name="partner", cancel=trial.token)
        first = yield from turn.ask(run, "one")
        second = yield from turn.ask(run, "two")
        return first.text + second.text

    trial.start("spawn", "work", agent=parent)


def deep(trial: Trial) -> None:
    """Every kind below every other."""

    @agent
    async def middle(turn: Any) -> str:
        del turn
        run = await trial.start("spawn", "part", agent=thread_worker, cancel=trial.token)
        return (await run.result).text

    @agent
    def upper(turn: Any) -> str:
        del turn
        run = trial.start("slow", "part", agent=middle).get()
        return run.result.get().text

    trial.start("spawn", "work", agent=parent_of(trial, "spawn", upper))


def late(trial: Trial) -> None:
    """Behaviours that go on starting children when they were told to stop."""

    @agent
    async def stubborn_coroutine(turn: Any) -> str:
        try:
            await turn.sleep(WORK)
        finally:
            trial.start("spawn", "clean up", agent=worker, cancel=trial.token)
        return "done"

    @agent
    def stubborn(turn: Any) -> str:
        for provider in ("spawn", "slow"):
            with suppress(RetinueError, pykka.ActorDeadError):
                trial.start(provider, "part", agent=stubborn_coroutine).get()
                turn.sleep(0.3)
        return "done"

    trial.start("spawn", "work", agent=stubborn, cancel=trial.token)


def steered(trial: Trial) -> None:
    """A resident that is prompted, steered, injected into and asked, all at once."""

    @agent
    def partner(turn: Any) -> Steps:
        notes = yield from turn.step()
        yield turn.sleep(0.1)
        notes += yield from turn.step()
        return " ".join(note.text for note in notes)

    def send(reply: Any) -> None:
        if reply.error is None:
            run = reply.outcome()
            for verb in ("tell", "steer", "ask", "inject", "steer", "tell"):
                trial.answers.append(getattr(run, verb)(verb))

    trial.open(partner, cancel=trial.token).on_done(send)


def reporting(trial: Trial) -> None:
    """Background children that report to a resident, which hears of their ends."""

    @agent
    def reporter(turn: Any) -> Steps:
        yield from turn.report("half done")
        yield turn.sleep(0.2)
        return "done"

    @agent
    def parent(turn: Any) -> Steps:
        if len(trial.starts) < 4:
            trial.start("spawn", "part", agent=reporter, background=True, cancel=trial.token)
        yield from turn.call(int)
        return turn.text

    trial.open(parent, prompt="work")


def timed(trial: Trial) -> None:
    """Children that have too little time, to open and to work."""

    @agent
    def parent(turn: Any) -> Steps:
        starts = [
            trial.start("slow", "part", agent=worker, limits=Limits(start=0.2)),
            trial.start("slow", "part", agent=worker, deadline=0.3, cancel=trial.token),
            trial.start("tardy", "part", agent=worker, deadline=0.6),
        ]
        outcomes = yield from turn.wait(starts, 2)
        return str(len(outcomes))

    trial.start("spawn", "work", agent=parent, deadline=3)


PROGRAMS: Final[tuple[Program, ...]] = (
    *STARTS,
    lone_thread,
    lone_coroutine,
    broken,
    crowded,
    drained,
    abandoned,
    asked,
    deep,
    late,
    steered,
    reporting,
    timed,
)
