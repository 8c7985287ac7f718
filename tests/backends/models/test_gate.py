"""The gate before a model: who waits, how long, when it is given up, and what counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random
from typing import Any, cast

import pytest

from retinue.actors import Agent, DeterministicDispatcher, RunResult, Runtime, agent
from retinue.backends._inprocess.asking import TRIES
from retinue.backends._inprocess.gate import (
    BACK_OFF,
    LONGEST_BACK_OFF,
    LONGEST_SPREAD,
    SPREAD,
    Gate,
)
from retinue.backends.models.scripted import Reply, ScriptedModel
from retinue.protocol.content import Reasoning, Text
from retinue.protocol.errors import (
    ContextOverflow,
    ModelFailed,
    ModelRefused,
    StartFailed,
    Transient,
)
from retinue.protocol.log import AssistantMessage, Retried
from retinue.protocol.model import ModelRequest
from retinue.protocol.provider import Workplace
from retinue.protocol.result import Usage

Times = list[float]
CHILDREN = 10


@pytest.fixture(name="dispatcher")
def make_dispatcher() -> DeterministicDispatcher:
    """Give a dispatcher whose time is virtual."""
    return DeterministicDispatcher(0)


@pytest.fixture(name="runtime")
def make_runtime(dispatcher: DeterministicDispatcher) -> Iterator[Runtime]:
    """Give a runtime on it, and close it."""
    with Runtime(dispatcher=dispatcher) as runtime:
        yield runtime


def timed(times: Times, reply: Callable[[int], Any], name: str = "busy") -> ScriptedModel:
    """Make a model that notes when it is asked; *reply* takes the number of the request."""

    def answer(_: ModelRequest) -> Any:
        times.append(asyncio.get_running_loop().time())
        return reply(len(times))

    return ScriptedModel(answer, name=name)


def busy(retry_after: float | None = None) -> Reply:
    """Make a reply that fails and may not the next time."""
    return Reply(raises=Transient("busy", retry_after))


def answered(runtime: Runtime, model: ScriptedModel, **options: Any) -> RunResult:
    """Return the result of one run."""
    working = Agent(model=model)
    return runtime.start("spawn", "go", agent=working, options=options).get().result.get()


@pytest.mark.parametrize("seed", range(5))
def test_ten_children_that_hit_a_limit_wait_and_come_back_apart(seed: int) -> None:
    """H76: ten children, a 429 with Retry-After 2: silence for 2 s, and no common beat then."""
    times: Times = []
    model = timed(times, lambda number: busy(2.0) if times[number - 1] < 2.0 else "done")

    with Runtime(dispatcher=DeterministicDispatcher(seed)) as runtime:
        runs = [runtime.start("spawn", "go", agent=Agent(model=model)) for _ in range(CHILDREN)]
        results = runtime.wait(runs).get()

    assert ["done"] * CHILDREN == [result.text for result in results]
    # Some are held back before their first request: the gate closes as soon as it is told to.
    later = [time for time in times if time > 0.0]
    assert len(times) > CHILDREN == len(later)
    assert 2.0 <= min(later) <= max(later) <= 2.0 + CHILDREN * SPREAD
    assert CHILDREN == len({round(time, 3) for time in later})
    assert max(later) - min(later) > SPREAD


class Crowd:
    """A workplace of many that wait at one gate: time passes when all of them do."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.sleeps: Times = []
        self.random = Random(0)
        self._all_wait = asyncio.Event()

    def now(self) -> float:
        """Return a time before all wait, and one long after."""
        return 1e9 if self._all_wait.is_set() else 0.0

    async def sleep(self, seconds: float) -> None:
        """Note how long somebody would sleep."""
        self.sleeps.append(seconds)
        if len(self.sleeps) == self.size:
            self._all_wait.set()
        await self._all_wait.wait()


def test_a_crowd_is_spread_over_a_minute_and_no_longer() -> None:
    """H76: of ten thousand children none waits a quarter of an hour for the others' sake."""

    async def wait() -> Times:
        crowd, gate = Crowd(10_000), Gate()
        workplace = cast("Workplace", crowd)
        gate.close(Transient("busy", 2.0), 1, workplace)
        await asyncio.gather(*[gate.passed(workplace) for _ in range(crowd.size)])
        return crowd.sleeps

    sleeps = asyncio.run(wait())

    assert 2.0 <= min(sleeps) <= max(sleeps) <= 2.0 + LONGEST_SPREAD
    assert max(sleeps) > LONGEST_SPREAD


def test_who_comes_while_the_gate_is_closed_waits_like_those_who_were_told(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """H76: the limit is the model's, not the child's; another model's children go on."""
    times: Times = []
    model = timed(times, lambda number: busy(5.0) if number == 1 else "done")
    other = ScriptedModel(lambda _: "free", name="other")

    @agent
    async def parent(turn: Any) -> float:
        told = await turn.start("spawn", "go", agent=Agent(model=model))
        await turn.sleep(1)
        late = await turn.start("spawn", "go", agent=Agent(model=model))
        free = await turn.start("spawn", "go", agent=Agent(model=other))
        await free.result
        freed = dispatcher.clock.now()
        await turn.wait([told, late])
        return freed

    result = runtime.start("spawn", "go", agent=parent).get().result.get()

    assert 1.0 == result.structured
    assert 3 == len(times)
    assert all(time >= 5.0 for time in times[1:])


def test_a_shorter_wait_does_not_open_a_gate_that_is_closed_for_longer(runtime: Runtime) -> None:
    """The longest that was asked for counts."""
    times: Times = []
    waits = [8.0, 1.0]

    async def answer(_: ModelRequest) -> Any:
        number = len(times)
        times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1)  # so that both are under way before either fails
        return busy(waits[number]) if number < len(waits) else "done"

    model = ScriptedModel(answer)
    runs = [runtime.start("spawn", "go", agent=Agent(model=model)) for _ in range(2)]
    runtime.wait(runs).get()

    assert [0.0, 0.0] == times[:2]
    assert all(time >= 9.0 for time in times[2:])


