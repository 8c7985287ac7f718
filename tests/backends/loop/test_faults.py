"""Faults at any moment of trees that models work in: nothing is lost, nothing is left."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

import pytest

from retinue.actors import Agent, Limits, Reply, Run, Tool
from retinue.actors.tools import subagent
from retinue.protocol import messages
from retinue.protocol.errors import ModelFailed, Transient
from retinue.protocol.events import RunEnded
from retinue.protocol.log import AssistantMessage
from retinue.protocol.model import Answer, ModelRequest, TextDelta
from retinue.protocol.result import ABORTED, BUDGET, COMPLETED, ERROR, NO_USAGE, TIMEOUT
from retinue.protocol.result import SCHEMA as SCHEMA_MISSED
from tests.actors import faults
from tests.actors.injection import Fault, Program, Trial, try_faults
from tests.backends.loop.models import calls, says

# Virtual seconds that a model takes for an answer.
THINKING: Final = 0.2
SCHEMA: Final = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
DELEGATE: Final = {"description": "part", "prompt": "do the part"}


# What models and tools of one trial share: what is under way, and what the next one raises.
GOING: Final = "going"
BREAKS: Final = "breaks"


@contextmanager
def under_way(trial: Trial, run_id: str) -> Iterator[None]:
    """Note that something is done for a run."""
    going = vars(trial).setdefault(GOING, Counter[str]())
    going[run_id] += 1
    try:
        yield
    finally:
        going[run_id] -= 1


class Thinker:
    """A model that takes a while for each answer, and fails once where a test says so."""

    name = "thinker"

    def __init__(self, trial: Trial, *script: Answer, fails_at: int = 0) -> None:
        self._trial = trial
        self._script = script
        self._fails_at = fails_at

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        """Think, and give the answer of the step."""
        shared = vars(self._trial)
        with under_way(self._trial, request.run_id):
            yield TextDelta("thinking")
            await asyncio.sleep(THINKING)
            if BREAKS in shared:
                raise shared.pop(BREAKS)
            if request.step == self._fails_at:
                self._fails_at = 0
                raise Transient("busy", 0.3)
            yield self._script[min(request.step, len(self._script)) - 1]


def tools_of(trial: Trial) -> list[Any]:
    """Return a tool on the loop, which takes a moment to stop, and one on a thread."""

    async def nap(turn: Any) -> str:
        """Sleep for a while."""
        with under_way(trial, turn.run.id):
            try:
                await asyncio.sleep(1.0)
            finally:
                await asyncio.sleep(0.1)
        return "rested"

    def dig(turn: Any) -> str:
        """Work for a while."""
        with under_way(trial, turn.run.id):
            turn.sleep(0.5)
        return "dug"

    return [Tool("nap", nap, is_concurrent=True), Tool("dig", dig)]


def child_of(trial: Trial) -> Agent:
    """Return a child that uses tools, and is told once to try again."""
    model = Thinker(
        trial,
        calls(("x", "nap", {}), ("y", "nap", {}), ("z", "dig", {})),
        says("the part"),
        fails_at=2,
    )
    return Agent(model=model, tools=tools_of(trial), name="child")


def foreground(trial: Trial) -> None:
    """A model that delegates to another and waits for it."""
    model = Thinker(trial, calls(("a", "subagent", DELEGATE)), says("all done"))
    boss = Agent(model=model, tools=[subagent(agent=child_of(trial))], name="boss")
    trial.start("spawn", "go", agent=boss, cancel=trial.token)


def background(trial: Trial) -> None:
    """A model that delegates twice at once, goes on, and is told how both ended."""
    both = {**DELEGATE, "run_in_background": True}
    model = Thinker(
        trial,
        calls(("a", "subagent", both), ("b", "subagent", both)),
        calls(("c", "nap", {})),
        says("so far"),
        says("all done"),
    )
    tools = [subagent(agent=child_of(trial)), *tools_of(trial)]
    boss = Agent(model=model, tools=tools, name="boss")
    trial.start("spawn", "go", agent=boss, cancel=trial.token, limits=Limits(live=3))


def structured(trial: Trial) -> None:
    """A model that gives a bad result, words alone, and then a good one; so does its child."""
    good = calls(("s", "structured_output", {"n": 1}))
    bad = calls(("r", "structured_output", {"n": "one"}))
    child = Agent(model=Thinker(trial, bad, says("well"), good), name="child", nudges=1)
    delegating = calls(("a", "subagent", DELEGATE), ("b", "nap", {}))
    tools = [subagent(agent=child, output_schema=SCHEMA), *tools_of(trial)]
    model = Thinker(trial, delegating, bad, says("hm"), good)
    boss = Agent(model=model, tools=tools, name="boss", nudges=1)
    trial.start("spawn", "go", agent=boss, cancel=trial.token, output_schema=SCHEMA)


def nested(trial: Trial) -> None:
    """A resident whose sync tool starts a model, which delegates to a third."""
    third = child_of(trial)
    second = Agent(
        model=Thinker(trial, calls(("a", "subagent", DELEGATE)), says("second")),
        tools=[subagent(agent=third)],
        name="second",
    )

    def delegate(turn: Any) -> str:
        """Start a run and wait for it."""
        return str(turn.start("spawn", "deeper", agent=second).result.get().text)

    model = Thinker(trial, calls(("a", "delegate", {})), says("first"))
    limits = Limits(total=10, requests=9)
    reply = trial.open(Agent(model=model, tools=[delegate]), cancel=trial.token, limits=limits)

    def prompt(opened: Reply[Run]) -> None:
        if opened.error is None:
            trial.tell(opened.outcome().ref, "go")

    reply.on_done(prompt)


PROGRAMS: Final[tuple[Program, ...]] = (foreground, background, structured, nested)


def wrap_up_root(trial: Trial) -> None:
    """The root is to finish with what it has."""
    if trial.actors:
        trial.ask(trial.actors[0].ref, messages.WrapUp())


def wrap_up_last(trial: Trial) -> None:
    """The newest run is to finish with what it has."""
    if trial.actors:
        trial.ask(trial.actors[-1].ref, messages.WrapUp())


def steer_root(trial: Trial) -> None:
    """Somebody steers the root."""
    for run in trial.runs[:1]:
        trial.answers.append(cast("Any", run).steer("and quickly"))


def break_model(trial: Trial) -> None:
    """The next answer of any model is something that no model may raise."""
    vars(trial)[BREAKS] = KeyboardInterrupt("from a model")


def fail_model(trial: Trial) -> None:
    """The next request of any model fails for good."""
    vars(trial)[BREAKS] = ModelFailed("gone")


FAULTS: Final[tuple[Fault, ...]] = (
    *faults.FAULTS,
    wrap_up_root,
    wrap_up_last,
    steer_root,
    break_model,
    fail_model,
)
# Those that are tried at every moment of the shortest program.
EVERYWHERE: Final[tuple[Fault, ...]] = (
    faults.cancel_root,
    faults.interrupt_last,
    faults.shut,
    wrap_up_root,
    break_model,
)


def checked(program: Program, injected: Mapping[int, Fault], seed: object = 0) -> Trial:
    """Run one trial, and look at what models leave behind besides."""
    ends: dict[str, RunEnded] = {}

    def watched(trial: Trial) -> None:
        trial.runtime.subscribe(partial(_keep, trial, ends))
        program(trial)

    watched.__name__ = program.__name__
    trial = try_faults(watched, injected, seed)
    for actor in trial.actors:
        if actor.log is not None and actor.ref.run_id in ends:
            check_words(actor, ends[actor.ref.run_id].result)
    for end in ends.values():
        if end.parent_id is None:
            everybody = sum([other.result.usage for other in ends.values()], NO_USAGE)
            assert everybody == end.total_usage
    return trial


def _keep(trial: Trial, ends: dict[str, RunEnded], event: object) -> None:
    if isinstance(event, RunEnded):
        ends[event.run_id] = event
        if vars(trial).get(GOING, {}).get(event.run_id):
            trial.oddities.append(f"{event.run_id} ended, and something goes on for it")


def check_words(actor: Any, result: Any) -> None:
    """Check that a result says what its log says."""
    said = [event for event in actor.log.events() if isinstance(event, AssistantMessage)]
    spent = sum([event.usage for event in said if event.usage is not None], NO_USAGE)
    assert spent == result.usage
    if result.stop_reason != COMPLETED:
        assert result.stop_reason in {ABORTED, ERROR, BUDGET, SCHEMA_MISSED, TIMEOUT}, result


def named(function: Callable[..., Any]) -> str:
    """Name a test's parameter."""
    return function.__name__


