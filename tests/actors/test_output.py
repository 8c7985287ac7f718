"""What a turn says on its way is kept, whatever becomes of it, and what it is told is exact."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from retinue.actors import Agent, Runtime, Tool
from retinue.protocol.content import Data, Reasoning, Text, ToolCall
from retinue.protocol.errors import InvalidContent, RunFailed
from retinue.protocol.events import OutputDelta
from retinue.protocol.limits import NO_LIMITS, Limits
from retinue.protocol.result import ABORTED, COMPLETED, ERROR, SCHEMA
from tests.actors.behaviours import WAYS, ended, opened, started
from tests.doubles import PATIENCE, Gate, Probe

KINDS = pytest.mark.parametrize("make", WAYS)


@KINDS
def test_partial_text_is_kept_when_the_turn_fails(runtime: Runtime, make: Any) -> None:
    """
    H39: what was said last before the error is the output, and unwrapping tells it.
    """

    def work(turn: Any) -> None:
        turn.say("half")
        turn.say("more than half")
        raise ValueError("odd")

    result = ended(started(runtime, make(work)))

    assert (ERROR, "more than half") == (result.stop_reason, result.text)
    with pytest.raises(RunFailed, match="partial output: more than half"):
        result.unwrap()


def test_partial_text_is_kept_when_the_run_is_cancelled(runtime: Runtime) -> None:
    """
    RES-17: pieces of a stream count, when nothing was said in one piece.
    """
    gate = Gate()

    def behaviour(turn: Any) -> None:
        turn.delta("one ")
        turn.delta("")
        turn.delta("two")
        gate.wait()

    run = started(runtime, behaviour)
    assert gate.reached.wait(PATIENCE)
    run.cancel("enough").get(timeout=PATIENCE)
    result = ended(run)
    gate.open()

    assert (ABORTED, "one two") == (result.stop_reason, result.text)


@KINDS
@pytest.mark.parametrize(
    ("said", "streamed", "returned", "output"),
    [
        ((), ("a", "b"), None, (Text("ab"),)),
        (("said",), ("a",), None, (Text("said"),)),
        (("said",), (), "returned", (Text("returned"),)),
        (("said",), (), "", (Text(""),)),
        ((), ("a",), "returned", (Text("returned"),)),
        ((Reasoning("hm"),), ("a",), None, (Reasoning("hm"),)),
        (("text", ToolCall("c", "read", {})), (), None, (ToolCall("c", "read", {}),)),
        ((), (), None, ()),
    ],
)
def test_the_last_word_is_the_output(
    runtime: Runtime, make: Any, said: Any, streamed: Any, returned: Any, output: Any
) -> None:
    """
    RES-9: what was returned, else what was said last, else the stream; blocks count, and
    not their text.
    """

    def work(turn: Any) -> Any:
        for piece in streamed:
            turn.delta(piece)
        for content in said:
            turn.say(content)
        return returned

    result = ended(started(runtime, make(work)))

    assert (COMPLETED, output) == (result.stop_reason, result.output)


@KINDS
def test_deltas_reach_subscribers_in_order(runtime: Runtime, make: Any) -> None:
    """
    Each with the id of its run; an empty piece is none.
    """
    probe = Probe()

    def hear(event: object) -> None:
        if isinstance(event, OutputDelta):
            probe.tell(event)

    def work(turn: Any) -> None:
        for piece in ("a", "", "b"):
            turn.delta(piece)

    end = runtime.subscribe(hear)
    run = started(runtime, make(work))
    ended(run)
    runtime.tree()
    end()

    assert [OutputDelta(run.id, "a"), OutputDelta(run.id, "b")] == probe.unread()


@KINDS
def test_what_is_no_content_cannot_be_said(runtime: Runtime, make: Any) -> None:
    """
    The error stands where the mistake is.
    """

    def work(turn: Any) -> str:
        with pytest.raises(InvalidContent, match=r"say\(\)"):
            turn.say(object())
        with pytest.raises(InvalidContent):
            turn.say([])
        with pytest.raises(InvalidContent, match=r"delta\(\)"):
            turn.delta(5)
        return "fine"

    assert "fine" == ended(started(runtime, make(work))).text


@attrs.frozen
class Song:
    """A result of a class."""

    title: str
    year: int


@KINDS
def test_a_value_that_satisfies_its_schema_is_structured(runtime: Runtime, make: Any) -> None:
    """
    An instance of the class that was asked for, or JSON that satisfies the schema.
    """
    song = Song("Air", 1731)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    made = ended(started(runtime, make(lambda _: song), output_schema=Song))
    plain = ended(started(runtime, make(lambda _: {"n": 1}), output_schema=schema))

    assert song == made.unwrap()
    assert (Data({"title": "Air", "year": 1731}),) == made.output
    assert {"n": 1} == plain.unwrap()


@KINDS
@pytest.mark.parametrize("value", [{"n": "x", "more": 1}, "text", None, [1]])
def test_a_value_that_violates_its_schema_is_a_failure(
    runtime: Runtime, make: Any, value: Any
) -> None:
    """
    H73: the reason is `schema`, every violation is told, and a text is kept.
    """
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }

    result = ended(started(runtime, make(lambda _: value), output_schema=schema))

    assert (SCHEMA, None) == (result.stop_reason, result.structured)
    assert (value if isinstance(value, str) else "") == result.text
    if isinstance(value, dict):
        assert "/n" in str(result.diagnostic)
        assert "more" in str(result.diagnostic)
    with pytest.raises(RunFailed):
        result.unwrap()


@KINDS
def test_a_persona_shadows_the_instructions_of_one_run(runtime: Runtime, make: Any) -> None:
    """
    PER-3: an empty one shadows with nothing, an absent one inherits; nobody else sees it.
    """
    agent = Agent(make(lambda turn: turn.instructions), instructions="Be kind.")
    personas: list[dict[str, Any]] = [{}, {"persona": "Be a pirate."}, {"persona": ""}, {}]

    texts = [ended(started(runtime, agent, **persona)).text for persona in personas]

    assert ["Be kind.", "Be a pirate.", "", "Be kind."] == texts


@KINDS
def test_options_are_overridden_field_by_field(runtime: Runtime, make: Any) -> None:
    """
    VAL-9: what the start does not mention is the agent's; neither mapping is changed.
    """
    own, given = {"model": "m", "cap": 5}, {"cap": 3, "new": True}
    agent = Agent(make(lambda turn: dict(turn.options)), options=own)

    assert {"model": "m", "cap": 5} == ended(started(runtime, agent)).unwrap()
    assert {"model": "m", "cap": 3, "new": True} == (
        ended(started(runtime, agent, options=given)).unwrap()
    )
    assert ({"model": "m", "cap": 5}, {"cap": 3, "new": True}) == (own, given)


@KINDS
def test_a_filter_takes_tools_out_of_a_turn(runtime: Runtime, make: Any) -> None:
    """
    PER-4, PER-6: what is filtered cannot be reached, and the agent keeps all for others.
    """
    tools = (Tool("read", str.upper), Tool("write", str.lower))
    agent = Agent(make(lambda turn: sorted(turn.tools)), tools=tools)
    filters: list[Any] = [None, {"allow": ("read",)}, {"deny": ("read",)}, {"allow": ()}]

    kept = [ended(started(runtime, agent, tool_filter=one)).unwrap() for one in filters]

    assert [["read", "write"], ["read"], ["write"], []] == kept


@KINDS
def test_a_turn_knows_where_it_stands(runtime: Runtime, make: Any) -> None:
    """
    Its run, depth, cap and limits, as they were given.
    """
    limits = Limits(live=3)

    def work(turn: Any) -> list[Any]:
        return [turn.run.id, turn.depth, turn.max_depth, turn.limits == limits, turn.number]

    run = started(runtime, make(work), max_depth=4, limits=limits)
    plain = opened(runtime, make(lambda turn: [turn.max_depth, turn.limits == NO_LIMITS]))

    assert [run.id, 0, 4, True, 1] == ended(run).unwrap()
    assert [None, True] == plain.ask("go").get(timeout=PATIENCE).unwrap()
