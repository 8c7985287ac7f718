"""Whole runs on models by name, against a server of our own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from retinue.actors import Agent, Runtime
from retinue.backends.models.pydantic_ai import PydanticModel
from retinue.protocol.errors import MissingExtra, ModelFailed, StartFailed
from retinue.protocol.events import OutputDelta
from retinue.protocol.log import AssistantMessage
from retinue.protocol.result import Usage
from tests.backends.models.dialects import Refused, Streamed
from tests.backends.models.loopback import Loopback
from tests.backends.models.talk import ANTHROPIC_MODEL, CHAT_MODEL, MODELS, model_at
from tests.doubles import PATIENCE, Gate, Probe

LOOKS = Streamed(pieces=("Let me see.",), calls=(("c1", "look", '{"at": "sea"}'),), tokens=(10, 5))


def look(at: str) -> str:
    """Look at something."""
    return f"seen {at}"


@pytest.fixture(name="keys")
def make_keys(monkeypatch: pytest.MonkeyPatch, server: Loopback) -> None:
    """Have the server and a key in the environment, as the vendors document."""
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.root}/v1")


@pytest.mark.parametrize("name", MODELS)
def test_a_tool_makes_the_round_trip(server: Loopback, runtime: Runtime, name: str) -> None:
    """Its call comes from the vendor, its result goes there; text streams, usage adds up."""
    server.queue(LOOKS, Streamed(pieces=("It is", " blue."), tokens=(30, 7)))
    probe = Probe()
    runtime.subscribe(probe.tell)
    working = Agent(model=model_at(server, name), tools=[look], instructions="Be brief.")

    run = runtime.start("spawn", "Which colour?", agent=working).get(timeout=PATIENCE)
    result = run.result.get(timeout=PATIENCE)

    assert "It is blue." == result.unwrap()
    assert Usage(40, 12, 2) == result.usage
    said = [letter.text for letter in probe.unread() if isinstance(letter, OutputDelta)]
    assert ["Let me see.", "It is", " blue."] == said
    assert "seen sea" in str(server.heard[1])


@pytest.mark.parametrize("name", MODELS)
def test_a_cancel_hangs_up(server: Loopback, runtime: Runtime, name: str) -> None:
    """LOG-22: the server sees the connection go, and what was visible is kept."""
    server.queue(Streamed(pieces=("half",), until_gone=True))
    probe = Probe()
    runtime.subscribe(lambda event: probe.tell(event) if isinstance(event, OutputDelta) else None)
    run = runtime.start("spawn", "go", agent=Agent(model=model_at(server, name))).get()
    assert "half" == probe.expect(OutputDelta).text

    run.cancel("enough").get(timeout=PATIENCE)

    result = run.result.get(timeout=PATIENCE)
    assert ("aborted", "half") == (result.stop_reason, result.text)
    assert server.was_left.wait(PATIENCE)
    [said] = [event for event in run.transcript() if isinstance(event, AssistantMessage)]
    assert said.interrupted


def test_text_is_there_before_the_answer_is_whole(server: Loopback, runtime: Runtime) -> None:
    """Subscribers hear the first words while the server still holds the rest back."""
    gate = Gate()
    server.queue(Streamed(pieces=("first",), hold=gate))
    probe = Probe()
    runtime.subscribe(lambda event: probe.tell(event) if isinstance(event, OutputDelta) else None)
    run = runtime.start("spawn", "go", agent=Agent(model=model_at(server, CHAT_MODEL))).get()

    assert "first" == probe.expect(OutputDelta).text
    assert not run.result.is_done
    gate.open()

    assert "first" == run.result.get(timeout=PATIENCE).text


def test_a_failure_that_passes_is_tried_again(server: Loopback, runtime: Runtime) -> None:
    """H76: a 429 that says when to come back, then an answer; each request counts."""
    busy = Refused(429, kind="rate_limit_error", headers=(("retry-after-ms", "1"),))
    server.queue(busy, busy, Streamed(pieces=("kept",)))
    working = Agent(model=model_at(server, CHAT_MODEL))

    run = runtime.start("spawn", "go", agent=working).get(timeout=PATIENCE)
    result = run.result.get(timeout=PATIENCE)

    assert "kept" == result.text
    assert 3 == result.usage.requests == len(server.heard)


def test_a_refusal_of_the_vendor_is_a_refusal(server: Loopback, runtime: Runtime) -> None:
    """The words that came with it are its diagnostic."""
    server.queue(Streamed(pieces=("I may not.",), finish="filter"))

    run = runtime.start("spawn", "go", agent=Agent(model=model_at(server, ANTHROPIC_MODEL))).get()
    result = run.result.get(timeout=PATIENCE)

    assert ("refusal", "I may not.") == (result.stop_reason, result.diagnostic)


@pytest.mark.usefixtures("keys")
def test_a_name_is_resolved_once_per_runtime(server: Loopback, runtime: Runtime) -> None:
    """Runs that name the same model share its connections; keys come from the environment."""
    server.queue(Streamed(pieces=("a",)), Streamed(pieces=("b",)))

    texts = [
        runtime.start("spawn", "go", agent=Agent(model=CHAT_MODEL)).get().result.get().text
        for _ in range(2)
    ]

    assert ["a", "b"] == texts
    assert ["Bearer from-environment"] * 2 == server.keys
    assert 1 == server.connections


@pytest.mark.usefixtures("keys")
def test_a_known_model_has_a_price_and_a_server_of_ones_own_has_none(
    server: Loopback, runtime: Runtime
) -> None:
    """Costs are in dollars; behind another address nobody knows what a model costs."""
    name = "openai-chat:gpt-4o"
    server.queue(*[Streamed(pieces=("a",), tokens=(1000, 1000), model="gpt-4o")] * 2)

    costs = [
        runtime.start("spawn", "go", agent=Agent(model=model)).get().result.get().usage.cost
        for model in (name, model_at(server, name))
    ]

    assert costs[0] > 0.0
    assert 0.0 == costs[1]


@pytest.mark.usefixtures("keys")
def test_two_runtimes_share_a_model_and_no_connection(server: Loopback) -> None:
    """What has an aclose is closed with each runtime that used it."""
    server.queue(*[Streamed(pieces=("a",)) for _ in range(3)])
    working = Agent(model=PydanticModel(CHAT_MODEL))

    with Runtime() as first, Runtime() as second:
        for runtime in (first, second, first):
            assert "a" == runtime.start("spawn", "go", agent=working).get().result.get().text

    assert 2 == server.connections


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("opnai:gpt-5", "there is no provider 'opnai'; there are openai"),
        ("gpt-5", "a model is named 'provider:model', as 'openai:gpt-5'; got 'gpt-5'"),
        ("openai:", "a model is named 'provider:model'"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("scripted:none.json", "scripted:none.json: cannot be read"),
        ("recorded:none.jsonl", "recorded:none.jsonl: cannot be read"),
    ],
)
def test_a_name_that_stands_for_nothing_refuses_the_start(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    """Before any turn, and again for the next who asks."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    for _ in range(2):
        with pytest.raises((ModelFailed, StartFailed)) as caught:
            runtime.start("spawn", "go", agent=Agent(model=name)).get(timeout=PATIENCE)

        assert said in str(caught.value)


