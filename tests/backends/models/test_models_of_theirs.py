"""Model objects of pydantic-ai, made by their user, work for agents as they are."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel as Trial

from retinue.actors import Agent, Runtime
from retinue.backends.models.pydantic_ai import PydanticModel
from retinue.protocol.errors import ModelFailed
from retinue.protocol.events import OutputDelta
from tests.doubles import PATIENCE, Probe


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def talk(messages: Any, _: Any) -> AsyncIterator[str]:
    """Say how many messages there were."""
    yield "of "
    yield str(len(messages))


def test_their_model_calls_our_tools(runtime: Runtime) -> None:
    """Requests, tools and usage are what they are with a name."""
    agent = Agent(model=Trial(), tools=[add])

    result = runtime.start("spawn", "go", agent=agent).get().result.get(timeout=PATIENCE)

    assert '{"add":"0"}' == result.unwrap()
    assert 2 == result.usage.requests


def test_their_model_streams(runtime: Runtime) -> None:
    """Deltas come as they are given, and a resident's turns build on each other."""
    probe = Probe()
    runtime.subscribe(probe.tell)
    resident = runtime.open(Agent(model=FunctionModel(stream_function=talk))).get()

    answers = [resident.ask(text).get(timeout=PATIENCE).text for text in ("a", "b")]

    assert ["of 1", "of 3"] == answers
    pieces = [letter.text for letter in probe.unread() if isinstance(letter, OutputDelta)]
    assert ["of ", "1", "of ", "3"] == pieces


def test_their_model_is_named_as_they_name_it() -> None:
    """The name stands in trees, errors and gates; what is made takes no address any more."""
    model = PydanticModel(FunctionModel(stream_function=talk, model_name="mine"))

    assert "function:mine" == model.name
    assert model.name == pickle.loads(pickle.dumps(model)).name  # noqa: S301 - our own bytes
    with pytest.raises(ModelFailed, match="is made already"):
        PydanticModel(Trial(), base_url="http://127.0.0.1:1")
