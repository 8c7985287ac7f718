"""Structured results of models: captured once, after every guard, or an honest failure."""

from __future__ import annotations

from typing import Any, TypedDict

import attrs
import pytest

from retinue.actors import Runtime, Tool
from retinue.protocol.model import Answer
from retinue.protocol.result import COMPLETED
from tests.backends.loop.cities import BAD, CITY, GOOD, city, gives, started
from tests.backends.loop.models import ONE, Talker, says, told


def test_one_request_captures_the_result(runtime: Runtime) -> None:
    """
    STR-1, STR-2: the child has the tool with the schema for its parameters, the call ends
    the turn, and exactly one request is spent.
    """
    model = Talker(gives(GOOD))
    run = started(runtime, city(model))

    result = run.result.get()

    assert (COMPLETED, GOOD, GOOD) == (result.stop_reason, result.structured, result.unwrap())
    (tool,) = model.requests[0].tools
    assert ("structured_output", CITY) == (tool.name, tool.parameters)
    assert 1 == result.usage.requests
    assert 'r0: {"recorded": true}' in told(run)


def test_the_demand_stands_at_the_end_of_the_instructions(runtime: Runtime) -> None:
    """
    STR-13, STR-10: the base prompt is undisturbed, the words are the same every time, and a
    plain agent has neither section nor tool.
    """
    model = Talker(gives(GOOD), gives(GOOD), says("plain"))
    agent = city(model, instructions="You know cities.")
    for _ in range(2):
        started(runtime, agent).result.get()
    runtime.start("spawn", "hello", agent=agent).get().result.get()

    first, second, plain = model.requests
    assert first.instructions == second.instructions
    assert first.instructions.startswith("You know cities.\n\n")
    assert "structured_output" in first.instructions
    assert ("You know cities.", ()) == (plain.instructions, plain.tools)


def test_a_result_that_does_not_fit_is_tried_again_in_the_turn(runtime: Runtime) -> None:
    """
    STR-3, H73: enum, required and additionalProperties are checked, every violation is in
    the answer to the model, nothing is staged, and it may try again.
    """
    model = Talker(gives(BAD), gives(GOOD))
    run = started(runtime, city(model))

    assert GOOD == run.result.get().unwrap()
    refusal = next(line for line in told(run) if line.startswith("r0: "))
    assert "INVALID_ARGS" in refusal
    assert all(word in refusal for word in ("name", "huge", "mayor"))
    assert 2 == len(model.requests)


@attrs.frozen
class Place:
    """A place."""

    name: str
    size: int = 1


class Row(TypedDict):
    """A row."""

    name: str


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        (Place, {"name": "Rome", "size": 3}, Place("Rome", 3)),
        (Row, {"name": "Rome"}, {"name": "Rome"}),
        (list[int], {"result": [1, 2]}, [1, 2]),
        ({"type": "string", "minLength": 2}, {"result": "ok"}, "ok"),
        (list[Place], {"result": [{"name": "x"}]}, [Place("x")]),
    ],
    ids=["attrs", "TypedDict", "list", "string", "list of attrs"],
)
def test_a_class_comes_back_as_its_instance(
    runtime: Runtime, schema: Any, arguments: dict[str, Any], expected: Any
) -> None:
    """
    A class is taken in place of a schema; what is no object is asked for as ``result``.
    """
    model = Talker(gives(arguments))

    result = started(runtime, city(model), schema).result.get()

    assert expected == result.structured
    assert "object" == model.requests[0].tools[0].parameters["type"]


def test_a_pydantic_model_comes_back_as_its_instance(runtime: Runtime) -> None:
    """
    Its own validators are heard, and the model may try again.
    """
    pydantic = pytest.importorskip("pydantic")
    town = pydantic.create_model("Town", name=(str, ...), people=(int, pydantic.Field(gt=0)))
    model = Talker(gives({"name": "Rome", "people": -1}), gives({"name": "Rome", "people": 3}))

    result = started(runtime, city(model), town).result.get()

    assert town(name="Rome", people=3) == result.structured


def test_two_children_have_each_its_own_schema(runtime: Runtime) -> None:
    """
    STR-10, H41: concurrent children of one agent see only what is theirs.
    """
    other = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    def answer(request: Any) -> Answer:
        """Answer as the schema wants it."""
        wants_n = "n" in request.tools[0].parameters["properties"]
        return gives({"n": 1} if wants_n else GOOD)

    agent = city(Talker(*[answer] * 8))
    runs = [started(runtime, agent, schema) for schema in (CITY, other) * 4]

    assert [GOOD, {"n": 1}] * 4 == [run.result.get().structured for run in runs]


def test_an_unsupported_schema_is_refused_before_there_is_a_child(runtime: Runtime) -> None:
    """
    VAL-3: every violation is listed, and no request is sent.
    """
    model = Talker()
    schema = {"type": "objekt", "properties": {"a": {"type": 3}}}

    with pytest.raises(Exception, match="objekt") as caught:
        started(runtime, city(model), schema)

    assert "/properties/a/type" in str(caught.value)
    assert 0 == len(model.requests)


def test_the_tool_is_the_structured_childs_alone(runtime: Runtime) -> None:
    """
    STR-1, STR-11: elsewhere it is an unknown tool; a filter does not take it (PER-5).
    """
    plain = runtime.start("spawn", "go", agent=city(Talker(gives(GOOD), says("oh")))).get()
    plain.result.get()
    assert any("unknown tool 'structured_output'" in line for line in told(plain))

    noted = Tool("note", str)
    model = Talker(gives(GOOD))
    run = started(runtime, city(model, tools=[noted]), tool_filter={"allow": []})

    assert GOOD == run.result.get().structured
    assert ["structured_output"] == [tool.name for tool in model.requests[0].tools]
    assert ONE == run.result.get().usage
