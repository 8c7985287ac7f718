"""Going on from a run's log: what bound that run binds the one that goes on, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from retinue.actors._requests import start_request
from retinue.protocol.agent import NO_FILTER, as_agent
from retinue.protocol.delegation import Origin, StartRequest, check_tool_filter
from retinue.protocol.log import Log, PolicySet
from retinue.protocol.tool_filter import POLICY, read_record

if TYPE_CHECKING:
    from retinue.actors.handle import Run

# What a resumed run has like the one before, where nothing else is said. An output schema
# and a deadline were that one's own.
_KEPT = ("persona", "tool_rules", "options", "limits")


def resumed_request(run: Run, prompt: object, options: dict[str, Any]) -> StartRequest:
    """
    Make the request of a run that goes on from *run*.

    Depth, depth cap, policies and tool filter bind it as they bound *run*; a filter that is
    given narrows the one that was (PER-12, promise 7). What *run* had of its parent's route
    it has too (VAL-9).

    Raises:
        InvalidRequest: see ``start_request``.
    """
    before = run.ref.request
    given = {"agent": before.agent, "label": before.label}
    given.update({name: getattr(before.features, name) for name in _KEPT})
    given.update({name: value for name, value in options.items() if value is not None})
    policies = _policies(run.log)
    held = policies.pop(POLICY, None)
    if held is not None:
        agent = None if given["agent"] is None else as_agent(given["agent"])
        outer = read_record(held).over(agent)
        own = options.get("tool_filter")
        kept = outer if own is None else check_tool_filter(own, agent).within(outer)
        given["tool_filter"] = None if kept == NO_FILTER else kept
    request = start_request(before.provider, prompt, **given)
    origin = Origin(run.ref.depth, run.ref.cap, tuple(policies.items()))
    features = attrs.evolve(request.features, origin=origin, route=before.features.route)
    return attrs.evolve(request, features=features)


def _policies(log: Log) -> dict[str, Any]:
    """Return the policies that hold at the end of *log*, each as it was set last."""
    return {event.name: event.value for event in log.events() if isinstance(event, PolicySet)}
