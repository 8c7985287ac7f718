"""
Delegation as tools for models: ``Agent(model=..., tools=[subagent()])``.

The children of a call belong to the turn, those in the background to the run; cancelling
either reaches them without a word about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Final

import attrs

from retinue.actors import _outcomes
from retinue.actors import _tools_words as words
from retinue.actors._tools_calls import Calls, Ledger, Ledgers, Order
from retinue.actors._workplace import current_scope
from retinue.protocol.agent import as_agent
from retinue.protocol.delegation import Features, Limits, check_depth, unmet_capability
from retinue.protocol.errors import InvalidAgent, InvalidRequest, UnsupportedCapability
from retinue.protocol.tool import Tool
from retinue.protocol.tool_filter import check_shape, check_tool_filter

if TYPE_CHECKING:
    from retinue.actors._workplace import ActorWorkplace

__all__ = ["Subagent", "subagent"]

# How deep a tree grows of which nobody has said how deep it may: the root's children,
# theirs, and theirs (H47).
MAX_DEPTH: Final = 3
# JOB-1: how many background runs one run may have under way.
MOST: Final = 10

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,40}")
_LEDGERS: Final = "retinue.actors.tools"


def subagent(
    provider: str = "spawn",
    *,
    name: str = "subagent",
    agent: object = None,
    background: bool = True,
    most: int = MOST,
    persona: str | None = None,
    tool_filter: Any = None,
    options: Mapping[str, Any] | None = None,
    max_depth: int | EllipsisType | None = ...,
    limits: Limits | None = None,
    deadline: float | None = None,
    output_schema: Any = None,
) -> Subagent:
    """
    Make the tool with which a model delegates; give it to ``Agent(tools=[...])``.

    The tool is there while its provider is, and says of it what is so at that moment.
    Beside it stand ``NAME_output``, ``NAME_cancel`` and ``NAME_wait`` for runs in the
    background. Tools of several providers live side by side under names of their own.

    Args:
        provider: the name of the provider that runs the children.
        name: what the model calls it.
        agent: what works as the child; by default the caller's own agent.
        background: whether the model may start runs that it does not wait for.
        most: how many of those one caller may have under way.
        persona: replaces the child's instructions.
        tool_filter: which of its agent's tools the child keeps.
        options: override the child's options, field by field.
        max_depth: the deepest that a child may be, counted from the root; by default 3
            where the provider can limit it. None sets no limit of its own.
        limits: what each child and everything below it may use.
        deadline: seconds after which a child ends with ``timeout``.
        output_schema: a JSON Schema or a class that each result has to satisfy.

    Raises:
        InvalidRequest: one of these makes no sense; what is wrong is named.
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise InvalidAgent(f"subagent: a tool's name is letters, digits, _ and -, not {name!r}")
    if not isinstance(provider, str) or not provider:
        raise InvalidAgent(f"{name}: expected the name of a provider, got {provider!r}")
    if not isinstance(background, bool):
        raise InvalidAgent(f"{name}: background: expected True or False, got {background!r}")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InvalidAgent(f"{name}: most: expected a whole number from 1, got {most!r}")
    made = {
        "agent": None if agent is None else as_agent(agent),
        "persona": persona,
        "tool_filter": tool_filter,
        "options": options,
        "max_depth": max_depth,
        "limits": limits,
        "deadline": deadline,
        "output_schema": output_schema,
    }
    given = {key: value for key, value in made.items() if value is not None}
    _check(name, given)
    return Subagent(Order(words.Names(name), provider, given, background, most))


def _check(name: str, given: Mapping[str, Any]) -> None:
    """Refuse now what every call would be refused for (TOOL-17)."""
    for key, kind in (("persona", str), ("options", Mapping)):
        if key in given and not isinstance(given[key], kind):
            raise InvalidRequest(f"{name}: {key}: a {type(given[key]).__name__} is none")
    if "tool_filter" in given:
        if "agent" in given:
            check_tool_filter(given["tool_filter"], given["agent"])
        else:
            check_shape(given["tool_filter"])  # whose tools it is about is known at the call
    if given.get("max_depth", ...) is not ...:
        check_depth(given["max_depth"])
    features = _features(given)
    _outcomes.limits_of(features)
    _outcomes.schema_of(features)


