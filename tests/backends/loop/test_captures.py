"""Captures of structured results: by their call alone, after every guard, and once."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from retinue.actors import DeterministicDispatcher, Runtime, Tool
from retinue.backends.inprocess import InProcess
from retinue.protocol.content import ToolResult
from retinue.protocol.errors import NoProvider, NotDelivered
from retinue.protocol.model import Answer
from retinue.protocol.result import ABORTED, COMPLETED, SCHEMA
from retinue.protocol.tool import Guard
from tests.backends.loop.cities import BAD, CITY, GOOD, city, gives, started
from tests.backends.loop.models import Talker, calls, says, told


def test_what_is_called_before_the_result_runs_and_what_comes_after_does_not(
    runtime: Runtime,
) -> None:
    """
    STR-7: earlier calls of the same answer run normally; later ones are denied by name, and
    no guard can bring them back.
    """
    ran: list[str] = []

    def agree(call: Any, _: ToolResult, __: Any) -> ToolResult:
        """Make a success of anything."""
        return ToolResult(call.call_id, "agreed")

    note = Tool("note", lambda text: ran.append(text), is_concurrent=True)  # noqa: PLW0108
    answer = calls(
        ("a", "note", {"text": "before"}),
        ("b", "structured_output", GOOD),
        ("c", "note", {"text": "after"}),
        ("d", "structured_output", {"name": "Bonn", "size": "small"}),
    )
    agent = city(Talker(answer), tools=[note], guards=[Guard(lambda *_: None, agree)])
    run = started(runtime, agent)

    assert GOOD == run.result.get().structured
    assert ["before"] == ran
    denied = [line for line in told(run) if "given already" in line]
    assert (["c", "d"], True) == (
        [line[0] for line in denied],
        "note comes after" in denied[0],
    )


def test_a_guard_after_the_call_has_the_last_word(runtime: Runtime) -> None:
    """
    STR-4, STR-5, STR-6: what is blocked afterwards is not captured, whatever id the next
    call has; the turn goes on, and the log and the result agree.
    """
    verdicts = ["not yet", None]

    def judge(_: Any, result: ToolResult, __: Any) -> str | None:
        """Block the first."""
        return verdicts.pop(0) if not result.is_error else None

    second = {"name": "Bonn", "size": "small"}
    model = Talker(gives(GOOD), gives(second))
    run = started(runtime, city(model, guards=[Guard(after=judge)]))

    assert second == run.result.get().structured
    assert "r0: not yet" in told(run)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_id_that_comes_again_promotes_nothing(runtime: Runtime, when: str) -> None:
    """
    STR-6: a capture that failed stays out, though its id is that of a later call, which is
    denied before or after it is made.
    """
    blocked: list[str] = []

    def block(*_: Any) -> str:
        """Block each call."""
        blocked.append("no")
        return "no"

    def let(*_: Any) -> str | None:
        """Block all calls but the first."""
        return "no" if blocked else None

    guards = [Guard(let if when == "before" else None, block)]
    model = Talker(gives(GOOD), gives(GOOD), says("I cannot"))
    run = started(runtime, city(model, guards=guards))

    result = run.result.get()

    assert (SCHEMA, None, 3) == (result.stop_reason, result.structured, len(model.requests))
    assert ["r0: no", "r0: no"] == [line for line in told(run) if line.startswith("r0: ")]


def test_a_guard_may_change_what_is_shown_and_the_value_stays(runtime: Runtime) -> None:
    """
    STR-5: accepted with other words, the original value is captured.
    """

    def reword(call: Any, _: ToolResult, __: Any) -> ToolResult:
        """Say it nicely."""
        return ToolResult(call.call_id, "thank you")

    run = started(runtime, city(Talker(gives(GOOD)), guards=[Guard(after=reword)]))

    assert GOOD == run.result.get().structured
    assert "r0: thank you" in told(run)


def test_a_cancel_after_the_capture_still_carries_the_value() -> None:
    """
    RES-16: wherever the cancel strikes, a value that was committed is in the result; thirty
    calls that are denied behind it are long enough to be struck.
    """
    behind = [(f"n{number}", "note", dict[str, Any]()) for number in range(30)]
    answer = calls(("r0", "structured_output", GOOD), *behind)
    found: set[tuple[str, bool]] = set()
    for moment in range(0, 60, 3):
        dispatcher = DeterministicDispatcher(2)
        with Runtime(dispatcher=dispatcher) as runtime:
            run = started(runtime, city(Talker(answer), tools=[Tool("note", lambda: "noted")]))
            dispatcher.inject(dispatcher.steps + moment, partial(run.cancel, "enough"))
            result = run.result.get()

            is_captured = 'r0: {"recorded": true}' in told(run)
            assert (GOOD if is_captured else None) == result.structured
            found.add((result.stop_reason, is_captured))

    assert {(ABORTED, False), (ABORTED, True), (COMPLETED, True)} == found | {(COMPLETED, True)}


def test_steering_after_a_capture_is_not_taken_and_told_so(runtime: Runtime) -> None:
    """
    STR-22, RUN-20: nothing that waits has the turn spend another request; its sender hears.
    """
    receipts: list[Any] = []

    def answer(_: Any) -> Answer:
        """Be steered while the result is given."""
        receipts.append(run.steer("and another thing"))
        return gives(GOOD)

    run: Any = started(runtime, city(Talker(answer)))

    assert GOOD == run.result.get().structured
    with pytest.raises(NotDelivered):
        receipts[0].get()


def test_a_provider_that_goes_leaves_its_structured_child_as_it_is(runtime: Runtime) -> None:
    """
    STR-11, REG-14: its tool and its demand are its own, in every request that follows.
    """
    remove = runtime.register(InProcess("plugin")).get()
    model = Talker(lambda _: (remove(), gives(BAD))[1], gives(GOOD))
    run = runtime.start("plugin", "which?", agent=city(model), output_schema=CITY).get()

    assert GOOD == run.result.get().structured
    first, second = model.requests
    assert (first.tools, first.instructions) == (second.tools, second.instructions)
    with pytest.raises(NoProvider):
        runtime.start("plugin", "which?", agent=city(model), output_schema=CITY).get()
