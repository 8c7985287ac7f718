"""The scripted provider: what each item of a script does, and what a drift looks like."""

from __future__ import annotations

import doctest
import threading
from typing import Any, Final

import pytest

from retinue.actors import Runtime
from retinue.backends import scripted
from retinue.backends.scripted import (
    Crash,
    Echo,
    End,
    Hold,
    Item,
    Refuse,
    Return,
    Say,
    Scripted,
    Spend,
    StepEdge,
    Usage,
    Use,
)
from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.errors import StartFailed
from retinue.protocol.log import Ending, ToolCalled, ToolReturned
from tests.backends.contract import result_of, scripted_run
from tests.doubles import PATIENCE

CALL: Final = ToolCall("1", "look", {"at": "it"})
SEEN: Final = ToolResult("1", "seen")


def test_the_examples_of_the_module_run() -> None:
    """
    What the docstring shows is what happens.
    """
    results = doctest.testmod(scripted)

    assert results.attempted > 0
    assert 0 == results.failed


def test_without_a_script_every_turn_answers_with_its_prompt() -> None:
    """
    The known provider `scripted` needs neither agent nor script, for any number of runs.
    """
    with Runtime() as runtime:
        runs = [runtime.start("scripted", text).get(timeout=PATIENCE) for text in ("a", "b")]
        resident = runtime.open(None, provider="scripted").get(timeout=PATIENCE)

        assert ["a", "b"] == [result_of(run).text for run in runs]
        assert ["c", "d"] == [resident.ask(text).get(timeout=PATIENCE).text for text in "cd"]


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (Ending.COMPLETED, "completed"),
        (Ending.ABORTED, "aborted"),
        (Ending.BLOCKED, "refusal"),
        (Ending.ERROR, "error"),
        (Ending.MAX_TOKENS, "max-tokens"),
        (Ending.INTERRUPTED, "error"),
    ],
)
def test_every_ending_has_its_reason_and_keeps_the_text(
    runtime: Runtime, ending: Ending, reason: str
) -> None:
    """
    RES-1, RES-2, H37, H39: nothing but completed is a success, and the text is there.
    """
    result = result_of(scripted_run(runtime, End(ending, "so far", "for a reason")))

    assert (reason, "so far", "for a reason") == (
        result.stop_reason,
        result.text,
        result.diagnostic,
    )
    assert (ending is Ending.COMPLETED) is result.is_success


def test_every_ending_is_covered() -> None:
    """
    A new ending fails the test above by being absent from it.
    """
    (mark,) = test_every_ending_has_its_reason_and_keeps_the_text.pytestmark  # type: ignore[attr-defined]

    assert set(Ending) == {ending for ending, _ in mark.args[1]}


def test_a_reason_that_nobody_knows_is_a_failure(runtime: Runtime) -> None:
    """
    RES-1: the set is open, and what is not completed has failed.
    """
    result = result_of(scripted_run(runtime, End(Ending.ERROR, reason="solar-flare")))

    assert "solar-flare" == result.stop_reason
    assert not result.is_success


def test_a_refused_prompt_is_a_refusal(runtime: Runtime) -> None:
    """
    RES-6: a task that was discarded does not read as done.
    """
    result = result_of(scripted_run(runtime, Say("half"), Refuse("not on a Sunday")))

    assert ("refusal", "not on a Sunday") == (result.stop_reason, result.diagnostic)


def test_what_was_spent_adds_up(runtime: Runtime) -> None:
    """
    RES-10: a record of usage alone is no output, and counts.
    """
    run = scripted_run(runtime, Say("text", Usage(1, 2, 1)), Spend(Usage(10, 20, 1, 0.5)))

    result = result_of(run)

    assert (Usage(11, 22, 2, 0.5), "text") == (result.usage, result.text)


def test_a_tool_call_is_logged_and_no_output(runtime: Runtime) -> None:
    """
    RES-11: tool results never stand in for an answer.
    """
    run = scripted_run(runtime, Use(CALL, SEEN), Return(None))

    result = result_of(run)
    logged = [e for e in run.transcript() if isinstance(e, (ToolCalled, ToolReturned))]

    assert [ToolCalled, ToolReturned] == [type(event) for event in logged]
    assert ((), "completed") == (result.output, result.stop_reason)