def test_files_are_models_by_name(runtime: Runtime, tmp_path: Path) -> None:
    """``scripted:FILE`` plays a script."""
    file = tmp_path / "script.json"
    file.write_text('{"*": ["hello"]}', encoding="utf-8")

    run = runtime.start("spawn", "go", agent=Agent(model=f"scripted:{file}")).get()

    assert "hello" == run.result.get(timeout=PATIENCE).text


def test_a_provider_without_such_an_argument_says_what_to_use() -> None:
    """DeepSeek has one address; servers that speak as OpenAI's do are reached otherwise."""
    with pytest.raises(ModelFailed) as caught:
        PydanticModel("deepseek:deepseek-chat", base_url="http://127.0.0.1:1", api_key="k")

    assert "deepseek: takes no base_url" in str(caught.value)
    assert "'openai-chat:MODEL'" in str(caught.value)


@pytest.mark.parametrize(
    ("package", "name", "said"),
    [
        ("groq", "groq:llama", "pydantic-ai-slim[groq]"),
        ("pydantic_ai", CHAT_MODEL, "pip install 'retinue[models]'"),
    ],
)
def test_a_package_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, package: str, name: str, said: str
) -> None:
    """The error says what to install."""
    for module in [*sys.modules]:
        if module.startswith("retinue.backends.models._pydantic") or module.endswith(f".{package}"):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingExtra) as caught:
        PydanticModel(name, api_key="k")

    assert said in str(caught.value)


def test_a_start_may_name_another_model(server: Loopback, runtime: Runtime) -> None:
    """The option ``model`` of a start takes the place of the agent's."""
    server.queue(Streamed(pieces=("ok",)))
    options: dict[str, Any] = {"model": model_at(server, CHAT_MODEL)}

    run = runtime.start("spawn", "go", agent=Agent(model="scripted:none"), options=options).get()

    assert "ok" == run.result.get(timeout=PATIENCE).text
