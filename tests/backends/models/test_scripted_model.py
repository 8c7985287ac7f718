"""The scripted model: what each form of a script does, and what a drift looks like."""

from __future__ import annotations

import asyncio
import doctest
from typing import Any

import pytest

from retinue.actors import Agent, Run, RunResult, Runtime, agent
from retinue.backends.models import scripted
from retinue.backends.models.scripted import Hold, Reply, ScriptedModel
from retinue.protocol.content import Reasoning, Text, ToolCall
from retinue.protocol.errors import ModelRefused, Transient
from retinue.protocol.events import OutputDelta
from retinue.protocol.log import AssistantMessage
from retinue.protocol.model import Finish, ModelRequest
from retinue.protocol.result import Usage
from tests.doubles import PATIENCE, Probe


def look(at: str = "it") -> str:
    """Look at something."""
    return f"seen {at}"


def started(runtime: Runtime, model: ScriptedModel, prompt: str = "go", *tools: Any) -> Run:
    """Start a run that *model* works for."""
    return runtime.start("spawn", prompt, agent=Agent(model=model, tools=tools)).get(
        timeout=PATIENCE
    )


def result(runtime: Runtime, model: ScriptedModel, prompt: str = "go", *tools: Any) -> RunResult:
    """Return the result of such a run."""
    return started(runtime, model, prompt, *tools).result.get(timeout=PATIENCE)


def test_the_examples_of_the_module_run() -> None:
    """What the docstring shows is what happens."""
    results = doctest.testmod(scripted)

    assert results.attempted > 0
    assert 0 == results.failed


def test_text_is_streamed_in_words_that_are_the_text(runtime: Runtime) -> None:
    """White space is kept: the pieces joined by nothing are the answer."""
    text = "  two\nwords  and\ttail \n"
    probe = Probe()
    runtime.subscribe(probe.tell)

    run = started(runtime, ScriptedModel([text]))

    assert text == run.result.get(timeout=PATIENCE).text
    said = [letter.text for letter in probe.unread() if isinstance(letter, OutputDelta)]
    assert ["  two", "\nwords", "  and", "\ttail", " \n"] == said


def test_a_reply_is_reasoning_then_text_then_calls(runtime: Runtime) -> None:
    """What is not given an id gets one of turn, step and position, so that none repeats."""
    calls = [{"name": "look"}, ToolCall("mine", "look", {"at": "sky"})]
    model = ScriptedModel([Reply("Wait.", "hm", calls=calls), {"text": "done", "expect": "sky"}])

    run = started(runtime, model, "go", look)

    assert "done" == run.result.get(timeout=PATIENCE).text
    said = [event for event in run.transcript() if isinstance(event, AssistantMessage)]
    assert (
        Reasoning("hm"),
        Text("Wait."),
        ToolCall("call-1-1-1", "look", {}),
        ToolCall("mine", "look", {"at": "sky"}),
    ) == said[0].content


def test_a_reply_costs_one_request_and_a_token_per_word(runtime: Runtime) -> None:
    """Numbers are a function of the words, so that two runs cost the same; given ones count."""
    agent_ = Agent(model=ScriptedModel(["four little words more"]), instructions="Be brief.")

    run = runtime.start("spawn", "say it", agent=agent_).get(timeout=PATIENCE)

    assert Usage(4, 4, 1) == run.result.get(timeout=PATIENCE).usage
    priced = ScriptedModel([{"text": "a", "usage": {"cost": 0.5, "input_tokens": 9}}])
    assert Usage(9, 0, 1, 0.5) == result(runtime, priced).usage


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"text": "half", "finish": "length"}, "max-tokens"),
        ({"text": "no", "finish": Finish.REFUSAL}, "refusal"),
        (Reply(raises=ModelRefused("not this")), "refusal"),
        ({"raises": {"kind": "context-overflow", "message": "too long"}}, "error"),
        (Reply(raises=ValueError("odd")), "error"),
    ],
)
def test_an_end_is_what_the_script_says(runtime: Runtime, reply: Any, reason: str) -> None:
    """Finish reasons and failures end the turn as those of a live model do."""
    assert reason == result(runtime, ScriptedModel([reply])).stop_reason


def test_a_list_is_played_across_the_turns_of_one_resident(runtime: Runtime) -> None:
    """The second turn goes on where the first stopped."""
    resident = runtime.open(Agent(model=ScriptedModel(["one", "two"]))).get(timeout=PATIENCE)

    texts = [resident.ask("go").get(timeout=PATIENCE).text for _ in range(2)]

    assert ["one", "two"] == texts


