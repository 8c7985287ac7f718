"""What a request's options amount to: the parent's route, the agent's own, and those given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from retinue.protocol.delegation import MAX_SAFE_INTEGER, NO_FEATURES, Features, StartRequest
from retinue.protocol.errors import InvalidLimit

# What a child has like its parent where neither its agent nor its start says otherwise.
ROUTE: Final = ("model", "max_tokens")
_NO_OPTIONS: Final[Mapping[str, Any]] = {}


def with_route(request: StartRequest, options: Mapping[str, Any]) -> StartRequest:
    """
    Return *request* with the route of the run that starts it, each field only if it has one.

    A request that goes on from another run has a route already, which stays before this one.
    """
    route = {name: options[name] for name in ROUTE if name in options}
    if not route:
        return request
    own = request.features.route
    features = request.features
    if features is NO_FEATURES:
        features = Features(route=route)
    else:
        features = attrs.evolve(features, route={**route, **own} if own else route)
    return attrs.evolve(request, features=features)


def options_of(request: StartRequest) -> Mapping[str, Any]:
    """
    Combine field by field, the later before the earlier: the parent's route, the agent's
    options, those of the request (VAL-9).

    Raises:
        InvalidLimit: ``max_tokens`` is no whole number from 1.
    """
    agent, features = request.agent, request.features
    own = _NO_OPTIONS if agent is None else agent.options
    if agent is not None and agent.model is not None:
        own = {"model": agent.model, **own}
    if features.route:
        own = {**features.route, **own}
    if features.options:
        own = {**own, **features.options}
    if "max_tokens" in own:
        _check_max_tokens(own["max_tokens"])
    return own


def _check_max_tokens(value: object) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not 0 < value <= MAX_SAFE_INTEGER:  # type: ignore[operator]
        raise InvalidLimit(
            f"options: max_tokens is a whole number from 1, got {value!r}; leave it out for"
            " what the model does by default"
        )
