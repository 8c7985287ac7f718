"""Types with pydantic models inside: their schema, their instances, and what does not fit."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from retinue.protocol.errors import InvalidContent
from retinue.protocol.schema import as_schema


class Tune(BaseModel):
    """A tune."""

    title: str
    minutes: int = Field(default=3, gt=0)


TYPES: dict[str, tuple[Any, Any, Any]] = {
    "list": (list[Tune], [{"title": "Suzanne"}], [Tune(title="Suzanne")]),
    "dict": (dict[str, Tune], {"a": {"title": "x"}}, {"a": Tune(title="x")}),
    "union": (Tune | None, None, None),
    "pair": (tuple[int, Tune], [1, {"title": "x"}], (1, Tune(title="x"))),
}


@pytest.mark.parametrize("kind", TYPES)
def test_json_becomes_instances_and_instances_become_json(kind: str) -> None:
    """
    What a model wrote is built by pydantic; what a behaviour returned is taken as it is.
    """
    hint, plain, built = TYPES[kind]
    schema = as_schema(hint)

    assert built == schema.read(plain)
    assert built == schema.read(built)
    assert () == schema.violations(plain) == schema.violations(built)
    assert schema.violations(schema.plain(built)) == ()


def test_what_does_not_fit_is_told_with_its_place() -> None:
    """
    VAL-3: the JSON Schema and the models' own rules both speak.
    """
    schema = as_schema(list[Tune])

    assert "/0" in schema.violations([{"minutes": 3}])[0]
    assert any(
        "/1/minutes" in told
        for told in schema.violations([{"title": "a"}, {"title": "b", "minutes": 0}])
    )
    with pytest.raises(InvalidContent, match="does not fit"):
        schema.read("none")
    assert {"type": "array"} == {"type": schema.json["type"]}
