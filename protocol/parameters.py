"""
The parameters of a function: their types, defaults and words, and which one is the turn's.

A parameter annotated with Turn or BlockingTurn is given the turn, and so is a first one
called ``turn`` that has no annotation, or Any or object. A model sees neither.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any, Final, cast

import attrs

from retinue.protocol.errors import InvalidAgent, InvalidSchema
from retinue.protocol.payload import payload_violations

_TURNS: Final = frozenset(("Turn", "BlockingTurn", "AnyTurn"))
_EMPTY: Final = inspect.Parameter.empty
# Annotations that say nothing.
_ANYTHING: Final = (_EMPTY, Any, object, "Any", "typing.Any", "object")


@attrs.frozen
class Parameter:
    """One parameter that a model fills in; *reader* takes its value, None takes any JSON."""

    name: str
    schema: Mapping[str, Any]
    is_required: bool
    reader: Any = None

    def read(self, value: Any) -> Any:
        """Return *value* as the function takes it; raises InvalidContent with violations."""
        return value if self.reader is None else self.reader.read(value)


@attrs.frozen
class Parameters:
    """All parameters of one function."""

    parameters: tuple[Parameter, ...]
    turn: str | None
    takes_more: bool
    description: str

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        shared: dict[str, Any] = {}
        properties = {item.name: _moved(item.schema, shared) for item in self.parameters}
        made: dict[str, Any] = {"type": "object", "properties": properties}
        required = [item.name for item in self.parameters if item.is_required]
        if required:
            made["required"] = required
        made["additionalProperties"] = self.takes_more
        if shared:
            made["$defs"] = shared
        return made

    def check_properties(self, schema: Mapping[str, Any]) -> None:
        """Refuse a schema whose calls the function could not take."""
        named = schema.get("properties", {})
        known = {item.name for item in self.parameters}
        unknown = [] if self.takes_more else [name for name in named if name not in known]
        if unknown:
            raise InvalidAgent(
                f"its parameters name {', '.join(unknown)}, which its function does not take"
            )
        lacking = [item.name for item in self.parameters if item.is_required]
        lacking = [name for name in lacking if name not in schema.get("required", ())]
        if lacking:
            raise InvalidAgent(
                f"its function needs {', '.join(lacking)}; name them under 'required', or give"
                " them defaults"
            )


def plain_function(function: Any) -> Any:
    """Return the function behind partials, bound methods and callable objects."""
    while isinstance(function, functools.partial):
        function = cast("Any", function.func)
    if not inspect.isroutine(function) and not inspect.isclass(function):
        function = type(function).__call__
    return inspect.unwrap(getattr(function, "__func__", function))


def parameters_of(function: Callable[..., Any], *, is_typed: bool) -> Parameters:
    """
    Read the signature of *function*; without *is_typed* its annotations are not looked at.

    Raises:
        InvalidAgent: it cannot be called with keywords, or an annotation cannot be found.
        InvalidSchema: a type has no JSON Schema.
    """
    try:
        listed = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        if is_typed:
            raise InvalidAgent(
                "its function has no signature to read; wrap it in a 'def', or give"
                " Tool(parameters={...})"
            ) from None
        return Parameters((), None, True, _words(function)[0])
    turn = next((p.name for i, p in enumerate(listed) if _is_turn(p, is_first=i == 0)), None)
    named = [p for p in listed if p.name != turn and p.kind is not p.VAR_KEYWORD]
    _check_kinds(listed, is_typed=is_typed)
    named = [p for p in named if p.kind is not p.VAR_POSITIONAL]
    description, told = _words(function)
    hints = _hints(function, named) if is_typed else {}
    return Parameters(
        tuple([_parameter(p, hints.get(p.name, Any), told.get(p.name, "")) for p in named]),
        turn,
        any(p.kind is p.VAR_KEYWORD for p in listed),
        description,
    )


def _check_kinds(listed: Sequence[inspect.Parameter], *, is_typed: bool) -> None:
    for item in listed:
        if item.kind is item.POSITIONAL_ONLY and item.default is _EMPTY:
            raise InvalidAgent(
                f"its parameter {item.name!r} is positional-only; a model gives arguments by name"
            )
        if item.kind is item.VAR_POSITIONAL and is_typed:
            raise InvalidAgent(f"*{item.name}: a model gives arguments by name; take a list")


def _is_turn(item: inspect.Parameter, *, is_first: bool) -> bool:
    note = item.annotation
    if note in _ANYTHING:
        return is_first and item.name == "turn"
    if isinstance(note, str):
        return note.rpartition(".")[2].strip() in _TURNS
    is_ours = str(getattr(note, "__module__", "")).startswith("retinue.")
    return is_ours and getattr(note, "__name__", "") in _TURNS


def _hints(function: Any, named: Sequence[inspect.Parameter]) -> dict[str, Any]:
    made_of = plain_function(function)
    notes = {item.name: item.annotation for item in named if item.annotation is not _EMPTY}
    local = _enclosing(made_of) if inspect.isfunction(made_of) else {}
    # Without the turn's annotation: what it names is often imported for type checkers alone.
    holder: Any = SimpleNamespace(__annotations__=notes)
    space = getattr(made_of, "__globals__", {})
    try:
        return typing.get_type_hints(holder, space, local, include_extras=True)
    except NameError as error:
        raise InvalidAgent(
            f"an annotation cannot be found: {error}; import it, or define it, at the top of the"
            " module"
        ) from error
    except (TypeError, SyntaxError, AttributeError) as error:
        raise InvalidAgent(f"an annotation is no type: {error}") from error


def _enclosing(function: FunctionType) -> dict[str, Any]:
    """Return the names of the scope around *function* that have a value by now."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # assigned after the function was made, as a run that has it is
            continue
    return found


