"""A tape plays a whole tree again: the log of every run is the same, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retinue.actors import Agent, DeterministicDispatcher, Runtime
from retinue.actors.tools import subagent
from retinue.backends.models.recorded import RecordedModel
from retinue.backends.models.scripted import ScriptedModel
from retinue.protocol.events import RunStarted
from retinue.protocol.export import export
from retinue.protocol.model import ModelRequest


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


LEAF = Agent(name="leaf", tools=[add])


def ask_two(turn: Any) -> str:
    """Have two others work, and wait for both on this thread."""
    runs = [turn.start("spawn", f"leaf {number}", agent=LEAF) for number in range(2)]
    return "+".join([run.result.get().text for run in runs])


MIDDLE = Agent(name="middle", tools=[ask_two, subagent(agent=LEAF)])


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Write a call."""
    return {"name": name, "arguments": arguments}


def delegate(description: str, **more: Any) -> dict[str, Any]:
    """Write a call that delegates."""
    return call("subagent", description=description, prompt=f"do {description}", **more)


def talk(request: ModelRequest) -> Any:
    """Play every part of the tree: the root delegates thrice, its children too, leaves add."""
    depth, first = len(request.path) - 1, request.step == 1
    if depth == 0 and first:
        background = delegate("two", run_in_background=True)
        return {"calls": [delegate("one"), background, delegate("three")]}
    if depth == 0 and request.step == 2:
        return {"calls": [call("add", a=1, b=1)], "text": "meanwhile"}
    if depth == 1 and first:
        return {"calls": [call("ask_two"), delegate("leaf")]}
    if depth == 2 and first:
        return {"calls": [call("add", a=2, b=len(request.messages[0].text))]}
    return f"the end of {request.messages[0].text}"


def played(model: RecordedModel) -> dict[str, str]:
    """Run the tree and return the log of every run, without times."""
    dispatcher = DeterministicDispatcher(1)
    started: list[Any] = []
    with Runtime(seed=1, dispatcher=dispatcher) as runtime:

        def keep(event: object) -> None:
            if isinstance(event, RunStarted):
                started.append(runtime.find(event.run_id))

        runtime.subscribe(keep)
        root = Agent(model=model, name="root", tools=[subagent(agent=MIDDLE), add])
        result = runtime.start("spawn", "go", agent=root).get().result.get()
        assert "the end of go" == result.unwrap()
        return {run.get().id: export(run.get().log, with_time=False) for run in started}


def test_a_tree_that_is_played_again_has_the_same_logs(tmp_path: Path) -> None:
    """
    Section 10, record and replay of a whole tree: children in the foreground, in the
    background and under a sync tool, three levels deep.
    """
    tape = tmp_path / "tape.jsonl"
    recorded = played(RecordedModel(tape, ScriptedModel(talk), mode="record"))
    replay = RecordedModel(tape)

    again = played(replay)

    assert 13 == len(recorded)
    assert recorded == again
    assert 0 == replay.unplayed


def test_a_tree_under_ids_of_its_own_is_told_to_take_a_seed(tmp_path: Path) -> None:
    """What a child says is framed with its id, which is on the tape."""
    tape = tmp_path / "tape.jsonl"
    live = ScriptedModel({"": [{"calls": [delegate("one")]}, "done"], "0": ["one is done"]})
    said: list[str | None] = []
    for seed, model in (("a", RecordedModel(tape, live, mode="record")), ("b", None)):
        given = Agent(model=model or RecordedModel(tape), tools=[subagent()])
        with Runtime(seed=seed) as runtime:
            result = runtime.start("spawn", "go", agent=given).get().result.get()
        said.append(result.diagnostic)

    assert said[0] is None
    assert (said[1] or "").endswith("record and replay under Runtime(seed=...)")