def test_a_provider_says_what_it_is() -> None:
    """
    In a failing test it is told apart from the provider that it stands for.
    """
    assert "<provider spawn, scripted>" == repr(Scripted(name="spawn"))


def test_a_turn_more_than_the_script_has_fails_loudly(runtime: Runtime) -> None:
    """
    A double that improvises hides bugs.
    """
    provider = Scripted([Return("one"), Return("two")], name="short")
    runtime.register(provider).get(timeout=PATIENCE)
    run = runtime.open(None, provider="short").get(timeout=PATIENCE)

    answers = [run.ask("more").get(timeout=PATIENCE) for _ in range(3)]

    assert ["one", "two", ""] == [answer.text for answer in answers]
    assert "error" == answers[2].stop_reason
    assert isinstance(answers[2].error, AssertionError)
    assert "turn 3" in (answers[2].diagnostic or "")


def test_a_run_more_than_there_are_scripts_is_refused(runtime: Runtime) -> None:
    """
    The count of the scripts is the count of the runs.
    """
    provider = Scripted([[Return("one")], [Return("two")]], name="two")
    runtime.register(provider).get(timeout=PATIENCE)
    runs = [runtime.start("two", "go").get(timeout=PATIENCE) for _ in range(2)]

    with pytest.raises(StartFailed, match="2 were written"):
        runtime.start("two", "go").get(timeout=PATIENCE)

    assert ["one", "two"] == [result_of(run).text for run in runs]


@pytest.mark.parametrize(
    "script", [["hello"], [[Say("a")], "b"], [[Say("a"), None]], [Say("a"), [Say("b")]]], ids=repr
)
def test_what_is_no_script_is_refused_when_it_is_written(script: Any) -> None:
    """
    A typo is found where it stands, and not in a run.
    """
    with pytest.raises(TypeError):
        Scripted(script)


def test_a_hold_lets_everybody_go_at_once_and_later(runtime: Runtime) -> None:
    """
    Runs that stand at one hold go on together, and later ones do not stop.
    """
    hold = Hold()
    runs = [scripted_run(runtime, hold, Echo()) for _ in range(3)]
    assert hold.reached.wait(PATIENCE)
    waiting = repr(hold)

    hold.release()
    late = scripted_run(runtime, hold, Echo())

    assert ("<Hold 3 waiting>", "<Hold released>") == (waiting, repr(hold))
    assert ["go"] * 4 == [result_of(run).text for run in (*runs, late)]


def test_a_stopped_turn_leaves_its_hold(runtime: Runtime) -> None:
    """
    A hold that many runs stood at does not keep those that are over.
    """
    hold = Hold()
    run = scripted_run(runtime, hold)
    assert hold.reached.wait(PATIENCE)

    run.dispose().get(timeout=PATIENCE)

    assert "<Hold 0 waiting>" == repr(hold)


def test_a_script_needs_no_threads(runtime: Runtime) -> None:
    """
    A hundred runs stand at a hold, and beside the dispatcher nobody works.
    """
    hold = Hold()
    before = threading.active_count()
    runs = [scripted_run(runtime, hold, StepEdge(), Echo()) for _ in range(100)]

    assert before + 1 >= threading.active_count()
    hold.release()
    assert ["go"] * 100 == [result_of(run).text for run in runs]


@pytest.mark.parametrize("end", [None, Crash(OSError("gone")), Return("done")], ids=str)
def test_a_turn_that_ends_between_a_call_and_its_result_leaves_a_balanced_log(
    runtime: Runtime, end: Item | None
) -> None:
    """
    H46, LOG-14: cancelled, broken or just over, every call in the log has an answer.
    """
    hold = Hold()
    run = scripted_run(runtime, Use(CALL), hold, *([] if end is None else [end]))
    assert hold.reached.wait(PATIENCE)

    if end is None:
        run.cancel()
    hold.release()
    result_of(run)

    assert [CALL.call_id] == [
        event.result.call_id for event in run.transcript() if isinstance(event, ToolReturned)
    ]
