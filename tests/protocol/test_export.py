"""Logs as JSON lines: the same events, the same bytes."""

from __future__ import annotations

import json
import math
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.agent import ToolFilter
from retinue.protocol.content import Data, Form, Kind, Message, Source, Text, ToolCall
from retinue.protocol.descriptor import Descriptor, Mode
from retinue.protocol.errors import InvalidContent
from retinue.protocol.export import encode_event, export
from retinue.protocol.log import (
    Cause,
    Described,
    Ending,
    Event,
    PolicySet,
    SeedEnded,
    Target,
    TurnFinished,
    TurnStarted,
)
from retinue.protocol.result import Usage
from tests.protocol.logs import T, answered, heard, inserted, log_of, log_with, said
from tests.protocol.test_log import ONE_OF_EACH


def test_a_log_reads_as_what_happened() -> None:
    """
    Each line is one event: its number, what it was, what it held; absent facts are left out.
    """
    source = Source(Kind.PARENT, Form.RELAY, sender="a-1")
    log = log_of(
        inserted(Target.NEXT_TURN, 0, Message((Text("go"),), source, "m1")),
        TurnStarted(1, T),
        said(Data({"b": 1, "a": [True, None]}), usage=Usage(3, 4)),
        TurnFinished(1, Ending.ABORTED, Cause.HOST, None, T),
    )

    lines = [
        (
            '{"n": 0, "type": "spliced", "target": "next-turn", "start": 0, "removed": 0,'
            ' "inserted": [{"type": "message", "content": [{"type": "text", "text": "go"}],'
            ' "source": {"type": "source", "kind": "parent", "form": "relay", "sender": "a-1"},'
            ' "message_id": "m1"}], "cancelled": false, "time": 0.5}\n'
        ),
        '{"n": 1, "type": "turn-started", "turn": 1, "time": 0.5}\n',
        (
            '{"n": 2, "type": "assistant-message", "content": [{"type": "data", "value":'
            ' {"a": [true, null], "b": 1}}], "usage": {"type": "usage", "input_tokens": 3,'
            ' "output_tokens": 4, "requests": 0, "cost": 0.0}, "interrupted": false, "time": 0.5}\n'
        ),
        (
            '{"n": 3, "type": "turn-finished", "turn": 1, "ending": "aborted",'
            ' "cause": "host-gone", "time": 0.5}\n'
        ),
    ]
    assert "".join(lines) == export(log)


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
def test_every_field_of_an_event_is_written(event: Event) -> None:
    """
    LOG-4: nothing that an event says is lost on the way out.
    """
    encoded = encode_event(event)

    expected = {
        field.name for field in attrs.fields(type(event)) if getattr(event, field.name) is not None
    }
    assert {"type", *expected} == encoded.keys()
    assert encoded == json.loads(json.dumps(encoded))


def test_the_order_of_keys_in_a_payload_does_not_matter() -> None:
    """
    Two runs that built the same object in another order give the same bytes.
    """
    one = said(Data({"a": 1, "b": {"c": 2, "d": 3}}), ToolCall("c1", "read", {"x": 1, "y": 2}))
    other = said(Data({"b": {"d": 3, "c": 2}, "a": 1}), ToolCall("c1", "read", {"y": 2, "x": 1}))

    assert export([one]) == export([other])


@given(st.text(st.characters() | st.characters(categories=["Cs", "Cc"])))
def test_any_text_can_be_written(text: str) -> None:
    """
    Lone surrogates are escaped, the rest is readable; all of it comes back as it was.
    """
    written = export([heard(text)])

    line = written.encode().decode()
    assert 1 == line.count("\n")
    loaded: dict[str, Any] = json.loads(line)
    assert text == loaded["message"]["content"][0]["text"]


def test_text_is_written_as_people_read_it() -> None:
    """
    Letters of all scripts stand as they are; a lone surrogate is escaped.
    """
    written = export([heard("größer \ud800")])

    assert "größer \\ud800" in written


def test_an_inherited_part_is_written_like_the_own() -> None:
    """
    FRK-3: a fork's export begins with its parent's, byte for byte.
    """
    parent = log_with(2)

    assert export(parent) + export([SeedEnded(T)]).replace('"n": 0', '"n": 16') == export(
        [*parent.events(), SeedEnded(T)]
    )


def test_times_can_be_left_out() -> None:
    """
    Two runs under different clocks compare equal without their times.
    """
    early, late = (
        log_of(*(attrs.evolve(event, time=time) for event in answered(1, "q", "a")))
        for time in (1.0, 2.0)
    )

    assert export(early) != export(late)
    assert export(early, with_time=False) == export(late, with_time=False)


def test_a_descriptor_is_written_field_by_field() -> None:
    """
    DSC-1: a descriptor in a log is readable, and what it does not declare is left out.
    """
    described = Described(
        Descriptor(Mode.DURABLE, "spawn", "scout", None, "m", None, ToolFilter(("a",))), T
    )

    assert {
        "type": "descriptor",
        "mode": "durable",
        "provider": "spawn",
        "label": "scout",
        "agent_model": "m",
        "tool_filter": {"type": "tool-filter", "allow": ["a"], "deny": []},
    } == encode_event(described)["descriptor"]


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1, 2}, {"a": b"b"}])
def test_what_is_no_json_is_named_with_its_event(value: object) -> None:
    """
    LOG-2: an export never writes what JSON does not know; it says which event holds it.
    """
    with pytest.raises(InvalidContent, match=r"^event 1: "):
        export([SeedEnded(T), PolicySet("p", value, "user", T)])
