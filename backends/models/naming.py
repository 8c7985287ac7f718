"""From the name of a model to the model."""

from __future__ import annotations

from typing import Any

from retinue.protocol.model import Model, check_model


def as_model(value: Any, workplace: Any) -> Model:
    """
    Take a model, or make the one that a name as ``"openai:gpt-5"`` stands for.

    A name is resolved once per runtime, so that its runs share connections and one gate.

    Raises:
        ModelFailed: it is neither.
        MissingExtra: the model needs a package that is not installed.
    """
    del workplace
    return check_model(value)
