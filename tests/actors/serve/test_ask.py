"""`retinue ask`, called in this process with a scripted model: no key and no network."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from retinue.actors import Runtime
from retinue.actors.serve.ask import Question, tools_at
from retinue.actors.serve.commands import app
from retinue.protocol.errors import InvalidRequest

DELEGATING: dict[str, list[Any]] = {
    "": [
        {
            "text": "Let me look.",
            "calls": [
                {"name": "subagent", "arguments": {"description": "look up", "prompt": "Look."}}
            ],
        },
        {"text": "It is blue.", "expect": "blue"},
    ],
    "0": [{"text": "It is blue.", "expect": "Look."}],
}
Asks = Callable[..., Result]


@pytest.fixture(name="ask")
def make_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asks:
    """Give what asks a question of a script, in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RETINUE_MODEL", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def ask(script: Any, *options: str, question: str = "What colour?", stdin: str = "") -> Result:
        (tmp_path / "script.json").write_text(json.dumps(script))
        named = ("--model", "scripted:script.json")
        return CliRunner().invoke(app, ["ask", question, *named, *options], input=stdin)

    return ask


def test_a_question_is_answered_by_an_agent_that_delegates(ask: Asks) -> None:
    """The text alone goes to stdout where nobody watches; who worked goes to stderr."""
    result = ask(DELEGATING)

    assert (0, "It is blue.\n") == (result.exit_code, result.stdout)
    started, ended = result.stderr.splitlines()
    assert "(look up) has started, a child of" in started
    assert "(look up) ended completed," in ended
    assert ended.endswith(" tokens")


def test_one_object_holds_everything(ask: Asks) -> None:
    """--json: text, reason, ids, what was spent by the agent and by all, and each child."""
    result = ask(DELEGATING, "--json")

    assert 0 == result.exit_code
    report = json.loads(result.stdout)
    assert ("It is blue.", "completed", False, None, []) == tuple(
        report[key] for key in ("text", "stop_reason", "partial", "structured", "abandoned")
    )
    (child,) = report["children"]
    assert (report["run_id"], "look up", "spawn", "completed") == tuple(
        child[key] for key in ("parent_id", "label", "provider", "stop_reason")
    )
    assert (2, 1, 3) == tuple(
        usage["requests"] for usage in (report["usage"], child["usage"], report["total"])
    )


def test_the_question_comes_from_stdin(ask: Asks) -> None:
    """- reads it, byte for byte."""
    result = ask([{"text": "yes", "expect": "two\nlines"}], question="-", stdin="two\nlines\n")

    assert (0, "yes\n") == (result.exit_code, result.stdout)


