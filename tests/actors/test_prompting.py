"""Prompting a resident: by its Run, by its ref, by whom, and past its gate."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, Runtime
from retinue.protocol.content import Form, Kind, Message, Source, Text
from retinue.protocol.errors import (
    BadMessage,
    InvalidContent,
    NoSuchRun,
)
from retinue.protocol.log import Ending, TurnFinished
from retinue.protocol.result import COMPLETED, REFUSAL
from tests.actors.behaviours import WAYS, echo, ended, opened, started
from tests.doubles import PATIENCE


@pytest.mark.parametrize("make", WAYS)
def test_tell_says_that_it_was_accepted_and_ask_waits_for_the_turn(
    runtime: Runtime, make: Any
) -> None:
    """
    Both prompt; their turns come in the order in which they were sent.
    """
    run = opened(runtime, make(echo))

    told = [run.tell(text).get(timeout=PATIENCE) for text in ("a", "b")]
    answer = run.ask("c").get(timeout=PATIENCE)

    assert [True, True] == told
    assert (3, "c", COMPLETED, run.id) == (
        answer.turn,
        answer.text,
        answer.stop_reason,
        answer.run_id,
    )


def test_a_ref_takes_content_as_a_prompt(runtime: Runtime) -> None:
    """
    Pykka's own verbs mean the same: a host needs no new ones.
    """
    run = opened(runtime, echo)

    run.ref.tell("told")
    prompts: list[Any] = ["text", Text("block"), [Text("bl"), "ocks"], Message((Text("message"),))]
    answers = [run.ref.ask(prompt, timeout=PATIENCE) for prompt in prompts]
    future = run.ref.ask("later", block=False)

    assert ["text", "block", "blocks", "message"] == [answer.text for answer in answers]
    assert [2, 3, 4, 5] == [answer.turn for answer in answers]
    assert "later" == future.get(timeout=PATIENCE).text


@pytest.mark.parametrize("message", [5, None, object(), {"prompt": "go"}, b"bytes", (), [5]])
def test_what_is_neither_vocabulary_nor_content_is_refused(runtime: Runtime, message: Any) -> None:
    """
    A told one raises at the sender, an asked one at whoever asks, and the run lives on.
    """
    run = opened(runtime, echo)

    with pytest.raises((BadMessage, InvalidContent)):
        run.ref.tell(message)
    with pytest.raises((BadMessage, InvalidContent)):
        run.ref.ask(message, timeout=PATIENCE)
    for verb in (run.tell, run.ask, run.inject):
        with pytest.raises(InvalidContent):
            verb(message).get(timeout=PATIENCE)
    assert "fine" == run.ask("fine").get(timeout=PATIENCE).text


def test_the_source_of_a_message_is_the_runtimes_word(runtime: Runtime) -> None:
    """
    A user's, a parent's and a peer's message are told apart, and no sender writes its own.
    """

    @Agent
    def telling(turn: Any) -> list[str]:
        sources = [message.source for message in turn.messages]
        return [f"{one.kind.value} {one.form.value} {one.sender}" for one in sources]

    resident = opened(runtime, telling)

    def peer(turn: Any) -> Any:
        return turn.ask(resident, "from a peer").unwrap()

    def parent(turn: Any) -> Any:
        child = turn.open(telling)
        answer = turn.ask(child, "from a parent").unwrap()
        child.dispose().get(timeout=PATIENCE)
        return answer

    forged = Message((Text("forged"),), Source(Kind.PARENT, Form.PROMPT, "somebody"))
    asking, holding = started(runtime, peer), started(runtime, parent)

    assert [f"peer relay {asking.id}"] == ended(asking).unwrap()
    assert [f"parent prompt {holding.id}"] == ended(holding).unwrap()
    assert ["user prompt None"] == resident.ask("from a user").get(timeout=PATIENCE).unwrap()
    assert ["user prompt None"] == resident.ask(forged).get(timeout=PATIENCE).unwrap()
    assert ["user prompt None"] == resident.ref.ask(forged, timeout=PATIENCE).unwrap()


def test_a_gate_declines_a_prompt_and_says_why(runtime: Runtime) -> None:
    """
    RES-6: the turn is blocked, the run's reason is a refusal, and no step of it begins.
    """
    worked: list[str] = []

    def work(turn: Any) -> str:
        worked.append(turn.text)
        return str(turn.text)

    def gate(message: Message) -> str | None:
        if message.text == "raise":
            raise ValueError("odd")
        return "not today" if message.text == "no" else None

    agent = Agent(work, gate=gate)
    refused = ended(started(runtime, agent, "no"))
    resident = opened(runtime, agent)
    answers = [resident.ask(text) for text in ("yes", "no", "raise", "yes")]
    results = [reply.get(timeout=PATIENCE) for reply in answers]

    assert (REFUSAL, "not today") == (refused.stop_reason, refused.diagnostic)
    assert [COMPLETED, REFUSAL, REFUSAL, COMPLETED] == [one.stop_reason for one in results]
    assert "the gate raised ValueError('odd')" == results[2].diagnostic
    assert ["yes", "yes"] == worked
    endings = [e.ending for e in resident.transcript() if isinstance(e, TurnFinished)]
    assert [Ending.COMPLETED, Ending.BLOCKED, Ending.BLOCKED, Ending.COMPLETED] == endings


def test_the_last_words_of_an_ended_run_can_be_read_again_and_again(runtime: Runtime) -> None:
    """
    H28: by its id, any number of times, after it was disposed of too.
    """
    run = started(runtime, echo, "the body")
    result = ended(run)
    run.dispose().get(timeout=PATIENCE)

    assert [result] * 3 == [runtime.result_of(run.id) for _ in range(3)]
    assert "the body" == runtime.result_of(run.id).text
    for unknown in ("", "nobody", f"{runtime.id}-999", "other-1", f"{runtime.id}-x"):
        with pytest.raises(NoSuchRun):
            runtime.result_of(unknown)
