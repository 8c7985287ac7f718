"""What may be started is decided before anything exists, and in one order."""

from __future__ import annotations

import math
import struct
from typing import Any, Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.delegation import (
    ALL_CAPABILITIES,
    MAX_SAFE_INTEGER,
    NO_CAPABILITIES,
    NO_FEATURES,
    Capabilities,
    Features,
    StartRequest,
    check_cap,
    check_depth,
    check_features,
    child_depth,
    effective_depth,
    unmet_capability,
)
from retinue.protocol.errors import (
    DepthExceeded,
    InvalidDepth,
    InvalidLimit,
    UnsupportedCapability,
)

FLAGS: Final = ("output_schema", "depth_limit", "tool_filter", "persona")
WANTED: Final = {
    "output_schema": Features(output_schema={"type": "object"}),
    "depth_limit": Features(max_depth=3),
    "tool_filter": Features(tool_filter={"allow": ()}),
    "persona": Features(persona=""),
}
NO_DEPTHS: Final[tuple[object, ...]] = (
    None,
    "3",
    b"3",
    [],
    3j,
    True,
    False,
    -1,
    0.5,
    -0.0,
    math.nan,
    -math.nan,
    math.inf,
    -math.inf,
    2**53,
    float(2**53),
    10**400,
    -(10**400),
)


@pytest.mark.parametrize("value", NO_DEPTHS, ids=lambda value: repr(value)[:12])
def test_what_is_no_depth_is_refused(value: object) -> None:
    """
    VAL-2: a comparison with such a value would pass silently, so it is a TypeError.
    """
    with pytest.raises(InvalidDepth, match="expected a whole number from 0") as caught:
        check_depth(value)

    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("value", [0, 0.0, 1, 3.0, MAX_SAFE_INTEGER, float(MAX_SAFE_INTEGER)])
def test_whole_numbers_are_depths(value: float) -> None:
    """
    VAL-2: zero is valid and forbids any child; the kind of number does not matter.
    """
    taken = check_depth(value)

    assert value == taken
    assert int is type(taken)


@given(st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("d", struct.pack("Q", bits))[0]))
def test_every_float_is_a_depth_or_refused(value: float) -> None:
    """
    VAL-2: of all floats, each bit pattern of NaN and the subnormal ones included, exactly
    the whole ones from 0 are taken.
    """
    is_depth = 0 <= value <= MAX_SAFE_INTEGER and value.is_integer() and str(value) != "-0.0"

    if is_depth:
        assert value == check_depth(value)
    else:
        with pytest.raises(InvalidDepth):
            check_depth(value)


@given(st.integers(0, MAX_SAFE_INTEGER), st.integers(0, MAX_SAFE_INTEGER))
def test_options_deepen_a_persisted_depth_and_never_lower_it(durable: int, runtime: int) -> None:
    """
    DEP-1, DEP-5: the effective depth is the larger of the two, and an absent one counts 0.
    """
    both = effective_depth(durable, runtime)

    assert (max(durable, runtime), durable) == (both, effective_depth(durable, None))
    assert runtime == effective_depth(None, runtime)
    assert 0 == effective_depth(None, None)


@pytest.mark.parametrize("value", [-1, 0.5, math.nan, -0.0, 2**53])
def test_neither_kind_of_depth_may_be_odd(value: float) -> None:
    """
    DEP-1: a persisted depth is checked like one that was given.
    """
    with pytest.raises(InvalidDepth, match=r"^depth: "):
        effective_depth(value, None)
    with pytest.raises(InvalidDepth, match=r"^depth: "):
        effective_depth(None, value)


def test_a_child_is_one_deeper_than_its_parent() -> None:
    """
    DEP-2: past the last safe integer there is no child.
    """
    assert (1, MAX_SAFE_INTEGER) == (child_depth(0), child_depth(MAX_SAFE_INTEGER - 1))
    with pytest.raises(OverflowError):
        child_depth(MAX_SAFE_INTEGER)


def test_a_cap_is_a_ceiling_and_no_remaining_budget() -> None:
    """
    DEP-3: the error carries both numbers; depths up to the cap pass.
    """
    check_cap(3, 3)
    check_cap(9, None)

    with pytest.raises(DepthExceeded, match="deeper than max_depth 3") as caught:
        check_cap(4, 3)
    assert (4, 3) == (caught.value.attempted, caught.value.maximum)


@pytest.mark.parametrize(
    ("inherited", "asked", "holds"), [(None, 5, 5), (3, 5, 3), (5, 3, 3), (4, 4, 4)]
)
def test_a_cap_only_narrows_on_the_way_down(inherited: int | None, asked: int, holds: int) -> None:
    """
    Promise 7: a child cannot raise the ceiling that its parent was given.
    """
    features = Features(max_depth=asked)

    assert holds == check_features("p", features, ALL_CAPABILITIES, 1, inherited)


@pytest.mark.parametrize("flag", FLAGS)
def test_each_feature_needs_its_own_flag(flag: str) -> None:
    """
    REG-8: a provider without the flag refuses, one with nothing but the flag accepts; an
    empty persona and an empty list of tools are wishes too.
    """
    features = WANTED[flag]

    assert flag == unmet_capability(features, attrs.evolve(ALL_CAPABILITIES, **{flag: False}))
    assert unmet_capability(features, Capabilities(**{flag: True})) is None


@pytest.mark.parametrize("first", range(len(FLAGS)))
def test_the_first_unmet_flag_is_named(first: int) -> None:
    """
    REG-8: output schema, depth limit, tool filter, persona, in that order.
    """
    everything = Features({"type": "object"}, 3, {"allow": ()}, "a pirate")
    offered = Capabilities(**dict.fromkeys(FLAGS[:first], True))

    with pytest.raises(UnsupportedCapability, match=f"'p' cannot honour {FLAGS[first]}") as caught:
        check_features("p", everything, offered, 1, None)
    assert FLAGS[first] == caught.value.capability


def test_what_needs_no_capability_is_never_refused_for_one() -> None:
    """
    REG-9: options, limits and a deadline are the runtime's own business.
    """
    features = Features(options={"model": "m"}, deadline=1.0)

    assert unmet_capability(features, NO_CAPABILITIES) is None
    assert unmet_capability(NO_FEATURES, NO_CAPABILITIES) is None
    assert NO_CAPABILITIES == Capabilities()


def test_flags_come_before_depth_values_and_values_before_the_cap() -> None:
    """
    REG-10: of several faults the first in the order wins.
    """
    odd, deep = Features(max_depth=math.nan), Features(max_depth=1)

    with pytest.raises(UnsupportedCapability):
        check_features("p", odd, NO_CAPABILITIES, 9, 0)
    with pytest.raises(InvalidDepth):
        check_features("p", odd, ALL_CAPABILITIES, 9, 0)
    with pytest.raises(DepthExceeded):
        check_features("p", deep, ALL_CAPABILITIES, 9, None)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, True, "1"])
def test_a_deadline_that_makes_no_sense_is_refused(seconds: Any) -> None:
    """
    A deadline of nothing, or one that compares with nothing, would never or always pass.
    """
    with pytest.raises(InvalidLimit, match="deadline: expected seconds above 0"):
        Features(deadline=seconds)


def test_a_request_cannot_be_changed() -> None:
    """
    REG-11: the caller's request stays what it was, whoever got it.
    """
    request = StartRequest("spawn", None, None)

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        request.label = "other"  # type: ignore[misc]
