"""The recorded model: what goes on tape, what comes back, and what a miss looks like."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest

from retinue.actors import Agent, DeterministicDispatcher, Runtime, agent
from retinue.backends.models import recorded
from retinue.backends.models.recorded import RecordedModel
from retinue.backends.models.scripted import Hold, Reply, ScriptedModel
from retinue.protocol.errors import Transient
from retinue.protocol.events import OutputDelta
from retinue.protocol.result import Usage
from tests.backends.models.taping import CALL, answered, lines, look, record
from tests.doubles import PATIENCE, Probe


def test_the_examples_of_the_module_run() -> None:
    """What the docstring shows is what happens."""
    results = doctest.testmod(recorded)

    assert results.attempted > 0
    assert 0 == results.failed


def test_a_run_comes_back_with_its_calls_its_words_and_its_usage(
    runtime: Runtime, tape: Path
) -> None:
    """The tools run again; what the model said comes from the tape, streamed in pieces."""
    usage = {"input_tokens": 7, "output_tokens": 3, "cost": 0.25}
    live = record(tape, [CALL, {"reasoning": "hm", "text": "all is well", "usage": usage}])
    replay = RecordedModel(tape)
    probe = Probe()
    runtime.subscribe(probe.tell)

    played = answered(runtime, replay)

    assert "all is well" == played.text == live.text
    assert live.usage == played.usage
    assert played.usage.cost == Usage(cost=0.25).cost
    assert 0 == replay.unplayed
    said = [letter.text for letter in probe.unread() if isinstance(letter, OutputDelta)]
    assert ["all", " is", " well"] == said


def test_failures_are_on_the_tape_too(runtime: Runtime, tape: Path) -> None:
    """A retry happens again, with the seconds that the model asked for."""
    busy = Reply("half", raises=Transient("busy", 0.0))
    live = record(tape, [busy, "whole"])

    played = answered(runtime, RecordedModel(tape))

    assert "whole" == played.text == live.text
    failure, answer = lines(tape)
    assert {"kind": "transient", "message": "busy", "retry_after": 0.0} == failure["failure"]
    assert "half" == failure["text"]
    assert "answer" in answer


@pytest.mark.parametrize(
    ("prompt", "fields", "said"),
    [
        (
            "go then",
            {},
            "messages[0].content[0].text, at character 2: recorded 'go', now 'go then'",
        ),
        ("go", {"instructions": "Be brief."}, "instructions, at character 0: recorded ''"),
        ("go", {"options": {"seed": 7}}, "options.seed: recorded nothing, now 7"),
    ],
)
def test_a_miss_shows_the_first_difference(
    runtime: Runtime, tape: Path, prompt: str, fields: dict[str, Any], said: str
) -> None:
    """Where it is, what was recorded there, and what is there now."""
    record(tape, ["hello"])

    diagnostic = answered(runtime, RecordedModel(tape), prompt, **fields).diagnostic

    assert diagnostic is not None
    assert f"recorded:{tape}: tree 0, place '', request 1 is not the one on the tape" in diagnostic
    assert said in diagnostic


def test_a_tool_that_answers_otherwise_is_a_miss(runtime: Runtime, tape: Path) -> None:
    """The difference is shown at the very result, though the messages before it agree."""
    record(tape, [CALL, "done"])

    def look(at: str) -> str:
        """Look at something."""
        return f"not seen {at}"

    given = Agent(model=RecordedModel(tape), tools=[look])
    run = runtime.start("spawn", "go", agent=given).get(timeout=PATIENCE)
    diagnostic = run.result.get(timeout=PATIENCE).diagnostic

    assert diagnostic is not None
    assert "request 2 is not the one on the tape: messages[2].content[0].text" in diagnostic
    assert "recorded 'seen sea', now 'not seen sea'" in diagnostic


def test_a_tool_that_is_new_is_a_miss(runtime: Runtime, tape: Path) -> None:
    """Lists of other lengths say so, and what only one of them has."""
    record(tape, ["hello"])

    def smell() -> str:
        """Smell."""
        return ""

    given = Agent(model=RecordedModel(tape), tools=[look, smell])
    run = runtime.start("spawn", "go", agent=given).get(timeout=PATIENCE)
    diagnostic = run.result.get(timeout=PATIENCE).diagnostic

    assert diagnostic is not None
    assert 'tools: recorded 1, now 2; the first that only now has: {"name": "smell"' in diagnostic


def test_more_requests_than_the_tape_has_are_a_miss(runtime: Runtime, tape: Path) -> None:
    """The newest message and the places of the tape are named."""
    record(tape, ["hello"])
    model = RecordedModel(tape)
    resident = runtime.open(Agent(model=model, tools=[look])).get(timeout=PATIENCE)
    assert "hello" == resident.ask("go").get(timeout=PATIENCE).text

    diagnostic = resident.ask("on").get(timeout=PATIENCE).diagnostic

    assert diagnostic is not None
    assert "request 2 is not on the tape, which has 1 of this run" in diagnostic
    assert "newest message says 'on'; the tape has the places 0:''" in diagnostic


def family(model: Any) -> Agent:
    """Make an agent without a model whose three children have one."""
    child = Agent(model=model)

    @agent
    def parent(turn: Any) -> list[str]:
        runs = [turn.start("spawn", f"child {n}", agent=child) for n in range(3)]
        return [run.result.get(timeout=PATIENCE).text for run in runs]

    return parent


def test_each_child_has_its_own_part_of_the_tape(tape: Path) -> None:
    """Children that ask at once are told apart by their place, and roots by their order."""

    def reply(request: Any) -> str:
        return f"to {request.messages[-1].text}"

    def both(model: Any, dispatcher: Any = None) -> list[Any]:
        with Runtime(dispatcher=dispatcher) as runtime:
            runs = [runtime.start("spawn", "go", agent=family(model)).get() for _ in range(2)]
            return [run.result.get(timeout=PATIENCE).unwrap() for run in runs]

    live = both(RecordedModel(tape, ScriptedModel(reply), mode="record"))
    replay = RecordedModel(tape)

    assert [["to child 0", "to child 1", "to child 2"]] * 2 == live
    assert live == both(replay, DeterministicDispatcher(seed=3))
    assert 0 == replay.unplayed
    parts = sorted((line["tree"], line["place"]) for line in lines(tape))
    assert [(tree, place) for tree in (0, 1) for place in "012"] == parts


def test_a_cancelled_request_waits_on_replay_until_it_is_cancelled(
    runtime: Runtime, tape: Path
) -> None:
    """What was visible streams again; the answer that never came does not come."""
    hold = Hold()
    with Runtime() as live:
        model = RecordedModel(tape, ScriptedModel([Reply("half", hold=hold)]), mode="record")
        run = live.start("spawn", "go", agent=Agent(model=model)).get(timeout=PATIENCE)
        assert hold.reached.wait(PATIENCE)
        run.cancel("enough").get(timeout=PATIENCE)
        assert "half" == run.result.get(timeout=PATIENCE).text
    probe = Probe()
    runtime.subscribe(lambda event: probe.tell(event) if isinstance(event, OutputDelta) else None)

    again = runtime.start("spawn", "go", agent=Agent(model=RecordedModel(tape))).get(
        timeout=PATIENCE
    )
    assert "half" == probe.expect(OutputDelta).text
    assert not again.result.is_done
    again.cancel("enough").get(timeout=PATIENCE)

    assert "half" == again.result.get(timeout=PATIENCE).text
