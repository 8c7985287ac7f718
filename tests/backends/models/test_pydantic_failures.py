"""What servers of models refuse, and what becomes of it."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from retinue.backends.models.pydantic_ai import PydanticModel
from retinue.protocol.errors import ContextOverflow, ModelFailed, ModelRefused, Transient
from tests.backends.models.dialects import Refused, Streamed
from tests.backends.models.loopback import Loopback
from tests.backends.models.talk import (
    CHAT_MODEL,
    MODELS,
    answer,
    asked,
    model_at,
)


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


def test_a_conversation_that_is_too_long_is_known_by_its_words_too(server: Loopback) -> None:
    """Servers that speak as OpenAI's do often send no code for it."""
    server.queue(Refused(400, "The input exceeds the context window of this model."))

    with pytest.raises(ContextOverflow):
        answer(model_at(server, CHAT_MODEL), asked())
