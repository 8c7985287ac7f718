"""
The seam to a language model: one request, and its answer as it streams.

A model knows nothing of runs beyond the request. It neither retries nor waits: a failure
that may pass is raised as Transient, and the turn loop decides what follows.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import attrs

from retinue.protocol.content import Content, Message, Reasoning, Text, ToolCall
from retinue.protocol.errors import ModelFailed
from retinue.protocol.result import NO_USAGE, Usage


@attrs.frozen
class ToolSpec:
    """A tool as a model is told of it; *parameters* is the JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@attrs.frozen
class ModelRequest:
    """
    One request to a model.

    Args:
        messages: the conversation, oldest first; each tool call in it has its result.
        instructions: what stands above the conversation; may be empty.
        tools: what the model may call, in an order that does not change between steps.
        options: settings of the model, as ``max_tokens`` or ``temperature``; what a model
            does not know it refuses with ModelFailed.
        run_id: which run asks.
        path: the run's place in its tree, the same in every run of the same program.
        turn: the number of the run's turn.
        step: the number of the step in that turn, from 1.
    """

    messages: Sequence[Message]
    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    options: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    run_id: str = ""
    path: tuple[int, ...] = ()
    turn: int = 1
    step: int = 1


class Finish(enum.Enum):
    """Why a model stopped."""

    STOP = "stop"
    TOOL_CALLS = "tool-calls"
    LENGTH = "length"
    REFUSAL = "refusal"


@attrs.frozen
class TextDelta:
    """A piece of the answer's text."""

    text: str


@attrs.frozen
class ReasoningDelta:
    """A piece of what the model thinks aloud."""

    text: str


@attrs.frozen
class Answer:
    """
    A whole answer; the last thing that a stream yields, exactly once.

    Args:
        content: text, reasoning and tool calls, in order. Arguments of a call that is no
            JSON object are kept as ``{"": "the text as it came"}``; validation refuses them.
        usage: what it cost, ``requests`` included; 1 for a model that sends one request.
        finish: why it ended. With LENGTH the last tool call may be cut off.
    """

    content: Content
    usage: Usage = NO_USAGE
    finish: Finish = Finish.STOP


Piece: TypeAlias = TextDelta | ReasoningDelta | Answer


@runtime_checkable
class Model(Protocol):
    """
    A language model.

    ``name`` is written like ``"openai:gpt-5"``; models of one name share one gate for
    retries.
    """

    @property
    def name(self) -> str:
        """What the model is called in trees, errors and gates."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """
        Send a request; runs on the runtime's loop and is cancelled by cancelling its task.

        Closing the iterator early closes the connection.

        Raises:
            Transient: it may work later.
            ContextOverflow: the conversation is too long.
            ModelRefused: the model, or who runs it, declines to answer.
            ModelFailed: anything else; the same request fails again.
        """
        ...


class TheirModel(Protocol):
    """What a model object of pydantic-ai shows of itself; an agent takes one as it is."""

    @property
    def model_name(self) -> str:
        """The model's name, without its provider's."""
        ...

    @property
    def system(self) -> str:
        """The provider's name."""
        ...


_SAID: Final = frozenset((Text, Reasoning, ToolCall))


def check_answer(answer: Answer, model: str) -> Answer:
    """
    Take an answer that is what it should be.

    Raises:
        ModelFailed: content, usage or finish is something else; the model's author is told.
    """
    wrong = None
    blocks: Any = answer.content
    if type(blocks) is not tuple or not set(map(type, answer.content)) <= _SAID:
        wrong = f"content: expected a tuple of Text, Reasoning and ToolCall, got {blocks!r:.80}"
    elif not isinstance(answer.usage, Usage):
        wrong = f"usage: expected Usage(...), got {answer.usage!r:.80}"
    elif not isinstance(answer.finish, Finish):
        wrong = f"finish: expected a Finish, got {answer.finish!r:.80}"
    else:
        for block in answer.content:
            if isinstance(block, ToolCall):
                wrong = wrong or _wrong_call(block)
    if wrong is not None:
        raise ModelFailed(f"{model}: an answer with {wrong}")
    return answer


def _wrong_call(call: ToolCall) -> str | None:
    if not isinstance(call.call_id, str) or not isinstance(call.name, str):
        return f"a tool call without id or name: {call!r:.80}"
    if not isinstance(call.arguments, Mapping):
        return f"arguments of {call.name}: expected a mapping, got {call.arguments!r:.80}"
    return None


def check_model(value: object) -> Model:
    """
    Take what has a model's shape.

    Raises:
        ModelFailed: it has no ``name`` or no ``stream``.
    """
    if not isinstance(getattr(value, "name", None), str) or not callable(
        getattr(value, "stream", None)
    ):
        raise ModelFailed(
            f"a model is a name as 'openai:gpt-5' or an object with name and stream(),"
            f" as ScriptedModel or PydanticModel, not {type(value).__name__}"
        )
    return value  # type: ignore[return-value]  # pyright: ignore[reportReturnType]
