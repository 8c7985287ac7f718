"""Parallel starts share what is left of a limit; in whatever order, none takes too much."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from retinue.actors import Agent, Cancellation, Limits, Run, Runtime
from retinue.backends.models.scripted import ScriptedModel
from retinue.backends.scripted import Return, Scripted
from retinue.protocol.errors import LimitReached, StartCancelled, StartFailed
from retinue.protocol.model import ModelRequest
from retinue.protocol.provider import OpenOrder, Workplace
from retinue.protocol.result import BUDGET, COMPLETED, MAX_TURNS, Usage
from tests.actors.behaviours import Steps, echo, opened, started
from tests.actors.budgets import ONE, virtual, working
from tests.doubles import PATIENCE

SEEDS = pytest.mark.parametrize("seed", range(40))


def fanning(agents: list[Agent], outcomes: list[Any]) -> Any:
    """Return a generator that starts all at once, and notes what became of each."""

    def behaviour(turn: Any) -> Steps:
        replies = [turn.start("spawn", "go", agent=agent) for agent in agents]
        for reply in replies:
            try:
                run = yield from reply
            except LimitReached as error:
                outcomes.append(error)
            else:
                outcomes.append((yield from run.result))

    return behaviour


@SEEDS
@pytest.mark.parametrize("limits", [Limits(turns=4), Limits(steps=4)])
def test_parallel_starts_are_admitted_to_the_last_turn(seed: int, limits: Limits) -> None:
    """
    Checked and counted at once: three of eight work, five are refused, none is let in to
    fail. The turn that starts them is the fourth.
    """
    outcomes: list[Any] = []
    with virtual(seed) as runtime:
        agents = [Agent(echo)] * 8
        result = started(runtime, fanning(agents, outcomes), limits=limits).result.get()

    refused = [one for one in outcomes if isinstance(one, LimitReached)]
    ended = [one for one in outcomes if not isinstance(one, LimitReached)]
    assert COMPLETED == result.stop_reason
    assert [COMPLETED] * 3 == [one.stop_reason for one in ended]
    assert 5 == len(refused)


@SEEDS
def test_parallel_children_send_no_request_more_than_there_are(seed: int) -> None:
    """
    H51: five are sent, whoever sends them; the rest ends budget, and each keeps its text.
    """
    sent: list[ModelRequest] = []

    async def reply(request: ModelRequest) -> Any:
        sent.append(request)
        await asyncio.sleep(1.0)
        script: Any = {"text": f"step {request.step}", "usage": ONE}
        return {**script, "calls": [{"name": "look", "arguments": {}}]}

    outcomes: list[Any] = []
    agents = [Agent(model=ScriptedModel(reply), tools=working(1).tools)] * 4
    with virtual(seed) as runtime:
        run = started(runtime, fanning(agents, outcomes), limits=Limits(requests=5))
        result = run.result.get()

    assert 5 == len(sent) == result.total_usage.requests
    assert {BUDGET} == {one.stop_reason for one in outcomes}
    expected = {one.run_id: "" for one in outcomes}
    expected.update({request.run_id: f"step {request.step}" for request in sent})
    assert expected == {one.run_id: one.text for one in outcomes}


@SEEDS
def test_what_is_under_way_when_the_tokens_are_used_up_may_finish(seed: int) -> None:
    """
    Known after an answer only: of four at once all finish, and then nobody goes on.
    """

    async def reply(request: ModelRequest) -> Any:
        await asyncio.sleep(1.0)
        calls = [{"name": "look", "arguments": {}}]
        return {"text": f"step {request.step}", "usage": Usage(5, 5, 1), "calls": calls}

    outcomes: list[Any] = []
    agents = [Agent(model=ScriptedModel(reply), tools=working(1).tools)] * 4
    with virtual(seed) as runtime:
        run = started(runtime, fanning(agents, outcomes), limits=Limits(tokens=15))
        total = run.result.get().total_usage

    assert 20 <= total.input_tokens + total.output_tokens <= 15 + 4 * 10
    assert {BUDGET} == {one.stop_reason for one in outcomes}


@SEEDS
def test_a_turn_that_never_began_is_there_for_another(seed: int) -> None:
    """
    A start that is cancelled on its way gives back what it was counted for, at any moment.
    """
    with virtual(seed, limits=Limits(turns=1)) as runtime:
        token = Cancellation()
        reply = runtime.start("spawn", "go", agent=_waiting, cancel=token)
        token.cancel("changed my mind")
        taken = 0
        try:
            run: Run = reply.get()
        except StartCancelled:
            pass
        else:
            run.result.get()
            taken = len(run.transcript()) > 0 and run.log.last_turn
        if taken:
            with pytest.raises(LimitReached):
                started(runtime, echo)
        else:
            assert "go" == started(runtime, echo).result.get().text


def _waiting(turn: Any) -> Steps:
    yield turn.sleep(1e6)


def test_a_start_that_fails_gives_back_its_turn() -> None:
    """
    RUN-2: what came to nothing counts for nothing.
    """

    class Broken(Scripted):
        """Opens nothing."""

        def open(self, order: OpenOrder, workplace: Workplace) -> Any:
            """Fail."""
            raise RuntimeError("broken")

    providers = [Broken([Return("never")], name="broken")]
    with virtual(providers=providers, limits=Limits(turns=1, steps=1)) as runtime:
        for _ in range(3):
            with pytest.raises(StartFailed, match="broken"):
                runtime.start("broken", "go").get()

        assert "go" == started(runtime, echo).result.get().text


def test_a_resident_that_waits_has_no_turn_kept_for_it() -> None:
    """
    Without a prompt it takes none before it works; then the first who come have them.
    """
    with virtual(limits=Limits(turns=2)) as runtime:
        residents = [runtime.open(echo).get() for _ in range(3)]
        answers = [resident.ask("go").get() for resident in residents]

        expected = [COMPLETED, COMPLETED, MAX_TURNS]
        assert expected == [answer.stop_reason for answer in answers]


def test_threads_share_what_is_left_as_well(runtime: Runtime) -> None:
    """
    H51: eight threads that start at once; five turns are left, and five work.
    """
    barrier = threading.Barrier(8)
    outcomes: list[str] = []

    root = opened(runtime, echo, limits=Limits(turns=5))

    def start() -> None:
        barrier.wait(PATIENCE)
        try:
            run = runtime.start("spawn", "go", agent=echo, parent=root).get(timeout=PATIENCE)
        except LimitReached:
            outcomes.append("refused")
        else:
            outcomes.append(run.result.get(timeout=PATIENCE).text)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert ["go"] * 5 + ["refused"] * 3 == sorted(outcomes)