@pytest.mark.parametrize("program", PROGRAMS, ids=named)
def test_a_tree_of_models_without_a_fault_ends_and_leaves_nothing(program: Program) -> None:
    """
    The programs themselves are sound, under several orders.
    """
    for seed in range(5):
        ended = checked(program, {}, seed).ended
        assert len(ended) > 1
        assert {COMPLETED} == {result.stop_reason for result in ended.values()}, ended


@pytest.mark.parametrize("fault", EVERYWHERE, ids=named)
def test_a_fault_at_every_moment_of_a_delegation_leaves_nothing(fault: Fault) -> None:
    """
    LOG-14, LOG-23, RUN-5, RUN-6, H85: whoever stops it, and whatever a model raises.
    """
    moment = 1
    while checked(foreground, {moment: fault}).injected:
        moment += 1
    assert moment > 20


@pytest.mark.parametrize("batch", range(5))
def test_up_to_three_faults_in_trees_of_models_leave_nothing(batch: int) -> None:
    """
    The same in deeper trees, in other orders, with faults that meet.
    """
    for seed in range(batch * 20, (batch + 1) * 20):
        drawn = random.Random(seed)
        program = drawn.choice(PROGRAMS)
        moments = drawn.sample(range(1, 150), drawn.randint(1, 3))
        checked(program, {moment: drawn.choice(FAULTS) for moment in moments}, seed)