def test_without_a_time_to_come_back_waits_grow(runtime: Runtime) -> None:
    """Each is twice the one before, give or take half of it, up to a longest one."""
    times: Times = []
    tries = 12
    model = timed(times, lambda number: busy() if number < tries else "done")

    assert "done" == answered(runtime, model, tries=tries).text
    for number, (before, after) in enumerate(pairwise(times)):
        wait = min(BACK_OFF * 2**number, LONGEST_BACK_OFF)
        assert wait * 0.5 <= after - before <= wait * 1.5 + SPREAD
    assert tries == len(times)


def test_after_so_many_requests_it_is_given_up(runtime: Runtime) -> None:
    """The error names the model and the last problem; each request is in the usage."""
    times: Times = []

    result = answered(runtime, timed(times, lambda _: busy(1.0)))

    assert TRIES == len(times)
    assert "error" == result.stop_reason
    assert f"busy: no answer after {TRIES} requests: busy" == result.diagnostic
    assert Usage(requests=TRIES) == result.usage


def test_the_option_tries_says_how_many(runtime: Runtime) -> None:
    """With one there is no second request."""
    times: Times = []

    assert "error" == answered(runtime, timed(times, lambda _: busy(1.0)), tries=1).stop_reason
    assert [0.0] == times


@pytest.mark.parametrize("tries", [0, -1, 1.5, "6", True, None])
def test_what_is_no_number_of_tries_refuses_the_start(runtime: Runtime, tries: Any) -> None:
    """Before anything is asked."""
    with pytest.raises(StartFailed, match="option tries: expected a whole number from 1"):
        answered(runtime, ScriptedModel([]), tries=tries)


@pytest.mark.parametrize("error", [ContextOverflow("long"), ModelRefused("no"), ModelFailed("no")])
def test_what_would_fail_again_is_not_sent_again(runtime: Runtime, error: ModelFailed) -> None:
    """One request, which counts."""
    result = answered(runtime, ScriptedModel([Reply(raises=error)]))

    assert str(error) == result.diagnostic
    assert Usage(requests=1) == result.usage


def test_what_a_failed_stream_said_does_not_count(runtime: Runtime) -> None:
    """LOG-21: the message holds its own text alone; the log says that it was sent again."""
    lost = Reply("lost", raises=Transient("gone", 1.0))
    run = runtime.start("spawn", "go", agent=Agent(model=ScriptedModel([lost, "kept"]))).get()

    assert "kept" == run.result.get().text
    said = [event for event in run.transcript() if isinstance(event, AssistantMessage)]
    assert [(), (Text("kept"),)] == [event.content for event in said]
    [retried] = [event for event in run.transcript() if isinstance(event, Retried)]
    assert "gone" == retried.problem
    assert 2 == run.result.get().usage.requests


def test_a_cancel_at_the_gate_ends_at_once(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """Nobody waits out a wait for the sake of a run that is over; what was lost stays lost."""
    model = ScriptedModel([Reply("lost", raises=Transient("busy", 3600.0))])

    @agent
    async def parent(turn: Any) -> list[Any]:
        child = await turn.start("spawn", "go", agent=Agent(model=model))
        await turn.sleep(1)
        child.cancel("enough")
        result = await child.result
        return [result.stop_reason, result.text, dispatcher.clock.now()]

    result = runtime.start("spawn", "go", agent=parent).get().result.get()

    assert ["aborted", "", 1.0] == result.structured


class Slow:
    """A model that thinks and speaks, and then takes an hour."""

    name = "slow"

    def __init__(self, *replies: Reply) -> None:
        self._model = ScriptedModel([*replies])

    async def stream(self, request: ModelRequest) -> Any:
        """Stream what the script says, and hang before the answer."""
        async for piece in self._model.stream(request):
            if type(piece).__name__ == "Answer":
                await asyncio.sleep(3600)
            yield piece


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        (Reply("half", "hm"), (Reasoning("hm"), Text("half"))),
        (Reply(calls=[{"name": "look"}], is_unoffered=True), ()),
    ],
    ids=["visible", "nothing-visible"],
)
def test_a_cancelled_stream_keeps_what_was_visible_and_counts(
    runtime: Runtime, reply: Reply, content: Any
) -> None:
    """LOG-22: text and reasoning are kept, a call that is half there is not."""

    @agent
    async def parent(turn: Any) -> None:
        child = await turn.start("spawn", "go", agent=Agent(model=Slow(reply)))
        await turn.sleep(1)
        child.cancel("enough")
        runs.append(child)
        await child.result

    runs: list[Any] = []
    runtime.start("spawn", "go", agent=parent).get().result.get()

    [child] = runs
    said = [event for event in child.transcript() if isinstance(event, AssistantMessage)]
    assert [content] == [event.content for event in said]
    assert 1 == child.result.get().usage.requests
    assert all(event.interrupted for event in said if event.content)
