"""The contract of every provider: what a run answers, and what is kept of one that fails."""

from __future__ import annotations

import asyncio

import pytest

from retinue.actors import Runtime
from retinue.backends.scripted import Delta, Echo, Hold, Item, Raise, Return, Say
from retinue.protocol.content import Data, Reasoning, Text
from retinue.protocol.errors import RunFailed
from retinue.protocol.events import OutputDelta
from retinue.protocol.log import UserMessage
from tests.backends.contract import Case, UnprintableError, only, result_of, started, told
from tests.doubles import PATIENCE, Probe


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "  two\r\nlines\t",
        "\u00e9 e\u0301 \U0001f9ea \u202e",
        "nul \x00 and half \ud83d",
        "x" * 70_000,
    ],
    ids=["empty", "white space", "unicode", "odd characters", "long"],
)
def test_a_prompt_arrives_byte_for_byte(case: Case, runtime: Runtime, prompt: str) -> None:
    """
    H26: what the run sees, what its log holds and what it says back is the prompt as given.
    """
    run = started(runtime, case, Echo(), prompt=prompt)

    result = result_of(run)
    logged = [event for event in run.transcript() if isinstance(event, UserMessage)]

    assert (Text(prompt),) == result.output
    assert [(Text(prompt),)] == [event.message.content for event in logged]


def test_a_prompt_of_blocks_stays_as_it_is(case: Case, runtime: Runtime) -> None:
    """
    H26: blocks arrive in their order, and none is merged, dropped or made into text.
    """
    blocks = (Text("a"), Text(""), Data({"n": [1, None]}), Text("b"))

    run = started(runtime, case, Echo(), prompt=blocks)

    assert blocks == result_of(run).output


def test_a_result_is_the_same_however_often_it_is_read(case: Case, runtime: Runtime) -> None:
    """
    H28: one result per run, on its future and by its id, any number of times.
    """
    run = started(runtime, case, Return("once"))

    first = result_of(run)
    run.dispose().get(timeout=PATIENCE)

    assert first is result_of(run)
    assert "once" == first.unwrap()
    assert run.id == first.run_id


def test_a_run_that_raises_ends_error_and_says_why(case: Case, runtime: Runtime) -> None:
    """
    RUN-3: the future of a failed run fulfils; it holds the reason, the error and its text.
    """
    problem = ValueError("the ledger is wet")
    run = started(runtime, case, Raise(problem))

    result = result_of(run)

    assert "error" == result.stop_reason
    assert result.error is problem
    assert "the ledger is wet" in (result.diagnostic or "")
    assert not result.is_success
    with pytest.raises(RunFailed, match="the ledger is wet"):
        result.unwrap()


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError(), GeneratorExit()],
    ids=lambda error: type(error).__name__,
)
def test_no_exception_of_a_run_reaches_its_neighbours(
    case: Case, runtime: Runtime, error: BaseException
) -> None:
    """
    H85: what derives from BaseException ends its own run, and nobody else.
    """
    hold = Hold()
    neighbour = started(runtime, case, hold, Return("still here"))
    assert hold.reached.wait(PATIENCE)

    result = result_of(started(runtime, case, Raise(error)))
    hold.release()

    assert "error" == result.stop_reason
    assert isinstance(result.error, Exception)
    assert "still here" == result_of(neighbour).text


def test_an_error_that_cannot_be_printed_is_a_failure_like_any_other(
    case: Case, runtime: Runtime
) -> None:
    """
    LIF-7's unprintable value, on the run's side: the run ends, and its result can be shown.
    """
    result = result_of(started(runtime, case, Raise(UnprintableError())))

    assert "error" == result.stop_reason
    assert "cannot be printed" in (result.diagnostic or "")
    assert "cannot be printed" in repr(result)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ([Delta("thin"), Delta(""), Delta("king")], "thinking"),
        ([Say("first"), Say("last")], "last"),
        ([Delta("piece"), Say("whole")], "whole"),
        ([Say("whole"), Delta("piece")], "whole"),
        ([], ""),
    ],
    ids=["pieces", "last message", "message after pieces", "pieces after message", "nothing"],
)
def test_partial_text_is_kept_when_a_run_fails(
    case: Case, runtime: Runtime, said: list[Item], kept: str
) -> None:
    """
    H39, RES-9, RES-11, RES-17: the last message, else the pieces, outlive the failure.
    """
    result = result_of(started(runtime, case, *said, Raise(ValueError("odd"))))

    assert ("error", kept) == (result.stop_reason, result.text)


def test_partial_text_is_kept_when_a_run_is_cancelled(case: Case, runtime: Runtime) -> None:
    """
    H39, RES-17: what was said before a cancel is in the result.
    """
    hold = Hold()
    run = started(runtime, case, Say("half of it"), hold)
    assert hold.reached.wait(PATIENCE)

    run.cancel().get(timeout=PATIENCE)

    assert ("aborted", "half of it") == (result_of(run).stop_reason, result_of(run).text)


def test_a_message_without_text_counts_as_said(case: Case, runtime: Runtime) -> None:
    """
    RES-9: non-empty counts blocks and not text, so that reasoning alone is an output.
    """
    run = started(runtime, case, Say("early"), Say(Reasoning("hm")))

    assert (Reasoning("hm"),) == result_of(run).output


def test_a_run_may_complete_with_nothing(case: Case, runtime: Runtime) -> None:
    """
    RES-9: no message and no piece is no output, and a success all the same.
    """
    result = result_of(started(runtime, case, Return(None)))

    assert ("completed", (), "") == (result.stop_reason, result.output, result.unwrap())


def test_a_json_value_is_the_structured_result(case: Case, runtime: Runtime) -> None:
    """
    What is no text comes back as the value that it is.
    """
    value = {"name": "Ada", "years": [1815, 1852]}

    result = result_of(started(runtime, case, Return(value)))

    assert value == result.unwrap()
    assert (Data(value),) == result.output


def test_a_value_that_is_no_content_is_a_failure(case: Case, runtime: Runtime) -> None:
    """
    Nothing is turned into text by guessing: the run ends error, and says what is expected.
    """
    result = result_of(started(runtime, case, Return(object())))

    assert "error" == result.stop_reason
    assert "expected text" in (result.diagnostic or "")


def test_a_value_that_meets_its_schema_is_structured(case: Case, runtime: Runtime) -> None:
    """
    RES-16: the value that the schema accepts is on the result.
    """
    schema = {"type": "object", "required": ["n"]}

    result = result_of(started(runtime, case, Return({"n": 1}), output_schema=schema))

    assert {"n": 1} == result.unwrap()


def test_a_value_that_breaks_its_schema_ends_the_run_schema(case: Case, runtime: Runtime) -> None:
    """
    A shortfall is no success, has a reason of its own, and names what was broken.
    """
    schema = {"type": "object", "required": ["n"]}

    result = result_of(started(runtime, case, Return({"m": 1}), output_schema=schema))

    assert "schema" == result.stop_reason
    assert "'n'" in (result.diagnostic or "")
    assert result.structured is None


def test_pieces_of_text_are_told_as_they_come(case: Case, runtime: Runtime) -> None:
    """
    Subscribers hear each piece of a run, in order; RES-11: an empty one is none.
    """
    probe = Probe()
    runtime.subscribe(only(probe, OutputDelta))

    run = started(runtime, case, Delta("a"), Delta(""), Delta("b"), Delta("c"), Echo())
    result_of(run)
    run.dispose().get(timeout=PATIENCE)

    assert [OutputDelta(run.id, text) for text in "abc"] == told(runtime, probe)
