"""Models of pydantic-ai, their vendors' own packages included, against a server of our own."""

from __future__ import annotations

import asyncio
import pickle
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from retinue.backends.models.pydantic_ai import PydanticModel
from retinue.protocol.content import (
    Content,
    Data,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from retinue.protocol.errors import ContextOverflow, ModelFailed, ModelRefused, Transient
from retinue.protocol.history import ANSWER, TOOL_RESULTS
from retinue.protocol.model import Answer, Finish, ModelRequest, ReasoningDelta, TextDelta
from retinue.protocol.result import Usage
from tests.backends.models.dialects import Refused, Streamed
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


def test_reasoning_whose_signature_is_lost_stays_away(server: Loopback) -> None:
    """After a restart it would be refused, and as text it would be something that was said."""
    server.queue(Streamed(pieces=("done",)))
    said = (Reasoning("hm"), Text("ok"))

    answer(model_at(server, ANTHROPIC_MODEL), conversation_after(said))

    content = server.heard[0]["messages"][1]["content"]
    assert ["ok"] == [block["text"] for block in content]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("refused", "kind", "wait"),
    [
        (Refused(429, kind="rate_limit_error", headers=(("Retry-After", "2"),)), Transient, 2.0),
        (Refused(429, kind="rate_limit_error"), Transient, None),
        (Refused(408), Transient, None),
        (Refused(500), Transient, None),
        (Refused(503, headers=(("Retry-After", "7"),)), Transient, 7.0),
        (Refused(529, kind="overloaded_error"), Transient, None),
        (
            Refused(400, "prompt is too long: 9 tokens > 8 maximum", "context_length_exceeded"),
            ContextOverflow,
            None,
        ),
        (Refused(400, "bad"), ModelFailed, None),
        (Refused(401, "who?"), ModelFailed, None),
        (Refused(404, "no such model"), ModelFailed, None),
    ],
)
def test_a_failure_is_what_the_loop_can_act_on(
    server: Loopback, name: str, refused: Refused, kind: type[ModelFailed], wait: float | None
) -> None:
    """One request each: the vendor's own retries are off, since the gate is the only one."""
    server.queue(refused)

    with pytest.raises(ModelFailed) as caught:
        answer(model_at(server, name), asked())

    assert kind is type(caught.value)
    assert wait == getattr(caught.value, "retry_after", None)
    assert str(caught.value).startswith(f"{name}: ")
    assert 1 == len(server.heard)


def test_a_time_to_come_back_at_may_be_a_date(server: Loopback) -> None:
    """Retry-After as an HTTP date is read as the seconds until then."""
    then = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server.queue(Refused(429, headers=(("Retry-After", then),)))

    with pytest.raises(Transient) as caught:
        answer(model_at(server, CHAT_MODEL), asked())

    assert caught.value.retry_after is not None
    assert 3000 < caught.value.retry_after <= 3600


@pytest.mark.parametrize(
    ("code", "kind"),
    [("content_filter", ModelRefused), ("insufficient_quota", ModelFailed)],
)
def test_what_no_wait_helps_is_not_sent_again(
    server: Loopback, code: str, kind: type[ModelFailed]
) -> None:
    """A filter refuses; a quota that is used up is a 429 all the same, and no passing one."""
    server.queue(Refused(400 if kind is ModelRefused else 429, "no", code, code))

    with pytest.raises(ModelFailed) as caught:
        answer(model_at(server, CHAT_MODEL), asked())

    assert kind is type(caught.value)


@pytest.mark.parametrize("name", MODELS)
def test_a_stream_that_breaks_off_may_be_sent_again(server: Loopback, name: str) -> None:
    """LOG-21: what came of it is no answer."""
    server.queue(Streamed(pieces=("half",), breaks_off=True))

    with pytest.raises(Transient):
        answer(model_at(server, name), asked())


