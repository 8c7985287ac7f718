"""Ways of starting a run, as small programs; at every moment of each a fault can strike."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from retinue.actors import Agent, Limits, Run, agent
from tests.actors.injection import Program, Trial

# Virtual seconds that work takes, many times what an end may take.
WORK: Final = 10.0

Steps = Generator[Any, Any, Any]


@agent
def worker(turn: Any) -> Steps:
    """Take a while and answer."""
    turn.say("begun")
    yield turn.sleep(WORK)
    yield from turn.step()
    return "done"


@agent
def thread_worker(turn: Any) -> str:
    """Take a while on a thread."""
    turn.sleep(WORK)
    turn.step()
    return "done"


@agent
async def loop_worker(turn: Any) -> str:
    """Take a while on the loop."""
    try:
        await turn.sleep(WORK)
        await turn.step()
    finally:
        turn.number  # noqa: B018 - a clean-up
    return "done"


def parent_of(
    trial: Trial, provider: str = "spawn", child: Agent = worker, **options: Any
) -> Agent:
    """Make an agent that starts one child and gives its answer."""

    @agent
    def parent(turn: Any) -> Steps:
        del turn
        start = trial.start(provider, "part", agent=child, cancel=trial.token, **options)
        run: Run = yield from start
        result = yield from run.result
        return result.text

    return parent


def lone(trial: Trial) -> None:
    """A root."""
    trial.start("spawn", "work", agent=worker, cancel=trial.token)


def under_generator(trial: Trial) -> None:
    """A child of a generator."""
    trial.start("spawn", "work", agent=parent_of(trial))


def under_thread(trial: Trial) -> None:
    """A child of a plain function."""

    @agent
    def parent(turn: Any) -> str:
        del turn
        run = trial.start("spawn", "part", agent=thread_worker, cancel=trial.token).get()
        return run.result.get().text

    trial.start("spawn", "work", agent=parent)


def under_coroutine(trial: Trial) -> None:
    """A child of a coroutine."""

    @agent
    async def parent(turn: Any) -> str:
        del turn
        run = await trial.start("spawn", "part", agent=loop_worker, cancel=trial.token)
        return (await run.result).text

    trial.start("spawn", "work", agent=parent)


def forked(trial: Trial) -> None:
    """A fork in the second turn of a resident."""

    @agent
    def parent(turn: Any) -> Steps:
        if turn.text == "first":
            return "noted"
        run: Run = yield from trial.start("fork", "part", agent=worker, cancel=trial.token)
        result = yield from run.result
        return result.text

    trial.open(parent, prompt="first").on_done(_tell_second)


def _tell_second(reply: Any) -> None:
    if reply.error is None:
        reply.outcome().tell("second")


def slow(trial: Trial) -> None:
    """A child whose provider takes a while to open it."""
    trial.start("spawn", "work", agent=parent_of(trial, "slow"))


def stuck(trial: Trial) -> None:
    """Children whose provider never opens them, one of a turn and one of the run."""

    @agent
    def parent(turn: Any) -> Steps:
        limits = Limits(start=2 * WORK)
        for background in (False, True):
            trial.start("stuck", "part", agent=worker, limits=limits, background=background)
        yield turn.sleep(WORK)
        return "returned"

    trial.start("spawn", "work", agent=parent, cancel=trial.token)


def tardy(trial: Trial) -> None:
    """A child whose driver does everything late."""
    trial.start("spawn", "work", agent=parent_of(trial, "tardy"))


STARTS: Final[tuple[Program, ...]] = (
    lone,
    under_generator,
    under_thread,
    under_coroutine,
    forked,
    slow,
    stuck,
    tardy,
)