def _parameter(item: inspect.Parameter, hint: Any, told: str) -> Parameter:
    extra = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, str)]
    if extra:
        told = extra[0]
        kept = [note for note in hint.__metadata__ if not isinstance(note, str)]
        hint = hint.__origin__ if not kept else typing.Annotated[(hint.__origin__, *kept)]
    schema: dict[str, Any] = {}
    reader = None
    if hint is not Any and hint is not object:
        reader = _reader(item.name, hint)
        schema = dict(reader.json)
    if told:
        schema["description"] = told
    if item.default is not _EMPTY:
        from retinue.protocol.schema import plain_json

        plain = plain_json(item.default)
        if not payload_violations(plain):
            schema["default"] = plain
    return Parameter(item.name, schema, item.default is _EMPTY, reader)


def _reader(name: str, hint: Any) -> Any:
    from retinue.protocol.schema import as_schema

    try:
        return as_schema(hint)
    except InvalidSchema as error:
        raise InvalidSchema(f"parameter {name!r} has no JSON Schema", error.violations) from error


def _moved(schema: Mapping[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """Move a schema's parts to the root of all, under other names where two differ."""
    parts: dict[str, Any] = dict(schema.get("$defs", {}))
    names: dict[str, str] = {}
    for name, part in parts.items():
        free, number = name, 2
        while free in shared and shared[free] != part:
            free, number = f"{name}-{number}", number + 1
        names[name] = free
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    for name, part in parts.items():
        shared[names[name]] = _renamed(part, names)
    return cast("dict[str, Any]", _renamed(rest, names))


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    if isinstance(schema, list):
        return [_renamed(item, names) for item in cast("Sequence[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        start = "#/$defs/"
        if key == "$ref" and isinstance(value, str) and value.startswith(start):
            name, slash, rest = value[len(start) :].partition("/")
            made[key] = f"{start}{names.get(name, name)}{slash}{rest}"
        else:
            made[key] = _renamed(value, names)
    return made


def _words(function: Any) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and what it says of each parameter."""
    text = inspect.getdoc(plain_function(function)) or ""
    if not text:
        return "", {}
    first = " ".join(text.split("\n\n", 1)[0].split())
    if "Args:" not in text:
        return first, {}
    from docstring_parser.google import parse

    return first, {
        item.arg_name: " ".join(item.description.split())
        for item in parse(text).params
        if item.description
    }
