"""
Structured results of models: the tool ``structured_output``, for one child alone.

A value is staged inside the very execution of its call and captured when that execution's
final result is a success, after every guard has spoken: nothing that is denied later, and
no other call that has the same id, can promote it (STR-4..6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from retinue.protocol.errors import InvalidArguments
from retinue.protocol.tool import Conclude, Tool

NAME: Final = "structured_output"

# The end of the instructions of a run with a schema, in the same words every time (STR-13).
SECTION: Final = (
    f"Give your result by calling the tool {NAME}, once, when it is complete: its arguments"
    " are the result. Text alone is not taken. The call ends your turn."
)
NUDGE: Final = (
    f"You ended without a result. Call the tool {NAME} now, with the result as its arguments."
)


@attrs.frozen
class Captured:
    """A captured value: as JSON, and as what was asked for."""

    value: Any
    instance: Any


class Structured:
    """The structured result of one turn."""

    __slots__ = (
        "_is_wrapped",
        "_schema",
        "bad_tries",
        "captured",
        "last_problem",
        "nudges",
        "tool",
    )

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._is_wrapped = schema.json.get("type") != "object"
        self.captured: Captured | None = None
        self.bad_tries = 0
        self.nudges = 0
        self.last_problem = ""
        self.tool = Tool(NAME, self._stage, "Give the result and end the turn.", self._parameters())

    def _parameters(self) -> Mapping[str, Any]:
        """Return the schema as one of an object, which models' tools ask for."""
        json: dict[str, Any] = dict(self._schema.json)
        if not self._is_wrapped:
            return json
        wrapper: dict[str, Any] = {
            "type": "object",
            "properties": {"result": json},
            "required": ["result"],
            "additionalProperties": False,
        }
        for key in ("$defs", "definitions"):  # references point to the root
            if key in json:
                wrapper[key] = json.pop(key)
        return wrapper

    def _stage(self, /, **arguments: Any) -> Conclude:
        value: Any = arguments.get("result") if self._is_wrapped else arguments
        violations = self._schema.violations(value)
        if violations:
            raise InvalidArguments("INVALID_ARGS: the result does not fit its schema", violations)
        return Conclude({"recorded": True}, value)

    def note(self, text: str, conclude: Conclude | None) -> None:
        """Take what came of one call in the end: its value, or one more bad try."""
        if conclude is not None:
            value = conclude.output
            self.captured = Captured(value, self._schema.read(value))
        else:
            self.bad_tries += 1
            self.last_problem = text

    def shortfall(self) -> str:
        """Say why there is no result."""
        told = f"after {self.nudges} nudges" if self.nudges else "and was not asked again"
        if not self.bad_tries:
            return f"the model ended without calling {NAME}, {told}"
        times = "once" if self.bad_tries == 1 else f"{self.bad_tries} times"
        return f"the model called {NAME} {times} and never met the schema:\n{self.last_problem}"
