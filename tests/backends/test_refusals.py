"""What a start is refused for before its provider hears of it, and in which order."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from itertools import combinations
from typing import Any, Final

import attrs
import pytest

from retinue.actors import Capabilities, Limits, Runtime
from retinue.backends.scripted import Echo, Hold, Item, Scripted
from retinue.protocol.delegation import ALL_CAPABILITIES, NO_CAPABILITIES
from retinue.protocol.errors import (
    DepthExceeded,
    InvalidDepth,
    InvalidSchema,
    LimitReached,
    NoProvider,
    UnsupportedCapability,
)
from retinue.protocol.provider import OpenOrder
from tests.doubles import PATIENCE

FLAGS: Final = ("output_schema", "depth_limit", "tool_filter", "persona")
FEATURES: Final[Mapping[str, tuple[str, Any]]] = {
    "output_schema": ("output_schema", {"type": "object"}),
    "depth_limit": ("max_depth", 3),
    "tool_filter": ("tool_filter", {"allow": []}),
    "persona": ("persona", "a pirate"),
}


@attrs.frozen(eq=False)
class Fault:
    """One thing that is wrong with a start."""

    name: str
    error: type[Exception]
    options: Mapping[str, Any] = {}
    lacks: str | None = None
    provider: str = "tested"
    is_capped: bool = False
    is_full: bool = False

    def __str__(self) -> str:
        return self.name


# In the order of the checks; of two that are wrong the first one is named.
FAULTS: Final = (
    Fault("no provider", NoProvider, provider="nobody"),
    *(Fault(f"no {flag}", UnsupportedCapability, dict([FEATURES[flag]]), flag) for flag in FLAGS),
    Fault("no depth", InvalidDepth, {"max_depth": -1}),
    Fault("too deep", DepthExceeded, is_capped=True),
    Fault("no schema", InvalidSchema, {"output_schema": {"type": "nonsense"}}),
    Fault("no room", LimitReached, is_full=True),
)


class Entered(Scripted):
    """A scripted provider that notes what it was asked to open."""

    def __init__(self, capabilities: Capabilities = ALL_CAPABILITIES) -> None:
        self.orders: list[OpenOrder] = []
        super().__init__(self._note, name="tested", capabilities=capabilities)

    def _note(self, order: OpenOrder) -> Iterable[Item]:
        self.orders.append(order)
        return [Echo()]


def lacking(flags: Iterable[str]) -> Capabilities:
    """Return every capability but *flags*."""
    return attrs.evolve(ALL_CAPABILITIES, **dict.fromkeys(flags, False))


@contextmanager
def runtime_with(provider: Scripted, limits: Limits | None = None) -> Generator[Runtime]:
    """A runtime with *provider*, and one on which parents wait."""
    parents = Scripted(lambda _: [Hold()], name="parents")
    with Runtime([provider, parents], limits=limits) as runtime:
        yield runtime


@pytest.mark.parametrize(
    ("first", "second"),
    [*((fault, fault) for fault in FAULTS), *combinations(FAULTS, 2)],
    ids=str,
)
def test_of_two_faults_the_first_in_order_is_named(first: Fault, second: Fault) -> None:
    """
    REG-10: whichever two are wrong, and the provider is entered for neither.
    """
    faults = first, second
    provider = Entered(lacking(fault.lacks for fault in faults if fault.lacks))
    options: dict[str, Any] = {}
    for fault in faults:
        options.update(fault.options)
    name = "nobody" if "nobody" in {fault.provider for fault in faults} else "tested"
    limits = Limits(live=1) if any(fault.is_full for fault in faults) else None

    with runtime_with(provider, limits) as runtime:
        cap = 0 if any(fault.is_capped for fault in faults) else None
        parent = runtime.start("parents", "wait", max_depth=cap).get(timeout=PATIENCE)
        with pytest.raises(first.error) as refused:
            runtime.start(name, "go", parent=parent, **options).get(timeout=PATIENCE)
        children = runtime.children(parent)

    assert [] == provider.orders
    assert () == children
    if isinstance(refused.value, UnsupportedCapability):
        assert first.lacks == refused.value.capability


@pytest.mark.parametrize("count", range(1, 5))
def test_the_first_capability_that_is_missing_is_named(count: int) -> None:
    """
    REG-8: for every set of missing flags, with a request that uses all four features.
    """
    options: dict[str, Any] = dict(FEATURES.values())
    for missing in combinations(FLAGS, count):
        provider = Entered(lacking(missing))
        with runtime_with(provider) as runtime, pytest.raises(UnsupportedCapability) as refused:
            runtime.start("tested", "go", **options).get(timeout=PATIENCE)

        assert missing[0] == refused.value.capability
        assert [] == provider.orders


def test_a_provider_that_can_do_nothing_special_is_enough_for_a_plain_start() -> None:
    """
    REG-9: parent, label, options, limits and deadline need no capability.
    """
    provider = Entered(NO_CAPABILITIES)
    with runtime_with(provider) as runtime:
        parent = runtime.start("parents", "wait").get(timeout=PATIENCE)
        run = runtime.start(
            "tested",
            "go",
            parent=parent,
            label="plain",
            options={"tokens": 5},
            limits=Limits(live=2),
            deadline=60.0,
        ).get(timeout=PATIENCE)
        result = run.result.get(timeout=PATIENCE)

    assert ("completed", "go") == (result.stop_reason, result.text)


def test_a_provider_gets_a_resolved_order_and_the_callers_objects_stay_as_they_are() -> None:
    """
    REG-11, VAL-9: depth, cap and options are worked out beside the request, not in it.
    """
    provider, given = Entered(), {"tokens": 5}
    with runtime_with(provider) as runtime:
        parent = runtime.start("parents", "wait", max_depth=4).get(timeout=PATIENCE)
        run = runtime.start("tested", "go", parent=parent, options=given, max_depth=7)
        run.get(timeout=PATIENCE).dispose().get(timeout=PATIENCE)

    (order,) = provider.orders
    assert (1, 4, None) == (order.depth, order.cap, order.request.label)
    assert {"tokens": 5} == order.options == given
    assert order.options is not given
    assert 7 == order.request.features.max_depth
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        order.request.label = "mine"  # type: ignore[misc]


def test_what_the_caller_changes_after_the_start_changes_nothing() -> None:
    """
    VAL-13: a request is read when it is made, and not when somebody comes to it.
    """
    provider, given = Entered(), {"tokens": 5}
    with runtime_with(provider, Limits(live=1, queue=True)) as runtime:
        first = runtime.start("parents", "wait").get(timeout=PATIENCE)
        start = runtime.start("tested", "go", options=given)
        given["tokens"] = 6
        first.dispose().get(timeout=PATIENCE)
        start.get(timeout=PATIENCE).dispose().get(timeout=PATIENCE)

    assert [{"tokens": 5}] == [dict(order.options) for order in provider.orders]
