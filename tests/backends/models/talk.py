"""One request to a model, away from any runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from retinue.backends.models.pydantic_ai import PydanticModel
from retinue.protocol.content import Message, Text
from retinue.protocol.model import Answer, ModelRequest, Piece, ToolSpec
from tests.backends.models.loopback import Loopback

CHAT_MODEL = "openai-chat:x"
RESPONSES_MODEL = "openai:x"
ANTHROPIC_MODEL = "anthropic:x"
MODELS = (CHAT_MODEL, RESPONSES_MODEL, ANTHROPIC_MODEL)

LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {"at": {"type": "string"}}})


def model_at(server: Loopback, name: str, **settings: Any) -> PydanticModel:
    """Make a model that is served here."""
    base = server.root if name == ANTHROPIC_MODEL else f"{server.root}/v1"
    return PydanticModel(name, base_url=base, api_key="secret", **settings)


def asked(text: str = "hello", **fields: Any) -> ModelRequest:
    """Make a request with one prompt."""
    return ModelRequest((Message((Text(text),)),), **fields)


def pieces(model: PydanticModel, *requests: ModelRequest) -> list[Piece]:
    """Send requests, one after the other, and return all that was streamed."""

    async def talk() -> list[Piece]:
        try:
            return [piece for request in requests async for piece in model.stream(request)]
        finally:
            await model.aclose()

    return asyncio.run(talk())


def answer(model: PydanticModel, *requests: ModelRequest) -> Answer:
    """Send requests, and return the last answer."""
    last = pieces(model, *requests)[-1]
    assert isinstance(last, Answer)
    return last


def roles(messages: Sequence[Any]) -> list[str]:
    """Return who speaks in what a server heard."""
    return [message["role"] for message in messages]
