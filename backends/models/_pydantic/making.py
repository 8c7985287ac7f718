"""From a name to a model of pydantic-ai, or to an error that teaches."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from retinue.protocol.errors import MissingExtra, ModelFailed

# What some providers call the address of their server.
_ADDRESSES: Final = ("base_url", "azure_endpoint", "api_base", "host")
_SHOWN: Final = "openai, openai-chat, anthropic, deepseek, google, ollama, vllm, openrouter"


def make(name: str, given: Mapping[str, Any]) -> Model:
    """
    Make the model called *name*, with the arguments that were given for its provider.

    Raises:
        ModelFailed: no such provider, or its key is missing, or it takes no such argument.
        MissingExtra: the provider's own package is not installed.
    """
    provider_name, colon, model_name = name.partition(":")
    if not (colon and provider_name and model_name):
        raise ModelFailed(f"a model is named 'provider:model', as 'openai:gpt-5'; got {name!r}")

    def provider(named: str) -> Provider[Any]:
        kind = infer_provider_class(named)
        return kind(**_arguments(kind, named, given))

    try:
        return infer_model(name, provider)
    except UserError as error:
        raise ModelFailed(f"{name}: {error}") from error
    except ImportError as error:
        raise MissingExtra(
            f"{name}: {error}; 'retinue[models]' brings the packages of openai and anthropic"
        ) from error
    except ValueError as error:
        raise ModelFailed(
            f"{name}: there is no provider {provider_name!r}; there are {_SHOWN} and more, see"
            " the documentation of pydantic-ai"
        ) from error


def _arguments(kind: type[Provider[Any]], named: str, given: Mapping[str, Any]) -> dict[str, Any]:
    taken = inspect.signature(kind.__init__).parameters
    arguments: dict[str, Any] = {}
    for option, value in given.items():
        known_as = _ADDRESSES if option == "base_url" else (option,)
        fitting = [argument for argument in known_as if argument in taken]
        if not fitting:
            raise ModelFailed(
                f"{named}: takes no {option}; a server that speaks as OpenAI's does is reached"
                " by 'openai-chat:MODEL' with base_url and api_key"
            )
        arguments[fitting[0]] = value
    return arguments
