"""Tapes of models as files: what stands on a line, and what a spoiled one is told."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from retinue.actors import Agent, Runtime, agent
from retinue.backends.models._tape import folded, unfolded
from retinue.backends.models.recorded import RecordedModel
from retinue.backends.models.scripted import Reply, ScriptedModel
from retinue.protocol.errors import ModelFailed
from tests.backends.models.taping import CALL, answered, lines, record
from tests.doubles import PATIENCE


def test_a_request_holds_only_what_is_new_in_it(tape: Path) -> None:
    """A tape grows with what was said, and not with its square."""
    record(tape, [CALL, CALL, "done"])

    first, second, third = [line["request"] for line in lines(tape)]

    assert ["look"] == [tool["name"] for tool in first["tools"]]
    assert {"step", "kept", "messages"} == set(second)
    assert [1, 3] == [second["kept"], third["kept"]]
    assert [2, 2] == [len(second["messages"]), len(third["messages"])]


def test_lines_stay_whole_under_many_children_at_once(tape: Path) -> None:
    """Each line is written in one piece, whoever else writes."""
    model = RecordedModel(tape, ScriptedModel(lambda _: "x" * 5000), mode="record")
    child = Agent(model=model)

    @agent
    def parent(turn: Any) -> int:
        runs = [turn.start("spawn", "go", agent=child) for _ in range(50)]
        return len([run.result.get(timeout=PATIENCE) for run in runs])

    with Runtime() as runtime:
        runtime.start("spawn", "go", agent=parent).get().result.get(timeout=PATIENCE)

    assert {str(number) for number in range(50)} == {line["place"] for line in lines(tape)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"mode": "play"}, "a mode is 'replay' or 'record', not 'play'"),
        ({"mode": "record"}, "to record needs a model"),
        ({"mode": "record", "model": 3}, "a model is a name as"),
        ({"model": ScriptedModel([])}, "a replay asks no model"),
        ({}, "cannot be read: No such file or directory; record it first"),
    ],
)
def test_what_makes_no_sense_is_refused(tape: Path, arguments: Any, said: str) -> None:
    """Errors teach, before anything is asked."""
    with pytest.raises(ModelFailed) as caught:
        RecordedModel(tape, **arguments)

    assert said in str(caught.value)


def test_what_is_recorded_may_be_a_name(runtime: Runtime, tape: Path, tmp_path: Path) -> None:
    """It is resolved as an agent's model is, and its gate is the model's own."""
    script = tmp_path / "script.json"
    script.write_text('["hello"]', encoding="utf-8")
    model = RecordedModel(tape, f"scripted:{script}", mode="record")

    assert f"scripted:{script}" == model.name
    assert "hello" == answered(runtime, model).text
    assert 1 == len(lines(tape))


def test_a_model_that_breaks_is_a_failure_on_the_tape(runtime: Runtime, tape: Path) -> None:
    """A replay of it fails as well, and does not wait for what never came."""
    assert "error" == record(tape, [Reply("half", raises=ValueError("odd"))]).stop_reason

    played = answered(runtime, RecordedModel(tape))

    assert ("error", "ValueError('odd')") == (played.stop_reason, played.diagnostic)


def test_a_tape_is_not_recorded_over(tape: Path) -> None:
    """Two recordings in one file would be neither."""
    record(tape, ["hello"])

    with pytest.raises(ModelFailed) as caught:
        RecordedModel(tape, ScriptedModel([]), mode="record")

    assert "is no empty file" in str(caught.value)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text + '{"tree": 0', "line 3 is no line of a tape"),
        (lambda text: text + "3\n", "line 3 is no line of a tape"),
        (lambda text: text.replace('"finish": "stop"', '"finish": "?"'), "line 2 is no line"),
        (lambda text: text.split("\n", 1)[1], "tree 0, place '': a line is missing or twice"),
        (lambda text: text + text, "a line is missing or twice"),
    ],
)
def test_a_tape_that_is_torn_says_where(tape: Path, spoil: Any, said: str) -> None:
    """A half line is what a crash leaves; nothing of it is played."""
    record(tape, [CALL, "done"])
    tape.write_text(spoil(tape.read_text(encoding="utf-8")), encoding="utf-8")

    with pytest.raises(ModelFailed) as caught:
        RecordedModel(tape)

    assert said in str(caught.value)


def test_a_line_that_was_written_late_is_played_in_its_place(runtime: Runtime, tape: Path) -> None:
    """What was cancelled may be written after what came next; numbers say the order."""
    record(tape, [CALL, "done"])
    first, second = tape.read_text(encoding="utf-8").splitlines()
    tape.write_text(f"{second}\n{first}\n", encoding="utf-8")

    assert "done" == answered(runtime, RecordedModel(tape)).text


@pytest.mark.parametrize(
    "now",
    [
        {"step": 2, "instructions": "a", "messages": ["one", "two"]},
        {"step": 2, "instructions": "b", "messages": ["other", "two"]},
        {"step": 2, "instructions": "a", "messages": []},
    ],
)
def test_what_is_folded_unfolds(now: dict[str, Any]) -> None:
    """Whatever a request has in common with the one before, it is whole again."""
    before = {"step": 1, "instructions": "a", "messages": ["one"]}

    assert now == unfolded(folded(now, before), before)


def test_a_replay_may_go_to_another_process_and_a_recording_may_not(tape: Path) -> None:
    """The copy reads the tape for itself; two that record would each be the first."""
    live = RecordedModel(tape, ScriptedModel([]), mode="record")
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(live)
    record(tape, ["hello"])

    copy: RecordedModel = pickle.loads(pickle.dumps(RecordedModel(tape)))  # noqa: S301 - our own

    assert 1 == copy.unplayed
