"""A model that does not give its structured result: tries, nudges, and the honest failure."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, DeterministicDispatcher, Runtime
from retinue.protocol.model import Finish
from retinue.protocol.result import ABORTED, COMPLETED, ERROR, MAX_TOKENS, SCHEMA
from tests.backends.loop.cities import BAD, CITY, GOOD, city, gives, started
from tests.backends.loop.models import Talker, says, told


def test_after_so_many_tries_the_reason_is_schema(runtime: Runtime) -> None:
    """
    H72: a model that never meets its schema ends after five tries, with the last violations.
    """
    model = Talker(*[gives(BAD) for _ in range(9)])
    run = started(runtime, city(model))

    result = run.result.get()

    assert (SCHEMA, None, 5) == (result.stop_reason, result.structured, len(model.requests))
    assert not result.is_success
    assert "5 times" in str(result.diagnostic)
    assert "huge" in str(result.diagnostic)


def test_how_many_tries_is_the_agents_to_say(runtime: Runtime) -> None:
    """
    H72: bad tries within one answer count as well.
    """
    model = Talker(gives(BAD, BAD), gives(GOOD))

    result = started(runtime, city(model, schema_tries=2)).result.get()

    assert (SCHEMA, 1) == (result.stop_reason, len(model.requests))


def test_an_end_without_a_result_is_a_failure_at_once(runtime: Runtime) -> None:
    """
    STR-9, STR-16, STR-20: without nudges nothing is asked again; the text is kept.
    """
    model = Talker(says("Rome, I think"))

    result = started(runtime, city(model)).result.get()

    assert (SCHEMA, "Rome, I think", 1) == (result.stop_reason, result.text, len(model.requests))
    assert "without calling structured_output" in str(result.diagnostic)


@pytest.mark.parametrize(("nudges", "replies"), [(1, 1), (3, 3)])
def test_a_nudge_is_a_message_and_counts(runtime: Runtime, nudges: int, replies: int) -> None:
    """
    STR-14, STR-16: each nudge is in the log and costs a request; when they are used up the
    failure says how many there were.
    """
    model = Talker(*[says("Rome") for _ in range(replies + 1)])
    run = started(runtime, city(model, nudges=nudges))

    result = run.result.get()

    assert (SCHEMA, nudges + 1) == (result.stop_reason, len(model.requests))
    assert f"after {nudges} nudge" in str(result.diagnostic)
    nudged = [line for line in told(run) if line.startswith("user: You ended without")]
    assert nudges == len(nudged)


def test_a_nudged_model_gives_its_result(runtime: Runtime) -> None:
    """
    STR-14: it succeeds the second time.
    """
    model = Talker(says("Rome"), gives(GOOD))

    result = started(runtime, city(model, nudges=2)).result.get()

    assert (COMPLETED, GOOD, 2) == (result.stop_reason, result.structured, len(model.requests))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(ValueError("odd"), ERROR), (says("half", Finish.LENGTH), MAX_TOKENS)],
    ids=["error", "tokens"],
)
def test_only_a_clean_end_is_nudged(runtime: Runtime, reply: Any, reason: str) -> None:
    """
    STR-15: an errored or token-capped turn keeps its own reason and costs no further request.
    """
    model = Talker(reply)

    result = started(runtime, city(model, nudges=3)).result.get()

    assert (reason, 1) == (result.stop_reason, len(model.requests))


@pytest.mark.parametrize("moment", range(30))
def test_a_cancel_that_races_a_nudge_ends_it(moment: int) -> None:
    """
    STR-17, STR-21: wherever the cancel strikes, also between the clean end and the nudge:
    the result is aborted, and no request and no nudge follows the cancel.
    """
    dispatcher = DeterministicDispatcher(3)
    model = Talker(*[says("Rome") for _ in range(5)])
    struck: list[tuple[int, int]] = []
    with Runtime(dispatcher=dispatcher) as runtime:
        run = started(runtime, city(model, nudges=4))

        def nudges() -> int:
            return len([1 for line in told(run) if line.startswith("user: You ended")])

        def strike() -> None:
            run.cancel("enough")
            struck.append((len(model.requests), nudges()))

        dispatcher.inject(dispatcher.steps + moment, strike)
        result = run.result.get()

        if not struck:  # it was through before
            assert SCHEMA == result.stop_reason
            return
        requests, before = struck[0]
        assert result.stop_reason in {ABORTED, SCHEMA}
        if ABORTED == result.stop_reason:
            assert len(model.requests) <= requests + 1, "at most the one on its way"
            assert nudges() == before


def test_a_cancel_inside_the_recording_of_the_end_outranks_the_shortfall(
    runtime: Runtime,
) -> None:
    """
    STR-9, STR-17: the model's answer itself cancels the run, as an observer of the turn's
    end would: aborted, one request, no nudge.
    """
    model = Talker(lambda _: (run.cancel("now"), says("Rome"))[1])
    run = started(runtime, city(model, nudges=5))

    result = run.result.get()

    assert (ABORTED, 1) == (result.stop_reason, len(model.requests))
    assert not [line for line in told(run) if line.startswith("user: You ended")]


def test_a_fork_is_not_nudged_for_its_parents_end(runtime: Runtime) -> None:
    """
    STR-23, STR-18: the seed's completed turn is not the child's; cancelled before its first
    turn it settles aborted, without a request.
    """
    model = Talker(says("Rome"))
    parent = runtime.open(Agent(model=model)).get()
    parent.ask("capital?").get()
    child = runtime.start(
        "fork", "size?", agent=city(model, nudges=3), parent=parent, output_schema=CITY
    ).get()
    child.cancel("at once")

    result = child.result.get()

    assert (ABORTED, (), 1) == (result.stop_reason, result.output, len(model.requests))
