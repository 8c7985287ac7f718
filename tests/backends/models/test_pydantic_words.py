"""Blocks that seldom go to a model, and errors that seldom come, in the words of pydantic-ai."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import exceptions, messages

from retinue.backends.models._pydantic.failures import failure_of
from retinue.backends.models._pydantic.words import arguments_of, content_of, conversation_of
from retinue.protocol.content import (
    Block,
    Data,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from retinue.protocol.errors import ModelFailed, ModelRefused
from retinue.protocol.history import ANSWER


def translated(*said: Message) -> list[Any]:
    """Translate a conversation of which no answer is known as it came."""
    return conversation_of(said, lambda _: None)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Data([1, "é"]), '[1, "é"]'),
        (Reasoning("hm"), "hm"),
        (ToolCall("c", "look", {"at": "it"}), 'look {"at": "it"}'),
        (ToolResult("unknown", "seen"), "seen"),
    ],
)
def test_what_is_forwarded_to_a_model_is_text_to_it(block: Block, text: str) -> None:
    """A call or a result of somebody else's is none of this conversation's."""
    [request] = translated(Message((block,)))

    assert [text] == [part.content for part in request.parts]


def test_a_value_that_an_agent_gave_is_its_own_words() -> None:
    """JSON goes back as the text that it is."""
    [response] = translated(Message((Data({"n": 1}),), ANSWER))

    assert ['{"n": 1}'] == [part.content for part in response.parts]


def test_an_answer_of_which_nothing_is_left_is_an_empty_text() -> None:
    """No vendor takes an answer without parts."""
    [response] = translated(Message((Reasoning("hm"),), ANSWER))

    assert [""] == [part.content for part in response.parts]


def test_a_result_in_an_answer_is_told_from_one_in_a_request() -> None:
    """A conversation that mixes them is wrong, and says so."""
    with pytest.raises(ModelFailed, match="a tool result stands in an answer"):
        translated(Message((ToolResult("c", "seen"),), ANSWER))


def test_what_has_no_place_in_an_answer_is_left_out() -> None:
    """Files and empty texts are no blocks of ours."""
    file = messages.FilePart(messages.BinaryContent(b"x", media_type="image/png"))

    response = messages.ModelResponse([messages.TextPart(""), file, messages.TextPart("ok")])

    assert (Text("ok"),) == content_of(response)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, {}),
        ("", {}),
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        ("null", {}),
        ("[]", {"": "[]"}),
        ("0", {"": "0"}),
    ],
)
def test_a_call_without_arguments_has_none(given: Any, read: dict[str, Any]) -> None:
    """Vendors write "no arguments" in more than one way."""
    assert read == arguments_of(given)


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (exceptions.ContentFilterError("flagged"), ModelRefused, "m: flagged"),
        (exceptions.UnexpectedModelBehavior("odd"), ModelFailed, "m: odd"),
        (exceptions.UserError("wrong"), ModelFailed, "m: wrong"),
        (ValueError("broken"), ModelFailed, "m: ValueError: broken"),
    ],
)
def test_errors_without_a_status_are_translated_too(
    error: Exception, kind: type[ModelFailed], said: str
) -> None:
    """What comes from elsewhere in a vendor's package names its class."""
    failure = failure_of(error, "m")

    assert (kind, said) == (type(failure), str(failure))
