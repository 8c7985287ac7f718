"""
JSON Schema itself: whether a value is a schema, and whether another one fits it.

Rule 1: every violation is found at once, each with its JSON pointer (VAL-3).
Rule 2: nothing is fetched. A ``$ref`` points into its own schema or to a known dialect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from retinue.protocol.content import clip
from retinue.protocol.payload import json_copy, payload_violations, pointer_to

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator
    from referencing import Registry

MESSAGE_LIMIT: Final = 300
TOO_DEEP: Final = "the value: nested too deeply to be checked"
# Below these keywords a key is a name, and what it names is a schema.
NAMED: Final = frozenset(
    ("$defs", "definitions", "properties", "patternProperties", "dependentSchemas")
)
# Below these stands data, whatever it looks like.
DATA: Final = frozenset(("const", "default", "enum", "examples"))


def compiled(schema: dict[str, Any]) -> Validator:
    """Make the validator of a sound *schema*; the dialect is 2020-12 where it names none."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    # With a registry of its own the validator does not go and fetch what it lacks.
    dialect = validator_for(schema, default=Draft202012Validator)
    return dialect(schema, registry=_known_dialects())


def _known_dialects() -> Registry[Any]:
    import jsonschema_specifications  # type: ignore[import-untyped]  # has no stubs

    return cast("Registry[Any]", jsonschema_specifications.REGISTRY)


def value_violations(validator: Validator, value: Any) -> tuple[str, ...]:
    """List everything about a JSON *value* that the schema forbids."""
    try:
        return tuple(_told(error) for error in validator.iter_errors(value))
    except RecursionError:
        return (TOO_DEEP,)


def schema_violations(schema: dict[Any, Any]) -> tuple[str, ...]:
    """List every reason why *schema* is no JSON Schema; none for ``{}``, which takes all."""
    found = list(payload_violations(schema))
    # What is no JSON is known by now, and must not trip the check of the rest.
    sound: dict[str, Any] = json_copy(schema)
    try:
        found.extend(_dialect_violations(sound))
    except RecursionError:
        found.append(TOO_DEEP)
    # One fault is told once: what was no JSON is no schema either.
    first: dict[str, str] = {}
    for violation in found:
        first.setdefault(violation.partition(": ")[0], violation)
    return tuple(first.values())


def _dialect_violations(schema: dict[str, Any]) -> Iterator[str]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    named = schema.get("$schema")
    default: Any = Draft202012Validator if "$schema" not in schema else None
    # The default is what comes back for a dialect that nobody knows.
    dialect = cast(
        "type[Validator] | None", validator_for({"$schema": str(named)}, default=default)
    )
    if dialect is None:
        yield f"/$schema: {named!r} is no dialect that is known"
        return
    if schema and not any(key in dialect.VALIDATORS for key in schema):
        yield (
            f"the value: {', '.join(schema)} say nothing of what a value looks like;"
            " 'type' and 'properties' do, and {} takes everything"
        )
    meta = validator_for(dialect.META_SCHEMA)(
        dialect.META_SCHEMA, format_checker=dialect.FORMAT_CHECKER
    )
    for error in meta.iter_errors(schema):
        yield _told(error)
    for where, reference, root in _references(schema, "", schema):
        target = _target(reference, root)
        if target is None or next(meta.iter_errors(target), None):
            yield f"{where}: {reference} leads to no schema"


def _references(
    schema: object, where: str, root: dict[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Find each ``$ref``: where it stands, what it says, and the schema it is relative to."""
    if isinstance(schema, list):
        for index, item in enumerate(cast("list[object]", schema)):
            yield from _references(item, f"{where}/{index}", root)
    if not isinstance(schema, dict):
        return
    keywords = cast("dict[str, Any]", schema)
    if isinstance(keywords.get("$id"), str):
        root = keywords
    for key, value in keywords.items():
        here = where + pointer_to(key)
        if key in ("$ref", "$dynamicRef") and isinstance(value, str):
            yield here, value, root
        elif key in NAMED and isinstance(value, dict):
            for name, item in cast("dict[str, object]", value).items():
                yield from _references(item, here + pointer_to(name), root)
        elif key not in DATA:
            yield from _references(value, here, root)


def _target(reference: str, root: dict[str, Any]) -> Any:
    from referencing import Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    if reference == "#":
        return root
    known = _known_dialects()
    try:
        # A root without its parts: a part that is no schema would break the look-up.
        if reference.startswith("#/"):
            whole: dict[str, Any] = {"const": root}
            resource = Resource.from_contents(whole, default_specification=DRAFT202012)
            return resource.pointer(
                "/const" + reference[1:], resolver=known.resolver_with_root(resource)
            ).contents
        resource = Resource.from_contents(root, default_specification=DRAFT202012)
        return known.resolver_with_root(resource).lookup(reference).contents
    except (Unresolvable, AttributeError, LookupError, TypeError, ValueError):
        return None


def _told(error: ValidationError) -> str:
    where = pointer_to(*error.absolute_path) or "the value"
    return f"{where}: {clip(error.message, MESSAGE_LIMIT)}"
