"""Options of ours as settings of pydantic-ai: every one is honoured, or refused by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from retinue.protocol.errors import ModelFailed

_ALIASES: Final = {"stop": "stop_sequences"}
# Retries are the gate's alone, one for all children.
_NOT_OFFERED: Final = frozenset(("max_retries", "framing_announcement", "tool_choice"))


class Settings:
    """What one model can be set to."""

    def __init__(self, model: Model, name: str) -> None:
        self._name = name
        self._known = _known(model)
        self._ignored = {str(setting) for setting in model.unsupported_settings}

    def read(self, options: Mapping[str, Any]) -> ModelSettings:
        """
        Translate options.

        Raises:
            ModelFailed: one is unknown, or the model would ignore it; all are named.
        """
        given = {_ALIASES.get(option, option): value for option, value in options.items()}
        if isinstance(given.get("stop_sequences"), str):
            given["stop_sequences"] = [given["stop_sequences"]]
        unknown = [option for option in given if option not in self._known]
        if unknown:
            raise ModelFailed(
                f"{self._name}: unknown options: {', '.join(unknown)}; it knows"
                f" {', '.join(sorted(self._known))}"
            )
        ignored = [option for option in given if option in self._ignored]
        if ignored:
            raise ModelFailed(
                f"{self._name}: would ignore the options {', '.join(ignored)}; leave them out"
            )
        if "max_retries" not in self._ignored:
            given["max_retries"] = 0
        return cast("ModelSettings", given)


def _known(model: Model) -> frozenset[str]:
    """Collect the settings of all models, and those that only this kind of model has."""
    known = set(ModelSettings.__annotations__)
    for kind in type(model).__mro__:
        module = sys.modules.get(kind.__module__)
        for name, value in vars(module).items() if module is not None else ():
            if name.endswith("ModelSettings") and kind.__module__.startswith("pydantic_ai.models."):
                known.update(getattr(value, "__annotations__", {}))
    return frozenset(known - _NOT_OFFERED)
