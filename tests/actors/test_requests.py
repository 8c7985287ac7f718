"""What a start may ask for, and that wrong requests are refused before anything exists."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest

from retinue.actors import Cancellation, Capabilities, Limits, Run, Runtime
from retinue.backends.scripted import Echo, Hold, Item, Scripted
from retinue.protocol.delegation import NO_CAPABILITIES
from retinue.protocol.errors import (
    InvalidAgent,
    InvalidContent,
    InvalidDepth,
    InvalidLimit,
    InvalidRequest,
    NoProvider,
    RetinueError,
    StartCancelled,
)
from retinue.protocol.provider import OpenOrder
from tests.doubles import PATIENCE


def test_capabilities_cannot_be_flipped_for_everybody() -> None:
    """
    REG-19: the record that providers share is frozen.
    """
    with pytest.raises(AttributeError):
        NO_CAPABILITIES.persona = True  # type: ignore[misc]


@pytest.mark.parametrize(
    "max_depth",
    [-1, 1.5, math.nan, math.inf, -math.inf, 2**53, -0.0, "1", True, [1]],
    ids=repr,
)
def test_what_is_no_depth_is_refused_before_the_provider_is_called(
    runtime: Runtime, max_depth: Any
) -> None:
    """
    VAL-2: each of these would make a comparison silently permissive.
    """
    runtime.register(Scripted([], name="never entered")).get(timeout=PATIENCE)

    with pytest.raises(InvalidDepth):
        runtime.start("never entered", "hi", max_depth=max_depth).get(timeout=PATIENCE)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"prompt": None}, InvalidContent),
        ({"prompt": 7}, InvalidContent),
        ({"prompt": []}, InvalidContent),
        ({"prompt": ["a", 7]}, InvalidContent),
        ({"provider": ""}, InvalidRequest),
        ({"provider": None}, InvalidRequest),
        ({"label": 7}, InvalidRequest),
        ({"persona": 7}, InvalidRequest),
        ({"options": ["a"]}, InvalidRequest),
        ({"agent": 7}, InvalidAgent),
        ({"deadline": 0}, InvalidLimit),
        ({"deadline": "soon"}, InvalidLimit),
        ({"limits": {"live": 1}}, InvalidLimit),
    ],
    ids=repr,
)
def test_a_request_that_is_wrong_is_refused_in_its_reply(
    runtime: Runtime, arguments: dict[str, Any], error: type[Exception]
) -> None:
    """
    VAL-1: every field has a shape; the call itself never raises.
    """
    given: dict[str, Any] = {"provider": "scripted", "prompt": "hi", **arguments}
    start = runtime.start(**given)

    with pytest.raises(error):
        start.get(timeout=PATIENCE)
    assert () == tuple(runtime.tree())


def test_a_token_is_needed_to_be_one(runtime: Runtime) -> None:
    """
    VAL-1: what cannot cancel is refused, and not ignored.
    """
    with pytest.raises(InvalidRequest, match="Cancellation"):
        runtime.start("scripted", "hi", cancel="stop").get(timeout=PATIENCE)  # type: ignore[arg-type]


def test_a_tripped_token_is_seen_before_the_provider_is(runtime: Runtime) -> None:
    """
    VAL-4: not even whether there is such a provider is looked at.
    """
    token = Cancellation()
    token.cancel("gone home")

    with pytest.raises(StartCancelled, match="gone home"):
        runtime.start("nobody", "hi", cancel=token).get(timeout=PATIENCE)


def test_a_request_says_what_the_run_shows(runtime: Runtime) -> None:
    """
    VAL-1, REG-11: label and provider on the run, and no name where none was given.
    """
    run: Run = runtime.start("scripted", "hi", label="greeting").get(timeout=PATIENCE)

    assert ("scripted", "greeting", None, 0) == (run.provider, run.label, run.name, run.depth)


@pytest.mark.parametrize("inherits", [True, False])
def test_inheriting_grants_nothing(runtime: Runtime, *, inherits: bool) -> None:
    """
    REG-13: a provider that inherits and one that does not are asked the same questions.
    """
    provider = Scripted(
        name="either", inherits_context=inherits, capabilities=Capabilities(persona=True)
    )
    runtime.register(provider).get(timeout=PATIENCE)

    run = runtime.start("either", "hi", persona="a pirate").get(timeout=PATIENCE)

    assert "hi" == run.result.get(timeout=PATIENCE).text
    with pytest.raises(RetinueError, match="depth_limit"):
        runtime.start("either", "hi", max_depth=1).get(timeout=PATIENCE)


def test_a_start_that_waited_while_its_provider_left_enters_nothing() -> None:
    """
    REG-15: admitted to the queue, and its provider is gone when its turn comes.
    """
    entered = list[OpenOrder]()

    def note(order: OpenOrder) -> Iterable[Item]:
        entered.append(order)
        return [Echo()]

    first = Scripted([Hold()], name="first")
    with Runtime([first], limits=Limits(live=1, queue=True)) as runtime:
        leaving = Scripted(note, name="leaving")
        remove = runtime.register(leaving).get(timeout=PATIENCE)
        run = runtime.start("first", "go").get(timeout=PATIENCE)
        start = runtime.start("leaving", "go")
        assert remove()
        run.dispose().get(timeout=PATIENCE)

        with pytest.raises(NoProvider, match="leaving"):
            start.get(timeout=PATIENCE)

    assert [] == entered
