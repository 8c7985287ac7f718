"""
Output schemas: what a run's answer has to look like.

Rule 1: a schema is refused before anything is started (VAL-3).
Rule 2: a value is checked as it stands: text that looks like a number is text.
"""

from __future__ import annotations

import enum
import json
import re
import typing
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast
from weakref import WeakKeyDictionary

import attrs

from retinue.protocol.dialect import compiled, schema_violations, value_violations
from retinue.protocol.errors import InvalidContent, InvalidSchema
from retinue.protocol.payload import json_copy, payload_violations, pointer_to

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


# What a class's schema is, for as long as there is the class: a thousand children with one
# answer type work it out once. The OutputSchema itself would keep its class alive.
_MADE: Final[WeakKeyDictionary[type, dict[str, Any]]] = WeakKeyDictionary()


class Origin(enum.Enum):
    """What an output schema was made from."""

    JSON = "a JSON Schema"
    TYPE = "a Python type"
    PYDANTIC = "a pydantic model"
    ADAPTED = "a type with pydantic models inside"


@attrs.frozen
class OutputSchema:
    """
    What a run's answer has to look like; made by ``as_schema``.

    Attributes:
        json: the JSON Schema. It is the schema's own: change none of it.
        source: the Python type that it was made from; None for a JSON Schema.
        origin: which kind of thing it was made from.
    """

    json: Mapping[str, Any]
    source: Any = None
    origin: Origin = Origin.JSON

    @cached_property
    def _validator(self) -> Validator:
        return compiled(cast("dict[str, Any]", self.json))

    @cached_property
    def _adapter(self) -> Any:
        return _adapter_of(self.source)

    def violations(self, value: object) -> tuple[str, ...]:
        """List everything about *value* that does not fit, each with its JSON pointer."""
        return self._taken(value)[1]

    def read(self, value: object) -> Any:
        """
        Take an answer.

        Returns:
            For a Python type an instance of it: *value* itself where it is one, else one
            that is built from it; fields that the type does not know are left out. For a
            JSON Schema a copy of *value*.

        Raises:
            InvalidContent: *value* does not fit; every violation is named.
        """
        taken, found = self._taken(value)
        if found:
            raise InvalidContent("the value does not fit its schema", found)
        return taken

    def plain(self, value: object) -> Any:
        """Return an answer that fits as the JSON value that it stands for."""
        if self.origin is Origin.PYDANTIC and isinstance(value, self.source):
            return self.source.model_dump(value, mode="json")
        if self.origin is Origin.ADAPTED and payload_violations(value):
            return self._adapter.dump_python(value, mode="json", warnings=False)
        return plain_json(value)

    def _taken(self, value: object) -> tuple[object, tuple[str, ...]]:
        if _is_record(self.source) and isinstance(value, self.source):
            return value, payload_violations(self.plain(value))
        # Bytes stay what they are: as text they would pass for text.
        plain = value
        if self.origin is Origin.TYPE:
            plain = plain_json(value, _BYTES)
        elif self.origin is Origin.ADAPTED:
            plain = self.plain(value)
        found = payload_violations(plain) or value_violations(self._validator, plain)
        if found:
            return None, found
        try:
            return self._built(plain), ()
        except ValueError as error:  # what a type's own validators say
            return None, _told(error)

    def _built(self, plain: object) -> object:
        if self.origin is Origin.JSON:
            return json_copy(plain)
        if self.origin is Origin.PYDANTIC:
            return self.source.model_validate_json(json.dumps(plain))
        if self.origin is Origin.ADAPTED:
            return self._adapter.validate_json(json.dumps(plain))
        import msgspec

        return msgspec.convert(plain, self.source, str_keys=True)


