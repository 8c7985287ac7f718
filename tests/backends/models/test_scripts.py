"""Scripts of models: what is refused as none, and what a file of one holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retinue.actors import Agent, Runtime
from retinue.backends.models.scripted import ScriptedModel
from retinue.protocol.errors import ModelFailed
from tests.doubles import PATIENCE


def look(at: str = "it") -> str:
    """Look at something."""
    return f"seen {at}"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("text", "the script: expected a list of replies or a function, got str"),
        ({"": "text"}, "place '': expected a list of replies or a function, got str"),
        ({"a.b": []}, "'a.b' is no place"),
        ({1: []}, "1 is no place"),
        ([3], "a reply is a text, a Reply, or a dict"),
        ([{"txet": "a"}], "unknown: 'txet'"),
        ([{"text": 3}], "text: expected text, got 3"),
        ([{"calls": {"name": "a"}}], "calls: expected a list of calls, got dict"),
        ([{"calls": [{"nam": "a"}]}], "a call is a ToolCall or a dict"),
        ([{"calls": [{"name": "a", "arguments": "{}"}]}], "a call is a ToolCall or a dict"),
        ([{"usage": {"tokens": 1}}], "usage: expected a Usage or a dict"),
        ([{"finish": "stopped"}], "finish: expected one of stop, tool-calls, length, refusal"),
        ([{"raises": "busy"}], "a failure is an object as"),
        ([{"raises": {"kind": "odd"}}], "a failure is an object as"),
        ([{"hold": "park"}], "hold: expected a Hold"),
    ],
)
def test_what_is_no_script_is_refused_when_it_is_given(script: Any, said: str) -> None:
    """Errors teach: each says what was expected, before any run has begun."""
    with pytest.raises(ModelFailed) as caught:
        ScriptedModel(script)

    assert said in str(caught.value)


def test_a_file_holds_the_same_forms(runtime: Runtime, tmp_path: Path) -> None:
    """Its retry, its call and its answer are those of a script in Python."""
    file = tmp_path / "script.json"
    busy = {"raises": {"kind": "transient", "message": "busy", "retry_after": 0}}
    script = {"": [busy, {"calls": [{"name": "look", "arguments": {"at": "sea"}}]}, "done"]}
    file.write_text(json.dumps(script), encoding="utf-8")
    model = ScriptedModel.read(file)
    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=[look])).get(timeout=PATIENCE)

    assert f"scripted:{file}" == model.name
    assert "done" == run.result.get(timeout=PATIENCE).text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        ("[", "is no JSON (Expecting value: line 1 column 2 (char 1)); expected a list"),
        ("3", "the script: expected a list of replies or a function, got int"),
        ('[{"a": 1}]', "unknown: 'a'"),
    ],
)
def test_a_file_that_is_no_script_says_so_with_its_name(
    tmp_path: Path, text: str | None, said: str
) -> None:
    """Each error begins with the name of the model, and so of the file."""
    file = tmp_path / "script.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")

    with pytest.raises(ModelFailed) as caught:
        ScriptedModel.read(file)

    assert str(caught.value).startswith(f"scripted:{file}: ")
    assert said in str(caught.value)
