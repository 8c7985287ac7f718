"""What was said before a stop is kept, whoever works on the turn and whatever overtakes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors import Agent, DeterministicDispatcher, Runtime, agent
from retinue.protocol.model import Answer, ModelRequest
from retinue.protocol.result import ABORTED, COMPLETED
from tests.backends.loop.models import HOUR, Talker, says, told


@agent
async def streamer(turn: Any) -> None:
    """Stream two words, and never come to an end."""
    turn.delta("half ")
    turn.delta("way")
    await asyncio.sleep(HOUR)


@agent
def sayer(turn: Any) -> Any:
    """Say something whole, then begin on something else."""
    turn.say("whole")
    turn.delta("and more")
    yield turn.sleep(HOUR)


@pytest.mark.parametrize(
    ("behaviour", "text", "line"),
    [
        (streamer, "half way", "says: half way (cut off)"),
        (sayer, "and more", "says: and more (cut off)"),
    ],
    ids=["streamed", "said and streamed"],
)
def test_a_behaviours_stream_is_kept_as_cut_off(
    runtime: Runtime, dispatcher: DeterministicDispatcher, behaviour: Agent, text: str, line: str
) -> None:
    """
    LOG-22: for every kind of agent; what a fork or a resume reads has it.
    """
    run = runtime.start("spawn", "go", agent=behaviour).get()
    dispatcher.run_until_idle()

    run.cancel()

    assert (ABORTED, text) == (run.result.get().stop_reason, run.result.get().text)
    assert line in told(run)
    assert text == run.log.messages()[-1].text


@pytest.mark.parametrize("seed", range(50))
def test_a_cancel_behind_a_backlog_loses_no_words(seed: int) -> None:
    """
    H39: forty messages wait before the answer that the model gives, and a cancel overtakes
    them all: the words are in the log and in the result, in any order of what moves. An
    answer that was the last is a completed turn (RUN-5).
    """
    with Runtime(dispatcher=DeterministicDispatcher(seed)) as runtime:

        def flood(_: ModelRequest) -> Answer:
            """Have much wait, and stop everything."""
            for number in range(40):
                resident.tell(f"backlog {number}")
            resident.cancel("now")
            return says("first")

        resident = runtime.open(Agent(model=Talker(flood))).get()
        resident.tell("go")
        result = resident.result.get()

        assert "first" == result.text
        assert result.stop_reason in {ABORTED, COMPLETED}
        assert "says: first" in told(resident)