def as_schema(value: object) -> OutputSchema:
    """
    Make an output schema.

    Args:
        value: a JSON Schema as a dict, or a type: an attrs class, a dataclass, a TypedDict,
            a msgspec.Struct, a pydantic model, or built-in types, as in ``list[int]`` and
            with models inside.

    Raises:
        InvalidSchema: it is neither, or a dict that is no JSON Schema; every violation is
            named.
    """
    if isinstance(value, OutputSchema):
        return value
    if _is_object(value):
        found = schema_violations(value)
        if found:
            raise InvalidSchema("no JSON Schema", found)
        return OutputSchema(json_copy(value))
    if not isinstance(value, type) and typing.get_origin(value) is None:
        raise InvalidSchema(
            "no output schema",
            [f"the value: a JSON Schema or a type is expected, not {type(value).__name__}"],
        )
    made = _MADE.get(value) if isinstance(value, type) else None
    if made is None:
        made = _checked_schema_of(value)
        if isinstance(value, type):
            _MADE[value] = made
    return OutputSchema(made, value, _origin_of(value))


def _origin_of(source: object) -> Origin:
    if hasattr(source, "model_json_schema"):
        return Origin.PYDANTIC
    return Origin.ADAPTED if _has_model_inside(source) else Origin.TYPE


def _checked_schema_of(source: object) -> dict[str, Any]:
    try:
        made = _schema_of(source)
    # Neither library has a base for what it raises on a type that it cannot take.
    except (TypeError, ValueError, NameError, AttributeError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise InvalidSchema(f"no output schema: {source!r}", [f"the value: {reason}"]) from error
    # Types may bring parts of their own, with references and defaults.
    found = schema_violations(made)
    if found:
        raise InvalidSchema(f"no output schema: {source!r}", found)
    return made


def _has_model_inside(hint: Any) -> bool:
    return any(
        hasattr(part, "model_json_schema") or _has_model_inside(part)
        for part in typing.get_args(hint)
    )


def _adapter_of(source: Any) -> Any:
    """Have pydantic read all of a type: it is there, since its models are, and no need of ours."""
    return import_module("pydantic").TypeAdapter(source)


def _schema_of(source: Any) -> dict[str, Any]:
    made: dict[str, Any]
    origin = _origin_of(source)
    if origin is Origin.PYDANTIC:
        made = source.model_json_schema()
        return made
    if origin is Origin.ADAPTED:
        made = _adapter_of(source).json_schema()
        return made
    import msgspec

    made = cast("dict[str, Any]", _with_lists(msgspec.json.schema(source)))
    return _with_plain_root(made)


def _with_plain_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Write the root where it belongs: models' tools want an object there, and no ``$ref``."""
    if schema.keys() != {"$ref", "$defs"}:
        return schema
    parts: dict[str, Any] = dict(schema["$defs"])
    name = schema["$ref"].rpartition("/")[2]
    root: dict[str, Any] = dict(parts[name])
    if f'"{schema["$ref"]}"' not in json.dumps(parts):
        del parts[name]
    return {**root, "$defs": parts} if parts else root


def _is_object(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def _is_record(source: object) -> bool:
    """Whether *source* is a class whose instances are no plain JSON."""
    return (
        isinstance(source, type)
        and source.__module__ != "builtins"
        and not typing.is_typeddict(source)
    )


_BYTES: Final = (bytes, bytearray, memoryview)


def plain_json(value: object, kept: tuple[type, ...] = ()) -> Any:
    """Take instances apart, as in a list of them; what cannot be taken apart stays."""
    if not payload_violations(value):
        return value
    import msgspec

    try:
        return _with_lists(msgspec.to_builtins(value, builtin_types=kept, str_keys=True))
    except (TypeError, ValueError, RecursionError):
        return value


def _with_lists(value: object) -> object:
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {key: _with_lists(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_with_lists(item) for item in cast("list[object]", value)]
    return value


_AT: Final = re.compile(r"^(?P<what>.*) - at (`key` in )?`\$(?P<path>.*)`$", re.DOTALL)
_KEYS: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def _told(error: ValueError) -> tuple[str, ...]:
    """List what pydantic or msgspec says of a value, each with its JSON pointer."""
    every = getattr(error, "errors", None)
    if callable(every):  # pydantic finds all at once
        faults = cast("list[dict[str, Any]]", every(include_url=False))
        return tuple(f"{pointer_to(*f['loc']) or 'the value'}: {f['msg']}" for f in faults)
    match = _AT.match(str(error))
    if match is None:
        return (f"the value: {error}",)
    keys = [key or index for key, index in _KEYS.findall(match["path"])]
    return (f"{pointer_to(*keys) or 'the value'}: {match['what']}",)
