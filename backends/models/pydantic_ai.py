"""
Any model that pydantic-ai knows, through its direct API: one adapter for all of them.

    PydanticModel("openai:gpt-5")
    PydanticModel("anthropic:claude-sonnet-4-5", max_tokens=2000)
    PydanticModel("openai-chat:qwen3", base_url="http://localhost:8000/v1")  # or ollama, vllm

``openai:`` speaks OpenAI's Responses API; servers that speak its older chat completions, as
most that are compatible do, are reached by ``openai-chat:``. Needs ``pip install
'retinue[models]'``.

The vendors' own retries are off: those who share a model wait at one gate, and nowhere else.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Final, cast

from retinue.protocol.content import Content, Reasoning, Text
from retinue.protocol.errors import ModelFailed, Transient
from retinue.protocol.model import (
    Answer,
    Finish,
    ModelRequest,
    Piece,
    ReasoningDelta,
    TextDelta,
)
from retinue.protocol.result import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model as TheirModel

__all__ = ["PydanticModel"]


class PydanticModel:
    """
    A model of pydantic-ai.

    Args:
        name: ``"provider:model"``, or a model object of pydantic-ai, whose connections and
            retries stay its maker's.
        base_url: the address of the server, where it is not the provider's own.
        api_key: the key, where it is not in the environment as the provider documents.
        settings: of every request, as ``max_tokens``, ``temperature``, ``top_p``, ``seed``,
            ``stop`` or those of the provider; an agent's options come on top of them.

    Raises:
        MissingExtra: pydantic-ai, or the provider's own package, is not installed.
        ModelFailed: an unknown provider or setting, or no key.
    """

    def __init__(
        self,
        name: str | TheirModel,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        **settings: Any,
    ) -> None:
        from retinue.backends.models._pydantic.settings import Settings

        self._own: Final = None if isinstance(name, str) else name
        self.name: Final = name if isinstance(name, str) else f"{name.system}:{name.model_name}"
        given = {"base_url": base_url, "api_key": api_key}
        self._given = {option: value for option, value in given.items() if value is not None}
        self._settings = settings
        self._lock = threading.Lock()
        self._spare: TheirModel | None = self._make()
        self._known: Final = Settings(self._spare, self.name)
        self._known.read(settings)
        # Connections belong to the loop that opened them.
        self._connected: weakref.WeakKeyDictionary[Any, _Connected] = weakref.WeakKeyDictionary()
        self._originals: Final = _Originals()

    def _make(self) -> TheirModel:
        if self._own is not None:
            if self._given:
                raise ModelFailed(f"{self.name}: is made already; give base_url to who makes it")
            return self._own
        from retinue.backends.models._pydantic.making import make

        return make(self.name, self._given)

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self._own or self.name, self._given, self._settings)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """
        Send *request* and yield the answer as it comes; see ``Model.stream``.

        Raises:
            Transient: it may work later; with the seconds that the server asked to wait.
            ContextOverflow: the conversation is too long.
            ModelRefused: a filter stopped the request.
            ModelFailed: anything else, an unknown option included.
        """
        from pydantic_ai.direct import model_request_stream

        from retinue.backends.models._pydantic.failures import translated
        from retinue.backends.models._pydantic.words import conversation_of, parameters_of

        settings = self._known.read({**self._settings, **request.options})
        connected = await self._connection()
        with translated(self.name):
            asked = model_request_stream(
                connected.model,
                conversation_of(request.messages, self._originals.find),
                model_settings=settings,
                model_request_parameters=parameters_of(request),
                instrument=False,
            )
            async with (
                asked as stream,
                aclosing(cast("AsyncGenerator[Any]", aiter(stream))) as events,
            ):
                async for event in events:
                    piece = _piece(event)
                    if piece is not None:
                        yield piece
                response = stream.get()
            yield self._answer(response)

    def _answer(self, response: ModelResponse) -> Answer:
        from retinue.backends.models._pydantic import words

        if response.state != "complete" or response.finish_reason == "error":
            raise Transient(f"{self.name}: the answer broke off ({response.state})")
        content, finish = words.content_of(response), words.finish_of(response)
        refusal = words.refusal_of(response)
        if refusal is not None:
            content, finish = (*content, Text(refusal)), Finish.REFUSAL
        self._originals.keep(content, response)
        return Answer(content, self._usage(response), finish)

    def _usage(self, response: ModelResponse) -> Usage:
        cost = 0.0
        if response.model_name and "base_url" not in self._given:  # whose prices nobody knows
            try:
                cost = float(response.cost().total_price)
            except (LookupError, ValueError):
                cost = 0.0
        return Usage(response.usage.input_tokens, response.usage.output_tokens, 1, cost)

    async def _connection(self) -> _Connected:
        """Return the connections of the running loop, opened by the first who asks."""
        loop = asyncio.get_running_loop()
        with self._lock:
            connected = self._connected.get(loop)
            if connected is None:
                model, self._spare = self._spare or self._make(), None
                # What others made they close, too.
                connected = _Connected(model, is_ours=self._own is None)
                self._connected[loop] = connected
        await connected.enter()
        return connected

    async def aclose(self) -> None:
        """Close the connections of the running loop; a later request opens new ones."""
        with self._lock:
            connected = self._connected.pop(asyncio.get_running_loop(), None)
        if connected is not None:
            await connected.stack.aclose()


class _Connected:
    """A model whose connections are those of one loop."""

    def __init__(self, model: TheirModel, *, is_ours: bool) -> None:
        self.model = model
        self.stack = AsyncExitStack()
        self._is_entered = not is_ours

    async def enter(self) -> None:
        if not self._is_entered:
            self._is_entered = True
            await self.stack.enter_async_context(self.model)


class _Originals:
    """
    Answers as they came, for as long as what they were translated to lives.

    Only those that hold reasoning are kept: its signature has no place in our blocks.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[Reasoning], ModelResponse]] = {}

    def keep(self, content: Content, response: ModelResponse) -> None:
        """Remember how *content* came."""
        block = _thought(content)
        if block is not None:
            at = id(block)
            self._kept[at] = (weakref.ref(block, lambda _: self._kept.pop(at, None)), response)

    def find(self, content: Content) -> ModelResponse | None:
        """Return *content* as it came, or None where it is unknown or was changed since."""
        from retinue.backends.models._pydantic.words import content_of

        block = _thought(content)
        kept = None if block is None else self._kept.get(id(block))
        if kept is None or kept[0]() is not block or content_of(kept[1]) != content:
            return None
        return kept[1]


def _thought(content: Content) -> Reasoning | None:
    return next((block for block in content if isinstance(block, Reasoning)), None)


def _piece(event: object) -> Piece | None:
    """Translate one event of a stream; those of tool calls are in the answer as a whole."""
    from pydantic_ai import messages as theirs

    match event:
        case theirs.PartStartEvent(part=theirs.TextPart(content=text)) if text:
            return TextDelta(text)
        case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)) if text:
            return TextDelta(text)
        case theirs.PartStartEvent(part=theirs.ThinkingPart(content=text)) if text:
            return ReasoningDelta(text)
        case theirs.PartDeltaEvent(delta=theirs.ThinkingPartDelta(content_delta=text)) if text:
            return ReasoningDelta(text)
        case _:
            return None


def _remade(
    name: str | TheirModel, given: Mapping[str, Any], settings: Mapping[str, Any]
) -> PydanticModel:
    return PydanticModel(name, **given, **settings)
