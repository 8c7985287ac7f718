"""
Tools: what an agent may use, who looks at each use, and which of them a child keeps.

Rule 1: a guard travels with its tool, whoever the tool is handed to (H66).
Rule 2: what a filter takes away is neither shown to a model nor run for it (PER-6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast, overload, runtime_checkable

import attrs

from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.errors import InvalidAgent

if TYPE_CHECKING:
    from retinue.protocol.agent import Agent

Before: TypeAlias = Callable[[ToolCall, Any], Any]
After: TypeAlias = Callable[[ToolCall, ToolResult, Any], Any]

# How many characters of a result a model is shown at once; the rest goes to a file that it
# can page through. About 10 000 tokens.
RESULT_LIMIT: Final = 30_000


@attrs.frozen
class Guard:
    """
    Looks at calls of a tool; either function may be a coroutine function.

    Args:
        before: takes the call and the turn, before anything runs. A text denies the call
            and is what the model reads; an ``Ask`` has the run's approval policy decide;
            None lets it through.
        after: takes the call, its result and the turn. A text denies the result, a
            ToolResult replaces it, None leaves it. Guards are asked from the innermost, so
            that the last one added has the last word (STR-5).
    """

    before: Before | None = None
    after: After | None = None


@attrs.frozen
class Ask:
    """What a guard returns to have the run's approval policy decide: what is asked for."""

    question: str


@attrs.frozen
class Conclude:
    """
    What a tool returns to end the turn with its own result (LOG-12).

    The other calls of the step finish first; steering that waits goes on for one more step.

    Args:
        value: what the model is told, as with any tool.
        output: what the turn returns; None for the last that was said.
    """

    value: Any = None
    output: Any = None


def as_guards(given: Any) -> tuple[Guard, ...]:
    """Take guards; a bare function is one that looks before."""
    listed = (given,) if callable(given) or isinstance(given, Guard) else tuple(given)
    made: list[Guard] = []
    for guard in listed:
        if isinstance(guard, Guard):
            made.append(guard)
        elif callable(guard):
            made.append(Guard(guard))
        else:
            raise InvalidAgent(f"guards: expected Guards, got {type(guard).__name__}")
    return tuple(made)


@attrs.frozen
class Tool:
    """
    Something that an agent may use.

    Args:
        name: what a filter and a model call it.
        function: does the work; sync, on a thread of its own, or a coroutine function. A
            parameter that is annotated with Turn or BlockingTurn is given the turn and not
            shown to the model.
        description: what it is for; by default the first paragraph of its docstring.
        parameters: the JSON Schema of its arguments; by default that of the signature.
        guards: look at every call, whoever makes it.
        is_concurrent: whether calls may overlap with others of the same step. One that may
            not is a barrier: what was called before it has ended, what comes after waits.
        companions: tools that whoever keeps this one keeps too (H03).
        result_limit: characters of a result that are shown at once.
        is_offered: takes the turn and says whether the tool is there right now.
    """

    name: str = attrs.field(validator=attrs.validators.min_len(1))
    function: Callable[..., Any]
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    guards: tuple[Guard, ...] = attrs.field(default=(), converter=as_guards)
    is_concurrent: bool = False
    companions: tuple[str, ...] = ()
    result_limit: int = attrs.field(default=RESULT_LIMIT, validator=attrs.validators.ge(1))
    is_offered: Callable[[Any], bool] | None = None

    def guarded(self, *guards: Guard | Before) -> Tool:
        """Return the same tool with more guards around it."""
        return attrs.evolve(self, guards=(*self.guards, *as_guards(guards)))


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    parameters: Mapping[str, Any] | None = None,
    guards: Iterable[Guard | Before] = (),
    is_concurrent: bool = False,
    result_limit: int = RESULT_LIMIT,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    parameters: Mapping[str, Any] | None = None,
    guards: Iterable[Guard | Before] = (),
    is_concurrent: bool = False,
    result_limit: int = RESULT_LIMIT,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """
    Make a tool of a function; used bare or with the arguments of Tool.

    Raises:
        InvalidAgent: it has no name, as a lambda, and none is given.
    """

    def decorate(made_of: Callable[..., Any]) -> Tool:
        own = name or getattr(made_of, "__name__", "")
        if not own or own == "<lambda>":
            raise InvalidAgent("tool: a function without a name needs tool(name=...)")
        return Tool(
            own,
            made_of,
            description,
            parameters,
            cast("tuple[Guard, ...]", tuple(guards)),
            is_concurrent,
            (),
            result_limit,
        )

    return decorate if function is None else decorate(function)


@runtime_checkable
class ToolSource(Protocol):
    """
    Tools that come from elsewhere, and may come and go, as those of a server.

    ``names`` lists what it may offer, for filters to be checked before a run exists; None
    where that is known only later, and a filter's unknown names are then refused in the
    first turn.
    """

    @property
    def names(self) -> tuple[str, ...] | None:
        """What it may offer, or None."""
        ...

    async def tools(self, turn: Any) -> Sequence[Tool]:
        """Return what it offers now; asked before each request, on the runtime's loop."""
        ...

    async def close(self, run_id: str) -> None:
        """Let go of what it held for a run that ends, on the runtime's loop."""
        ...


def as_tools(given: Any) -> tuple[Any, ...]:
    """
    Take the tools of an agent: Tools, ToolSources, and functions, which become tools.

    Raises:
        InvalidAgent: something else, or two of one name.
    """
    if isinstance(given, Tool) or not isinstance(given, Iterable):
        raise InvalidAgent(f"tools: expected a list of Tools, got {type(given).__name__}")
    made: list[Any] = []
    for item in cast("Iterable[object]", given):
        if isinstance(item, (Tool, ToolSource)):
            made.append(item)
        elif callable(item):
            made.append(tool(item))
        else:
            raise InvalidAgent(f"tools: expected Tools or functions, got {type(item).__name__}")
    names = list(names_of(made))
    if len(set(names)) < len(names):
        raise InvalidAgent(f"tools: two have one name in {', '.join(names)}")
    return tuple(made)


def names_of(tools: Iterable[Any]) -> Iterable[str]:
    """Iterate over the names that are known before a run exists."""
    for item in tools:
        if isinstance(item, Tool):
            yield item.name
        else:
            yield from item.names or ()


@attrs.frozen
class ToolFilter:
    """
    Which tools a child keeps: first ``allow``, then not ``deny``.

    ``allow=None`` keeps all; ``allow=()`` keeps none (PER-7).
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def keeps(self, name: str) -> bool:
        """Whether a tool of that name is left."""
        return (self.allow is None or name in self.allow) and name not in self.deny

    def over(self, agent: Agent | None) -> ToolFilter:
        """Return what the filter says of the tools that *agent* has."""
        known = [] if agent is None else list(names_of(agent.tools))
        allow = None if self.allow is None else tuple([n for n in self.allow if n in known])
        return ToolFilter(allow, tuple([name for name in self.deny if name in known]))

    def within(self, outer: ToolFilter) -> ToolFilter:
        """Return the filter that keeps what both keep; filters only narrow (PER-4)."""
        allow = self.allow
        if allow is None:
            allow = outer.allow
        elif outer.allow is not None:
            allow = tuple([name for name in allow if name in outer.allow])
        return ToolFilter(allow, tuple(dict.fromkeys((*self.deny, *outer.deny))))


NO_FILTER: Final = ToolFilter()
