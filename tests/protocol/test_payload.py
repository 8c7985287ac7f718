"""Payloads: lossless JSON or refused."""

from __future__ import annotations

import collections
import enum
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.content import Text
from retinue.protocol.errors import InvalidContent
from retinue.protocol.payload import (
    NESTING_LIMIT,
    check_payload,
    is_json,
    json_copy,
    payload_violations,
    pointer_to,
)

LOSSLESS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda number: number != 0 or math.copysign(1, number) > 0
    ),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class Number(enum.IntEnum):
    """An int that is more than an int."""

    ONE = 1


def itself() -> list[object]:
    """Return a list that contains itself."""
    cycle: list[object] = [1]
    cycle.append({"again": cycle})
    return cycle


def nested(levels: int) -> object:
    """Return lists in lists."""
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@given(LOSSLESS)
def test_what_comes_back_as_it_was_is_a_payload(value: object) -> None:
    """
    LOG-2: whatever JSON gives back unchanged is taken, and copied whole.
    """
    check_payload(value)

    assert repr(value) == repr(json.loads(json.dumps(value))) == repr(json_copy(value))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (-0.0, "negative zero"),
        (math.nan, "nan is no JSON number"),
        (math.inf, "inf is no JSON number"),
        (-math.inf, "-inf is no JSON number"),
        ((1, 2), "a tuple comes back from JSON as a list"),
        ({1}, "set is no JSON"),
        (b"bytes", "bytes is no JSON"),
        (Text("a"), "Text is no JSON"),
        (Number.ONE, "Number is no JSON"),
        (collections.OrderedDict[str, int](), "OrderedDict is no JSON"),
        (object, "type is no JSON"),
        (itself(), "/1/again: contains itself"),
        ({1: "a"}, "/1: a key is text, not int"),
        ({None: "a"}, "/None: a key is text, not NoneType"),
        (nested(NESTING_LIMIT + 1), "nested deeper than 200 levels"),
        (nested(100_000), "nested deeper than 200 levels"),
    ],
)
def test_what_json_would_change_is_refused(value: object, why: str) -> None:
    """
    LOG-2: negative zero, NaN, infinities, instances, odd keys and cycles are no payload.
    """
    assert not is_json(value)
    assert not is_json({"a": [value]})
    with pytest.raises(InvalidContent, match=r"^result: not a JSON value") as caught:
        check_payload(value, "result")
    assert why in str(caught.value)


def test_every_place_is_named() -> None:
    """
    LOG-2, VAL-3: all faults are told at once, each with its JSON pointer.
    """
    value = {"a/b": [1, math.nan], "c~d": {"e": -0.0, "f": {2: ()}}, "g": 1}

    assert (
        "/a~1b/1: nan is no JSON number",
        "/c~0d/e: negative zero does not survive JSON",
        "/c~0d/f/2: a key is text, not int",
        "/c~0d/f/2: a tuple comes back from JSON as a list",
    ) == payload_violations(value)


def test_the_same_object_twice_is_no_cycle() -> None:
    """
    LOG-2: a value that stands in two places is written twice, and comes back equal.
    """
    shared = {"n": [1]}

    assert is_json([shared, shared, {"again": shared}])
    assert [shared, shared, {"again": shared}] == json_copy([shared, shared, {"again": shared}])
    assert is_json(nested(NESTING_LIMIT))


def test_a_copy_shares_nothing_with_its_original() -> None:
    """
    LOG-2: what was taken stays as it was when the sender goes on with its own.
    """
    value = {"a": [1, {"b": 2}]}
    copied = json_copy(value)

    value["a"].append(3)

    assert {"a": [1, {"b": 2}]} == copied


@pytest.mark.parametrize("value", [itself(), nested(5000), {1: 2, "a": {3: math.nan}}, Text("a")])
def test_a_copy_of_what_is_no_payload_is_one(value: object) -> None:
    """
    What is checked further after a refusal cannot trip the check.
    """
    assert is_json(json_copy(value))


def test_a_pointer_escapes_its_keys() -> None:
    """
    A key that contains a slash or a tilde is written as RFC 6901 says.
    """
    assert "/a~1b/0/~0" == pointer_to("a/b", 0, "~")
    assert "" == pointer_to()
