"""From the name of a model to the model."""

from __future__ import annotations

import sys
import threading
from typing import Any

from retinue.protocol.model import Model, check_model


def as_model(value: Any, workplace: Any) -> Model:
    """
    Take a model, or make the one that a name or a model object of pydantic-ai stands for.

    A name is ``"scripted:FILE"``, ``"recorded:FILE"``, or ``"openai:gpt-5"`` and any other
    provider and model that pydantic-ai knows. It is resolved once per runtime, so that its
    runs share connections and one gate. What has an ``aclose`` is closed with the runtime.

    Raises:
        ModelFailed: it is neither, or a name that stands for nothing.
        MissingExtra: the model needs a package that is not installed.
    """
    if isinstance(value, str) or _is_of_pydantic_ai(value):
        key = value if isinstance(value, str) else id(value)
        named: _Named = workplace.shared(("model", key), lambda: _Named(value))
        return named.model()
    model = check_model(value)
    if hasattr(model, "aclose"):
        # By its identity, which nothing else can take while the runtime holds it.
        workplace.shared(("model", id(model)), lambda: model)
    return model


def _is_of_pydantic_ai(value: object) -> bool:
    """Whether *value* is a model object of theirs; imports nothing to find that out."""
    theirs = sys.modules.get("pydantic_ai.models")
    return theirs is not None and isinstance(value, theirs.Model)


def model_named(name: Any) -> Model:
    """
    Make the model that *name*, or a model object of pydantic-ai, stands for.

    Raises:
        ModelFailed: it stands for nothing.
        MissingExtra: the model needs a package that is not installed.
    """
    kind, _, rest = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind == "scripted":
        from retinue.backends.models.scripted import ScriptedModel

        return ScriptedModel.read(rest)
    if kind == "recorded":
        from retinue.backends.models.recorded import RecordedModel

        return RecordedModel(rest)
    from retinue.backends.models.pydantic_ai import PydanticModel

    return PydanticModel(name)


class _Named:
    """
    The model of one name, or of one object of pydantic-ai, made by the first who asks.

    Made under a lock of its own: the runtime's may be held for a few bytecodes only, and
    the first model of a vendor imports its packages.
    """

    def __init__(self, name: Any) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._model: Model | None = None

    def model(self) -> Model:
        """Return the model; what went wrong is raised again to everybody who asks."""
        with self._lock:
            if self._model is None:
                self._model = model_named(self._name)
            return self._model

    async def aclose(self) -> None:
        """Let the model go of what it holds; runs on the runtime's loop."""
        close = getattr(self._model, "aclose", None)
        if close is not None:
            await close()
