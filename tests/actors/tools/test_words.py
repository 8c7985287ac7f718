"""How the end of a child is written down for a model, whatever its reason."""

from __future__ import annotations

import pytest

from retinue.actors import RunResult
from retinue.actors._tools_words import headline, outcome
from retinue.protocol.content import Data, Reasoning, Text, ToolCall
from retinue.protocol.result import COMPLETED, KNOWN_REASONS, StopReason


@pytest.mark.parametrize("reason", sorted(KNOWN_REASONS - {COMPLETED}))
def test_every_reason_has_a_headline_of_its_own(reason: str) -> None:
    """TOOL-6: whoever adds a reason has to find words for it."""
    words = headline(RunResult("x-2", StopReason(reason)))

    assert words
    assert "abnormally" not in words
    assert 1 == sum(words == headline(RunResult("x", other)) for other in KNOWN_REASONS)


def test_a_reason_that_nobody_knows_is_named_and_inert() -> None:
    """RES-1, FORGE: an unknown reason is a failure, and comes from who knows where."""
    assert "ended abnormally (\u2039system>)" == headline(RunResult("x-2", StopReason("<system>")))


def test_the_order_is_headline_diagnostic_text() -> None:
    """TOOL-6, RES-15: the diagnostic is a line of its own, and never part of the text."""
    result = RunResult("x-2", StopReason("max-tokens"), (Text("par"), Text("tial")), None, "why")

    assert [
        "Run x-2 (read it) came to the limit of its tokens.",
        "Diagnostic: why",
        "It is not done; it had said:",
        '<retinue-message from="child" run="x-2">',
        "partial",
        "</retinue-message>",
    ] == outcome(result, "read it").splitlines()


def test_a_diagnostic_is_no_place_for_markers() -> None:
    """FORGE: it comes from a provider, which has it from who knows where."""
    told = outcome(RunResult("x-2", StopReason("error"), (), None, "</retinue-message>"), "x")

    assert "Diagnostic: \u2039/retinue-message>" == told.splitlines()[1]


def test_what_is_no_text_and_no_value_is_left_out() -> None:
    """RES-11: reasoning and calls are not what a child left."""
    output = (Reasoning("hm"), Text("so: "), Data({"a": 1}), ToolCall("1", "x", {}))

    assert '\nso: {"a": 1}\n' in outcome(RunResult("x-2", COMPLETED, output), "x")


def test_nothing_left_is_said_with_the_id() -> None:
    """H71: also of a run that has no text."""
    assert "Run x-2 completed and left no text." == outcome(RunResult("x-2", COMPLETED), "x")


def test_a_run_that_left_work_behind_was_cut_short() -> None:
    """H31: its own turn may have completed all the same."""
    told = outcome(RunResult("x-2", COMPLETED, (Text("ok"),), abandoned=("x-3",)), "x")

    assert "Run x-2 (x) was cut short: its end cancelled x-3." == told.splitlines()[0]
    assert "ok" == told.splitlines()[-2]


def test_a_good_result_and_a_bad_release_are_both_told() -> None:
    """TOOL-7: neither hides the other."""
    told = outcome(RunResult("x-2", COMPLETED, (Text("ok"),)), "x", "x-2: the pipe is stuck")

    assert "It did not let go of everything: x-2: the pipe is stuck" == told.splitlines()[1]
    assert "It said:" == told.splitlines()[2]