def test_a_second_run_has_no_part_in_the_script_of_the_first(runtime: Runtime) -> None:
    """A list is for one run; who else comes is told, and by whom it is played."""
    model = ScriptedModel(["one", "two"])
    first = started(runtime, model)
    assert "one" == first.result.get(timeout=PATIENCE).text

    said = result(runtime, model).diagnostic

    assert said is not None
    assert f"this script is for one run, and {first.id} plays it" in said


def test_places_lead_to_scripts_and_the_longest_fitting_one_counts(runtime: Runtime) -> None:
    """A child's child at 0.0 is met by its own key, one at 0.1 by 0.*, one at 1 by *."""
    model = ScriptedModel(
        {"0.0": ["exact"], "0.*": lambda request: f"within {request.path[-1]}", "*": ["any"]}
    )
    leaf = Agent(model=model)

    @agent
    def middle(turn: Any) -> list[str]:
        runs = [turn.start("spawn", "go", agent=leaf).result for _ in range(3)]
        return [run.get(timeout=PATIENCE).text for run in runs]

    @agent
    def boss(turn: Any) -> list[Any]:
        below = turn.start("spawn", "go", agent=middle).result.get(timeout=PATIENCE).unwrap()
        beside = turn.start("spawn", "go", agent=leaf).result.get(timeout=PATIENCE).text
        return [*below, beside]

    run = runtime.start("spawn", "go", agent=boss).get(timeout=PATIENCE)

    assert ["exact", "within 1", "within 2", "any"] == run.result.get(timeout=PATIENCE).unwrap()


def test_a_place_without_a_script_is_named_with_those_that_have_one(runtime: Runtime) -> None:
    """Drift is loud: nobody improvises for an unexpected child."""
    said = result(runtime, ScriptedModel({"0": ["a"], "1.*": ["b"]})).diagnostic

    assert said is not None
    assert "the run at place '': has no script; there are '0', '1.*'" in said


def test_a_tool_that_is_not_offered_is_a_drift_unless_the_script_means_it(
    runtime: Runtime,
) -> None:
    """PER-6: a model that calls an unknown tool anyway reads that there is none."""
    call = {"calls": [{"name": "fly"}]}

    said = result(runtime, ScriptedModel([call]), "go", look).diagnostic
    meant = ScriptedModel([{**call, "is_unoffered": True}, {"text": "ok", "expect": "unknown"}])

    assert said is not None
    assert "calls the tool 'fly'; the request offers look" in said
    assert "ok" == result(runtime, meant, "go", look).text


def test_a_function_may_wait_and_sees_the_whole_request(runtime: Runtime) -> None:
    """An async function is awaited; what it is given is what a live model would be."""
    heard: list[ModelRequest] = []

    async def reply(request: ModelRequest) -> Any:
        return {"text": f"turn {request.turn} with {[tool.name for tool in request.tools]}"}

    model = ScriptedModel(reply, on_request=heard.append)

    assert "turn 1 with ['look']" == result(runtime, model, "hello", look).text
    assert ["hello"] == [request.messages[-1].text for request in heard]


def test_a_hold_stands_between_the_text_and_the_end(runtime: Runtime) -> None:
    """A run that stands there has no result; the answer comes when the test lets go."""
    hold = Hold()
    run = started(runtime, ScriptedModel([Reply("said", hold=hold)]))
    assert hold.reached.wait(PATIENCE)
    assert not run.result.is_done

    hold.release()

    assert "said" == run.result.get(timeout=PATIENCE).text


def test_a_cancelled_run_leaves_its_hold(runtime: Runtime) -> None:
    """Nobody stands there any more, and a release afterwards wakes nobody."""
    hold = Hold()
    run = started(runtime, ScriptedModel([Reply("said", hold=hold)]))
    assert hold.reached.wait(PATIENCE)

    run.cancel("enough").get(timeout=PATIENCE)
    run.result.get(timeout=PATIENCE)

    assert "<Hold 0 waiting>" == repr(hold)


def test_a_hold_may_let_go_twice() -> None:
    """A release that comes as the run is being cancelled finds it gone, and no harm is done."""

    class Twice:
        def park(self, go_on: Any) -> None:
            go_on()
            go_on()

        def leave(self, go_on: Any) -> None:
            pass

    wrong: list[Any] = []

    async def talk() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
        async for _ in ScriptedModel([Reply("said", hold=Twice())]).stream(ModelRequest(())):
            pass
        await asyncio.sleep(0)

    asyncio.run(talk())

    assert [] == wrong


def test_a_failure_that_is_scripted_comes_after_its_text(runtime: Runtime) -> None:
    """LOG-21: what a failed stream said is no answer; the next reply answers the retry."""
    model = ScriptedModel([Reply("lost", raises=Transient("busy", 0.0)), "kept"])

    run = started(runtime, model)

    assert "kept" == run.result.get(timeout=PATIENCE).text
