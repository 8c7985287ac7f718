"""Results: what is a success, and what a diagnostic may be."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.content import Text
from retinue.protocol.errors import RunFailed
from retinue.protocol.result import (
    COMPLETED,
    DIAGNOSTIC_LIMIT,
    KNOWN_REASONS,
    TRUNCATED,
    RunResult,
    StopReason,
    TurnResult,
    Usage,
    bounded_diagnostic,
)

NOT_COMPLETED = sorted((KNOWN_REASONS - {COMPLETED}) | {StopReason("reason of tomorrow")})


@pytest.mark.parametrize("reason", NOT_COMPLETED)
def test_only_completed_is_success(reason: StopReason) -> None:
    """
    RES-1: the set of reasons is open, and one that nobody knows is a failure.
    """
    run = RunResult("a-1", reason, (Text("partial"),))
    turn = TurnResult((Text("partial"),), stop_reason=reason, run_id="a-1")

    assert not run.is_success
    assert not turn.is_success
    for result in (run, turn):
        with pytest.raises(RunFailed) as caught:
            result.unwrap()
        assert ("a-1", reason) == (caught.value.run_id, caught.value.stop_reason)


def test_a_completed_run_unwraps_to_its_text() -> None:
    """
    The text of a completed run is what its caller asked for.
    """
    assert "done" == RunResult("a-1", COMPLETED, (Text("do"), Text("ne"))).unwrap()
    assert "done" == TurnResult((Text("done"),)).unwrap()


@pytest.mark.parametrize("value", [{"n": 1}, [], 0, ""])
def test_a_structured_value_comes_before_text(value: object) -> None:
    """
    A value that was captured is what unwrapping gives, an empty one too.
    """
    assert value == RunResult("a-1", COMPLETED, (Text("text"),), structured=value).unwrap()
    assert value == TurnResult((Text("text"),), structured=value).unwrap()


@pytest.mark.parametrize("reason", sorted(KNOWN_REASONS))
def test_a_captured_value_is_kept_whatever_the_reason(reason: StopReason) -> None:
    """
    RES-16: an abort that lands after the capture still carries the value.
    """
    assert {"n": 1} == RunResult("a-1", reason, structured={"n": 1}).structured


def test_a_run_that_left_work_behind_is_no_success() -> None:
    """
    H31: a root that returned while children ran does not unwrap, and names them.
    """
    result = RunResult("a-1", COMPLETED, (Text("done"),), abandoned=("a-2", "a-3"))

    with pytest.raises(RunFailed, match="its end cancelled a-2, a-3"):
        result.unwrap()
    assert not result.is_success


def test_partial_text_is_told_with_the_failure() -> None:
    """
    RES-17: what a cancelled run had said is in the error that a caller sees.
    """
    result = RunResult("a-1", StopReason("aborted"), (Text("half a sen"),), diagnostic="stopped")

    with pytest.raises(RunFailed) as caught:
        result.unwrap()

    assert "a-1: ended aborted\nstopped\npartial output: half a sen" == str(caught.value)


def test_the_fault_is_the_cause_of_what_unwrapping_raises() -> None:
    """
    Who unwraps a failed run sees the exception that made it fail.
    """
    fault = ValueError("no such file")
    result = RunResult("a-1", StopReason("error"), error=fault)

    with pytest.raises(RunFailed) as caught:
        result.unwrap()

    assert fault is caught.value.__cause__


def test_a_diagnostic_is_no_part_of_the_output() -> None:
    """
    RES-15: text and output of a result do not contain its diagnostic.
    """
    result = RunResult("a-1", StopReason("error"), (Text("so far"),), diagnostic="quota used up")

    assert "so far" == result.text
    assert (Text("so far"),) == result.output


@pytest.mark.parametrize("text", ["x" * DIAGNOSTIC_LIMIT, "é" * (DIAGNOSTIC_LIMIT // 2), ""])
def test_a_diagnostic_that_fits_is_untouched(text: str) -> None:
    """
    RES-14: exactly 4096 bytes are left as they are.
    """
    assert text == bounded_diagnostic(text)


@pytest.mark.parametrize("character", ["x", "é", "€", "😀"])
@pytest.mark.parametrize("shift", range(4))
def test_a_diagnostic_is_cut_between_two_characters(character: str, shift: int) -> None:
    """
    RES-14: too much is cut to 4096 bytes, marker included, and no character is split.
    """
    text = "-" * shift + character * (DIAGNOSTIC_LIMIT + 1)

    bounded = bounded_diagnostic(text)

    head, last = bounded.rsplit("\n", 1)
    assert TRUNCATED == "\n" + last
    assert text.startswith(head)
    assert DIAGNOSTIC_LIMIT - 4 < len(bounded.encode()) <= DIAGNOSTIC_LIMIT


@given(st.text(st.characters() | st.characters(categories=["Cs"]), max_size=3000))
def test_a_diagnostic_can_always_be_written(text: str) -> None:
    """
    RES-14: a lone surrogate, as in the name of a file, is escaped and not fatal.
    """
    assert len(bounded_diagnostic(text).encode()) <= DIAGNOSTIC_LIMIT


def test_usage_adds_up() -> None:
    """
    The usage of a subtree is the sum of its parts.
    """
    total = Usage(1, 2, 3, 0.5) + Usage(10, 20, 30, 0.25)

    assert Usage(11, 22, 33, 0.75) == total


def test_a_result_survives_pickle() -> None:
    """
    A result that crosses a process boundary is equal to what it was.
    """
    result = RunResult("a-1", COMPLETED, (Text("done"),), {"n": 1}, usage=Usage(1, 2))

    assert result == pickle.loads(pickle.dumps(result))  # noqa: S301  # our own bytes
