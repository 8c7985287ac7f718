"""
The arguments of a tool: from a function's signature to a JSON Schema, and back to keywords.

Rule 1: what cannot be described is refused before a run exists, never in mid-turn.
Rule 2: a call's violations are found all at once, each with its JSON pointer.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from retinue.protocol.dialect import compiled, schema_violations, value_violations
from retinue.protocol.errors import InvalidAgent, InvalidArguments, InvalidContent, InvalidSchema
from retinue.protocol.parameters import Parameter, parameters_of, plain_function
from retinue.protocol.payload import json_copy, payload_violations, pointer_to

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

    from retinue.protocol.tool import Tool

NOT_DONE: Final = "INVALID_ARGS: the call of {name!r} was not made, its arguments do not fit"
# How much of arguments that are no JSON object their model is shown again.
_SHOWN: Final = 200


@attrs.frozen
class Arguments:
    """
    What a tool takes; made by ``arguments_of``, once per tool.

    Attributes:
        schema: the JSON Schema of an object.
        turn: the name of the parameter that is given the turn, or None.
        is_async: whether the tool is a coroutine function.
        description: what the function's docstring says first.
    """

    name: str
    schema: Mapping[str, Any]
    turn: str | None
    is_async: bool
    description: str
    parameters: tuple[Parameter, ...] = ()

    @cached_property
    def _validator(self) -> Validator:
        return compiled(cast("dict[str, Any]", self.schema))

    def taken(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return what a call's arguments are as the function takes them.

        Raises:
            InvalidArguments: they do not fit; every violation is named.
        """
        self._check_object(given)
        plain = dict(given)
        found = payload_violations(plain) or value_violations(self._validator, plain)
        built: dict[str, Any] = json_copy(plain) if not found else plain
        # A value that fits its schema may still not be one of its type.
        problems = list(found)
        for parameter in self.parameters:
            if parameter.name in built and not _names(found, parameter.name):
                try:
                    built[parameter.name] = parameter.read(built[parameter.name])
                except InvalidContent as error:
                    where = pointer_to(parameter.name)
                    problems += [_below(where, text) for text in error.violations]
        if problems:
            raise InvalidArguments(NOT_DONE.format(name=self.name), problems)
        return built

    def _check_object(self, given: Mapping[str, Any]) -> None:
        # What a model wrote that is no JSON object is kept under an empty name.
        if set(given) != {""} or "" in self.schema.get("properties", {}):
            return
        shown = str(given[""])
        cut = "" if len(shown) <= _SHOWN else f" (the first of {len(shown)} characters)"
        raise InvalidArguments(
            NOT_DONE.format(name=self.name),
            [f"the value: a JSON object is expected, and this is none{cut}: {shown[:_SHOWN]}"],
        )


def _names(found: tuple[str, ...], name: str) -> bool:
    where = pointer_to(name)
    return any(text.startswith((f"{where}:", f"{where}/")) for text in found)


def _below(where: str, violation: str) -> str:
    pointer, _, text = violation.partition(": ")
    return f"{where}{'' if pointer == 'the value' else pointer}: {text}"


def arguments_of(tool: Tool) -> Arguments:
    """
    Find what *tool* takes: by its own parameters, or by the signature of its function.

    Raises:
        InvalidAgent: nobody could call it with keywords, or a type has no JSON Schema.
    """
    function = plain_function(tool.function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidAgent(f"tool {tool.name!r}: is a generator; a tool returns its result once")
    is_async = inspect.iscoroutinefunction(function)
    try:
        found = parameters_of(tool.function, is_typed=tool.parameters is None)
        schema = found.schema() if tool.parameters is None else _given(tool.parameters)
        if tool.parameters is not None:
            found.check_properties(schema)
    except (InvalidAgent, InvalidSchema) as error:
        raise InvalidAgent(f"tool {tool.name!r}: {error}") from error
    own = () if tool.parameters is not None else found.parameters
    return Arguments(tool.name, schema, found.turn, is_async, found.description, own)


def _given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = dict(parameters)
    # Looking at a schema takes milliseconds, and the runs of one agent have the same ones.
    found = payload_violations(schema) or _violations_of(json.dumps(schema))
    if found:
        raise InvalidSchema("its parameters are no JSON Schema", found)
    if schema.get("type", "object") != "object":
        raise InvalidAgent(
            f"its parameters describe a {schema['type']}; a call's arguments are an object:"
            " {'type': 'object', 'properties': {...}}"
        )
    return cast("dict[str, Any]", json_copy({"type": "object", **schema}))


@lru_cache(maxsize=512)
def _violations_of(schema: str) -> tuple[str, ...]:
    return schema_violations(json.loads(schema))
