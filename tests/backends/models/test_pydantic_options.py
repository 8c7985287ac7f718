"""What models of pydantic-ai can be set to, and what they are told instead of being ignored."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from retinue.backends.models.pydantic_ai import PydanticModel
from retinue.protocol.content import (
    Text,
)
from retinue.protocol.errors import ModelFailed
from tests.backends.models.dialects import Streamed
from tests.backends.models.loopback import Loopback
from tests.backends.models.talk import (
    ANTHROPIC_MODEL,
    CHAT_MODEL,
    answer,
    asked,
    model_at,
)


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