def _features(given: Mapping[str, Any]) -> Features:
    names = ("output_schema", "tool_filter", "persona", "limits", "deadline")
    found = {key: given[key] for key in names if key in given}
    depth = given.get("max_depth")
    return Features(**found, max_depth=None if depth is ... else depth)


class Subagent:
    """
    A source of the tools with which a model delegates; made by ``subagent``.

    A value: what a run has started is kept with that run's runtime.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._features = _features(order.options)

    def __repr__(self) -> str:
        return f"<{self._order.names.start} on {self._order.provider}>"

    @property
    def names(self) -> tuple[str, ...]:
        """What it may offer."""
        names = self._order.names
        return (names.start, *self.companions[names.start])

    @property
    def companions(self) -> Mapping[str, tuple[str, ...]]:
        """Which tools belong to which (H03)."""
        names = self._order.names
        return {names.start: names.companions if self._order.background else ()}

    async def tools(self, turn: Any) -> Sequence[Tool]:
        """
        Return the tools of one turn; none while the provider is not registered (TOOL-15).

        Raises:
            UnsupportedCapability: the provider cannot honour what the tool was made with.
        """
        workplace, provider = self._now()
        if provider is None:
            return ()
        unmet = unmet_capability(self._features, provider.capabilities)
        names = self._order.names
        if unmet is not None:
            raise UnsupportedCapability(
                f"{names.start}: provider {provider.name!r} cannot honour {unmet}; make the tool"
                " without it, or on a provider that can",
                unmet,
            )
        ledger: Ledger = workplace.shared(_LEDGERS, Ledgers).of(workplace.run_id)
        where = self._situation(provider)
        return ledger.offered(
            (names.start, turn, where, provider.capabilities.depth_limit),
            lambda: self._made(Calls(self._real(provider), turn, workplace, ledger), where),
        )

    def guidance(self, turn: Any, kept: Collection[str]) -> str:
        """Say how to delegate, where *kept*, the tools that the run may use, has the tool."""
        _, provider = self._now()
        if provider is None:
            return ""
        where, names = self._situation(provider), self._order.names
        return words.guidance(where, names, kept, is_resident=turn.is_resident)

    async def close(self, run_id: str) -> None:
        """Forget what was kept for a run that ends."""
        scope = current_scope()
        if scope is not None:
            scope.workplace.shared(_LEDGERS, Ledgers).forget(run_id)

    def _now(self) -> tuple[ActorWorkplace, Any]:
        """Return where this is asked, and the provider as it is there and now."""
        scope = current_scope()
        if scope is None:
            raise InvalidRequest(f"{self._order.names.start}: is used by a run, inside a turn")
        workplace = scope.workplace
        return workplace, workplace.service.provider_named(self._order.provider)

    def _situation(self, provider: Any) -> words.Situation:
        agent = self._order.options.get("agent")
        return words.Situation(
            bool(provider.inherits_context),
            self._order.background,
            "output_schema" in self._order.options,
            None if agent is None else agent.name,
        )

    def _real(self, provider: Any) -> Order:
        """Return the order with the depth that holds where nobody has said one."""
        options = dict(self._order.options)
        if options.get("max_depth") is ...:
            del options["max_depth"]
            if provider.capabilities.depth_limit:
                options["max_depth"] = MAX_DEPTH
        return attrs.evolve(self._order, options=options)

    def _made(self, calls: Calls, where: words.Situation) -> tuple[Tool, ...]:
        names = self._order.names
        start = Tool(
            names.start,
            calls.start,
            words.start_description(where, names),
            words.start_parameters(where),
            is_concurrent=True,  # TOOL-10
            companions=self.companions[names.start],
        )
        if not where.background:
            return (start,)
        functions: dict[str, Callable[..., Any]] = {
            names.output: calls.output,
            names.cancel: calls.cancel,
            names.wait: calls.wait,
        }
        return (
            start,
            *[
                Tool(name, functions[name], description, parameters, is_concurrent=True)
                for name, (description, parameters) in words.control_parameters(names).items()
            ],
        )