def test_the_model_may_stand_in_the_environment(
    ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RETINUE_MODEL is the default of --model."""
    ask(["hi"])
    monkeypatch.setenv("RETINUE_MODEL", f"scripted:{tmp_path / 'script.json'}")

    result = CliRunner().invoke(app, ["ask", "hello"])

    assert (0, "hi\n") == (result.exit_code, result.stdout)


def test_tools_come_from_the_working_directory(ask: Asks, tmp_path: Path) -> None:
    """--tools MODULE:NAMES imports functions, Tools, sources and lists of them."""
    (tmp_path / "my_tools_a.py").write_text(
        'def add(a: int, b: int) -> int:\n    "Add."\n    return a + b\n'
        'def twice(x: int) -> int:\n    "Double."\n    return 2 * x\nBOTH = [add, twice]\n'
    )
    call = {"calls": [{"name": "twice", "arguments": {"x": 21}}]}

    result = ask([call, {"text": "42", "expect": "42"}], "--tools", "my_tools_a:BOTH")

    assert (0, "42\n") == (result.exit_code, result.stdout)


def test_instructions_and_limits_reach_the_agent(
    ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the options say is what the run is started with."""
    seen: list[Question] = []
    agents: list[Any] = []
    begin = Question.start

    def start(self: Question, runtime: Runtime, agent: Any, cancel: Any) -> Any:
        seen.append(self)
        agents.append(agent)
        return begin(self, runtime, agent, cancel)

    monkeypatch.setattr(Question, "start", start)
    (tmp_path / "part.txt").write_text("You are brief.")
    options = ["--instructions", "@part.txt", "--max-live", "4", "--requests", "5"]
    result = ask(["hi"], *options, "--tokens", "900", "--cost", "0.5", "--deadline", "60")

    assert 0 == result.exit_code
    (question,), (agent,) = seen, agents
    limits = question.limits
    assert limits is not None
    assert (4, 5, 900, 0.5, 60.0) == (
        limits.live,
        limits.requests,
        limits.tokens,
        limits.cost,
        question.deadline,
    )
    assert "You are brief." == agent.instructions
    assert ["subagent"] == [repr(tool)[1:9] for tool in agent.tools]


def test_it_may_be_told_to_work_alone(ask: Asks) -> None:
    """--no-delegate: the tool is not there, and calling it is an error of the script."""
    result = ask(DELEGATING, "--no-delegate")

    assert 1 == result.exit_code
    assert "subagent" in result.stderr


def test_the_depth_is_the_trees(ask: Asks) -> None:
    """--max-depth 0: every start is refused in words, and the agent goes on."""
    script: Any = {"": [DELEGATING[""][0], {"text": "alone", "expect": "max_depth 0"}]}

    result = ask(script, "--max-depth", "0")

    assert (0, "alone\n") == (result.exit_code, result.stdout)


def test_a_schema_is_held_and_the_value_printed(ask: Asks, tmp_path: Path) -> None:
    """--schema FILE: the answer is a JSON value that fits."""
    (tmp_path / "schema.json").write_text('{"type": "object", "required": ["colour"]}')
    calls = [{"calls": [{"name": "structured_output", "arguments": {"colour": "blau"}}]}]

    plain = ask(calls, "--schema", "schema.json")
    report = ask(calls, "--schema", "schema.json", "--json")

    assert {"colour": "blau"} == json.loads(plain.stdout)
    assert {"colour": "blau"} == json.loads(report.stdout)["structured"]


def test_an_answer_in_text_is_asked_for_again_once(ask: Asks, tmp_path: Path) -> None:
    """STR-14: with --schema a model that only writes text is nudged, and that is all."""
    (tmp_path / "schema.json").write_text('{"type": "object", "required": ["n"]}')
    given = {"calls": [{"name": "structured_output", "arguments": {"n": 3}}]}

    assert {"n": 3} == json.loads(ask(["Three.", given], "--schema", "schema.json").stdout)
    again = ask(["Three.", "Three, I said.", given], "--schema", "schema.json")
    assert 1 == again.exit_code


def test_the_version_is_told() -> None:
    """--version says which one is installed."""
    result = CliRunner().invoke(app, ["--version"])

    assert (0, "retinue ") == (result.exit_code, result.stdout[:8])


def test_a_recorded_question_is_played_again(ask: Asks, tmp_path: Path) -> None:
    """--record FILE, then --model recorded:FILE: the same tree without the model."""
    first = ask(DELEGATING, "--record", "tape.jsonl")
    assert (0, "It is blue.\n") == (first.exit_code, first.stdout)
    assert (tmp_path / "tape.jsonl").stat().st_size

    again = CliRunner().invoke(app, ["ask", "What colour?", "--model", "recorded:tape.jsonl"])

    assert (0, "It is blue.\n") == (again.exit_code, again.stdout)


def test_a_limit_leaves_a_partial_answer(ask: Asks) -> None:
    """Exit code 1: what there is goes to stdout, and that it is not all to stderr."""
    result = ask(DELEGATING, "--requests", "1")

    assert (1, "Let me look.\n") == (result.exit_code, result.stdout)
    assert "retinue: partial: it ended budget; what it had by then is given out" in result.stderr
    assert json.loads(ask(DELEGATING, "--requests", "1", "--json").stdout)["partial"]


def test_a_model_that_never_stops_is_stopped(ask: Asks) -> None:
    """H47: without a word about limits all runs together send 500 requests and no more."""
    script = [{"calls": [{"name": "subagent_wait", "arguments": {"run_ids": []}}]}] * 501

    result = ask(script, "--json")

    answer = json.loads(result.stdout)
    assert (1, "budget", 500) == (
        result.exit_code,
        answer["stop_reason"],
        answer["total"]["requests"],
    )


def test_time_has_an_exit_code_of_its_own(ask: Asks, tmp_path: Path) -> None:
    """Exit code 3: --deadline has passed."""
    (tmp_path / "my_tools_b.py").write_text(
        'import asyncio\nasync def nap() -> str:\n    "Nap."\n    await asyncio.sleep(3600)\n'
    )
    script = [{"text": "Wait.", "calls": [{"name": "nap"}]}]

    result = ask(script, "--tools", "my_tools_b:nap", "--deadline", "0.2")

    assert (3, "Wait.\n") == (result.exit_code, result.stdout)
    assert "partial: it ended timeout" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tools", "no_such_module:x"], "cannot import no_such_module"),
        (["--tools", "json:nothing"], "json has no tool 'nothing'"),
        (["--tools", "json:__name__"], "json.__name__ has no tool: expected a function"),
        (["--tools", "tools.py:x"], "a module is named as in 'import', here tools"),
        (["--tools", "json"], "expected MODULE:NAME"),
        (["--instructions", "@nowhere"], "--instructions nowhere: No such file"),
        (["--schema", "nowhere"], "--schema nowhere: No such file"),
        (["--schema", "script.json"], "--schema script.json: no JSON Schema"),
        (["--model", "scripted:nowhere"], "retinue: scripted:nowhere: cannot be read: No such"),
        (["--model", "gpt"], "retinue: a model is named 'provider:model'"),
        (["--provider", "nobody"], "no provider named 'nobody'; there are spawn, fork"),
        (["--record", "no/where"], "there is no directory no for the tape"),
        (["--model", ""], "RETINUE_MODEL"),
        (["--record", "."], "recorded"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused(ask: Asks, options: list[str], words: str) -> None:
    """Exit code 2: nothing was asked, nothing was spent, and the reason is told."""
    result = ask({"0": 3} if "script.json" in options else ["never"], *options)

    assert (2, "") == (result.exit_code, result.stdout)
    assert words in result.stderr
    assert result.stderr.startswith("retinue: ")


def test_a_pipe_needs_no_dash(ask: Asks, tmp_path: Path) -> None:
    """What comes in a pipe is the question, where none is given."""
    ask(["never"])
    options = ["ask", "--model", f"scripted:{tmp_path / 'script.json'}"]

    result = CliRunner().invoke(app, options, input="why?")

    assert (0, "never\n") == (result.exit_code, result.stdout)


def test_an_empty_question_is_none(ask: Asks) -> None:
    """Exit code 2, also when stdin has nothing but a newline."""
    result = ask(["never"], question="-", stdin="\n")

    assert 2 == result.exit_code
    assert "there is no question" in result.stderr


def test_a_module_that_breaks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its own code raises."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_tools_c.py").write_text("1 / 0\n")

    with pytest.raises(InvalidRequest, match="cannot import my_tools_c: ZeroDivisionError"):
        tools_at("my_tools_c:x")
