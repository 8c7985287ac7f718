"""Models of pydantic-ai, their vendors' own packages included, against a server of our own."""

from __future__ import annotations

import asyncio

import pytest

from retinue.protocol.content import (
    Content,
    Data,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from retinue.protocol.history import ANSWER, TOOL_RESULTS
from retinue.protocol.model import Answer, Finish, ModelRequest, ReasoningDelta, TextDelta
from retinue.protocol.result import Usage
from tests.backends.models.dialects import Streamed
from tests.backends.models.loopback import Loopback
from tests.backends.models.talk import (
    ANTHROPIC_MODEL,
    CHAT_MODEL,
    LOOK,
    MODELS,
    answer,
    asked,
    model_at,
    pieces,
)

CALLED = (Text("Wait."), ToolCall("c1", "look", {"at": "it"}))


@pytest.mark.parametrize("name", MODELS)
def test_text_streams_and_calls_come_whole(server: Loopback, name: str) -> None:
    """Pieces are yielded as they come; the answer holds text, calls, usage and finish."""
    server.queue(Streamed(pieces=("Wa", "it."), calls=(("c1", "look", '{"at": "it"}'),)))

    said = pieces(model_at(server, name), asked(tools=(LOOK,)))

    assert [
        TextDelta("Wa"),
        TextDelta("it."),
        Answer(CALLED, Usage(10, 5, 1), Finish.TOOL_CALLS),
    ] == said


@pytest.mark.parametrize("name", [CHAT_MODEL, ANTHROPIC_MODEL])
def test_what_a_model_thinks_streams_apart_from_what_it_says(server: Loopback, name: str) -> None:
    """Reasoning is a block of its own, before the text."""
    server.queue(Streamed(thoughts=("h", "m"), pieces=("ok",)))

    said = pieces(model_at(server, name), asked())

    assert [ReasoningDelta("h"), ReasoningDelta("m"), TextDelta("ok")] == said[:-1]
    assert isinstance(said[-1], Answer)
    assert (Reasoning("hm"), Text("ok")) == said[-1].content


def test_a_conversation_reaches_chat_completions_as_it_was(server: Loopback) -> None:
    """Instructions, prompts, JSON, calls and their results, in the vendor's words."""
    server.queue(Streamed(pieces=("done",)))
    conversation = (
        Message((Text("hello"), Data({"n": 1}))),
        Message(CALLED, ANSWER),
        Message((ToolResult("c1", "seen"),), TOOL_RESULTS),
        Message((Text("and?"),)),
    )

    answer(model_at(server, CHAT_MODEL), ModelRequest(conversation, "Be brief.", (LOOK,)))

    [heard] = server.heard
    call = {"name": "look", "arguments": '{"at":"it"}'}
    assert [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
        {"role": "user", "content": '{"n": 1}'},
        {
            "role": "assistant",
            "content": "Wait.",
            "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "user", "content": "and?"},
    ] == heard["messages"]
    assert ["look"] == [tool["function"]["name"] for tool in heard["tools"]]
    assert ["Bearer secret"] == server.keys


def test_a_conversation_reaches_anthropic_in_turns_that_alternate(server: Loopback) -> None:
    """A result and the prompt after it are one message there; a failed call says so."""
    server.queue(Streamed(pieces=("done",)))
    conversation = (
        Message((Text("hello"),)),
        Message(CALLED, ANSWER),
        Message((ToolResult("c1", "broken", is_error=True),), TOOL_RESULTS),
        Message((Text("and?"),)),
    )

    answer(model_at(server, ANTHROPIC_MODEL), ModelRequest(conversation, "Be brief.", (LOOK,)))

    messages = server.heard[0]["messages"]
    assert ["user", "assistant", "user"] == [message["role"] for message in messages]
    result, prompt = messages[-1]["content"]
    assert ("tool_result", "c1", True) == (
        result["type"],
        result["tool_use_id"],
        result["is_error"],
    )
    assert "and?" == prompt["text"]


def conversation_after(said: Content) -> ModelRequest:
    """Go on after an answer."""
    return ModelRequest(
        (Message((Text("hello"),)), Message(said, ANSWER), Message((Text("and?"),)))
    )


def test_what_was_thought_goes_back_with_its_signature(server: Loopback) -> None:
    """A model takes its own reasoning back only as it came; the answer as a whole is kept."""
    server.queue(Streamed(thoughts=("hm",), pieces=("ok",)), Streamed(pieces=("done",)))
    model = model_at(server, ANTHROPIC_MODEL)

    async def talk() -> None:
        said = [piece async for piece in model.stream(asked())][-1]
        assert isinstance(said, Answer)
        async for _ in model.stream(conversation_after(said.content)):
            pass
        await model.aclose()

    asyncio.run(talk())
    thought = server.heard[1]["messages"][1]["content"][0]
    assert {"type": "thinking", "thinking": "hm", "signature": "signed"} == thought


def test_an_answer_that_was_changed_since_does_not_go_back_as_it_came(server: Loopback) -> None:
    """A call that nobody answered is left out of a history, and so of the request."""
    server.queue(
        Streamed(thoughts=("hm",), pieces=("ok",), calls=(("c1", "look", "{}"),)),
        Streamed(pieces=("done",)),
    )
    model = model_at(server, ANTHROPIC_MODEL)

    async def talk() -> None:
        said = [piece async for piece in model.stream(asked(tools=(LOOK,)))][-1]
        assert isinstance(said, Answer)
        async for _ in model.stream(conversation_after(said.content[:2])):
            pass
        await model.aclose()

    asyncio.run(talk())
    content = server.heard[1]["messages"][1]["content"]
    assert ["text"] == [block["type"] for block in content]


def test_reasoning_whose_signature_is_lost_stays_away(server: Loopback) -> None:
    """After a restart it would be refused, and as text it would be something that was said."""
    server.queue(Streamed(pieces=("done",)))
    said = (Reasoning("hm"), Text("ok"))

    answer(model_at(server, ANTHROPIC_MODEL), conversation_after(said))

    content = server.heard[0]["messages"][1]["content"]
    assert ["ok"] == [block["text"] for block in content]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("said", "finish"),
    [("stop", Finish.STOP), ("length", Finish.LENGTH), ("filter", Finish.REFUSAL)],
)
def test_an_answer_says_why_it_ended(
    server: Loopback, name: str, said: str, finish: Finish
) -> None:
    """Each vendor has words of its own for it; the text is kept whatever they are."""
    server.queue(Streamed(pieces=("so far",), finish=said))

    assert Answer((Text("so far"),), Usage(10, 5, 1), finish) == answer(
        model_at(server, name), asked()
    )


def test_a_refusal_that_comes_apart_from_the_text_is_one(server: Loopback) -> None:
    """OpenAI gives it in a field of its own; its words are what the answer says."""
    server.queue(Streamed(refusal="I may not."))

    said = answer(model_at(server, CHAT_MODEL), asked())

    assert ((Text("I may not."),), Finish.REFUSAL) == (said.content, said.finish)


@pytest.mark.parametrize("arguments", ['{"at": ', "[1]", '"text"', "7"])
def test_arguments_that_are_no_object_are_kept_as_they_came(
    server: Loopback, arguments: str
) -> None:
    """Validation refuses them, and the model reads why."""
    server.queue(Streamed(calls=(("c1", "look", arguments),)))

    [call] = answer(model_at(server, CHAT_MODEL), asked(tools=(LOOK,))).content

    assert ToolCall("c1", "look", {"": arguments}) == call


def test_each_loop_has_connections_of_its_own(server: Loopback) -> None:
    """One object serves one loop after the other; each closes what it opened."""
    server.queue(*[Streamed(pieces=("ok",)) for _ in range(3)])
    model = model_at(server, CHAT_MODEL)

    answers = [answer(model, asked()), answer(model, asked(), asked())]

    assert [(Text("ok"),)] * 2 == [said.content for said in answers]