@pytest.mark.parametrize("name", MODELS)
def test_a_server_that_is_not_there_may_come_back(name: str) -> None:
    """A refused connection is transient: servers restart."""
    with socket.socket() as bound:  # and not listening, so that nobody else can take the port
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"

        with pytest.raises(Transient):
            answer(PydanticModel(name, base_url=url, api_key="secret"), asked())


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


@pytest.mark.parametrize("arguments", ['{"at": ', "[1]", '"text"', "7"])
def test_arguments_that_are_no_object_are_kept_as_they_came(
    server: Loopback, arguments: str
) -> None:
    """Validation refuses them, and the model reads why."""
    server.queue(Streamed(calls=(("c1", "look", arguments),)))

    [call] = answer(model_at(server, CHAT_MODEL), asked(tools=(LOOK,))).content

    assert ToolCall("c1", "look", {"": arguments}) == call


@pytest.mark.parametrize(
    ("name", "options", "heard"),
    [
        (CHAT_MODEL, {"temperature": 0.5, "seed": 7}, {"temperature": 0.5, "seed": 7}),
        (CHAT_MODEL, {"stop": "END"}, {"stop": ["END"]}),
        (CHAT_MODEL, {"max_tokens": 9}, {"max_completion_tokens": 9}),
        (ANTHROPIC_MODEL, {"max_tokens": 9, "stop": ["A", "B"]}, {"max_tokens": 9}),
        (ANTHROPIC_MODEL, {"stop": ["A", "B"]}, {"stop_sequences": ["A", "B"]}),
        (ANTHROPIC_MODEL, {"anthropic_metadata": {"user_id": "u"}}, {"metadata": {"user_id": "u"}}),
    ],
)
def test_options_are_honoured(
    server: Loopback, name: str, options: dict[str, Any], heard: dict[str, Any]
) -> None:
    """Those of a request come on top of those of the model, a vendor's own included."""
    server.queue(Streamed(pieces=("ok",)))

    answer(model_at(server, name, top_p=0.5), asked(options=options))

    assert 0.5 == server.heard[0]["top_p"]
    assert heard == {option: server.heard[0][option] for option in heard}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (CHAT_MODEL, {"temprature": 1, "team": "x"}, "unknown options: temprature, team; it"),
        (CHAT_MODEL, {"anthropic_metadata": {}}, "unknown options: anthropic_metadata"),
        (CHAT_MODEL, {"max_retries": 3}, "unknown options: max_retries"),
        (ANTHROPIC_MODEL, {"seed": 7}, "would ignore the options seed"),
    ],
)
def test_an_option_that_would_not_count_is_refused_by_name(
    server: Loopback, name: str, options: dict[str, Any], said: str
) -> None:
    """Refused loudly or honoured; nothing is sent. In the constructor the same is refused."""
    with pytest.raises(ModelFailed) as in_request:
        answer(model_at(server, name), asked(options=options))
    with pytest.raises(ModelFailed) as in_constructor:
        model_at(server, name, **options)

    assert said in str(in_request.value)
    assert said in str(in_constructor.value)
    assert [] == server.heard


def test_a_model_goes_to_another_process_by_what_it_was_made_of(server: Loopback) -> None:
    """Connections stay where they are; the copy opens its own."""
    server.queue(Streamed(pieces=("ok",)))
    model = model_at(server, CHAT_MODEL, max_tokens=9)

    copy: PydanticModel = pickle.loads(pickle.dumps(model))  # noqa: S301 - made in this line

    assert (Text("ok"),) == answer(copy, asked()).content
    assert 9 == server.heard[0]["max_completion_tokens"]


def test_each_loop_has_connections_of_its_own(server: Loopback) -> None:
    """One object serves one loop after the other; each closes what it opened."""
    server.queue(*[Streamed(pieces=("ok",)) for _ in range(3)])
    model = model_at(server, CHAT_MODEL)

    answers = [answer(model, asked()), answer(model, asked(), asked())]

    assert [(Text("ok"),)] * 2 == [said.content for said in answers]
