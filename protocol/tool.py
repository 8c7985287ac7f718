"""
Tools: what an agent may use, and who looks at each use.

Rule: a guard travels with its tool, whoever the tool is handed to (H66).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast, overload, runtime_checkable

import attrs

from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.errors import InvalidAgent

if TYPE_CHECKING:
    from retinue.protocol.arguments import Arguments
    from retinue.protocol.model import ToolSpec

Before: TypeAlias = Callable[[ToolCall, Any], Any]
After: TypeAlias = Callable[[ToolCall, ToolResult, Any], Any]

# How many characters of a result a model is shown at once; the rest goes to a file that it
# can page through. About 10 000 tokens.
RESULT_LIMIT: Final = 30_000


@attrs.frozen
class Guard:
    """
    Looks at calls of a tool, on the runtime's loop.

    Either function may be a coroutine function; a plain one must not block. One that raises
    denies: a guard that is broken lets nothing through.

    Args:
        before: takes the call and the turn, before anything runs, and its arguments as the
            model wrote them. A text denies the call and is what the model reads; an ``Ask``
            has the run's approval policy decide; None lets it through.
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


def _check_name(_: object, __: object, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidAgent(f"tool: expected a name, as in Tool('name', function), got {value!r}")


def _check_function(tool: object, _: object, value: Any) -> None:
    if not callable(value):
        name, given = getattr(tool, "name", ""), type(value).__name__
        raise InvalidAgent(f"tool {name!r}: expected a function, got {given}")


def _check_timeout(tool: object, _: object, value: Any) -> None:
    if value is None:
        return
    name = getattr(tool, "name", "")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise InvalidAgent(f"tool {name!r}: timeout: expected seconds above 0, got {value!r}")


def _check_parameters(tool: object, _: object, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        name, given = getattr(tool, "name", ""), type(value).__name__
        raise InvalidAgent(f"tool {name!r}: parameters: expected a JSON Schema, got {given}")


@attrs.frozen
class Tool:
    """
    Something that an agent may use.

    Args:
        name: what a filter and a model call it.
        function: does the work; sync, on a thread of its own, or a coroutine function on
            the runtime's loop. A parameter that is annotated with Turn or BlockingTurn, or a
            first one called ``turn`` without a type, is given the turn and not shown to the
            model. What it returns is shown as text, JSON where it is none; what it raises is
            an error that the model reads, ToolFailed in its own words.
        description: what it is for; by default the first paragraph of its docstring.
        parameters: the JSON Schema of its arguments; by default that of the signature, with
            the docstring's ``Args:`` or ``Annotated[int, "what it is"]`` as descriptions.
        guards: look at every call, whoever makes it.
        is_concurrent: whether calls may overlap with others of the same step. One that may
            not is a barrier: what was called before it has ended, what comes after waits.
        companions: tools that whoever keeps this one keeps too (H03).
        result_limit: characters of a result that are shown at once.
        is_offered: takes the turn and says whether the tool is there right now.
        timeout: seconds of the runtime's clock that a call may take; its work is then
            cancelled and the call fails.

    Raises:
        InvalidAgent: a field is not what it should be. What its function takes is looked at
            when a model's run is opened, which is refused if nobody could call it.
    """

    name: str = attrs.field(validator=_check_name)
    function: Callable[..., Any] = attrs.field(validator=_check_function)
    description: str = ""
    parameters: Mapping[str, Any] | None = attrs.field(default=None, validator=_check_parameters)
    guards: tuple[Guard, ...] = attrs.field(default=(), converter=as_guards)
    is_concurrent: bool = False
    companions: tuple[str, ...] = ()
    result_limit: int = attrs.field(default=RESULT_LIMIT, validator=attrs.validators.ge(1))
    is_offered: Callable[[Any], bool] | None = None
    timeout: float | None = attrs.field(default=None, validator=_check_timeout)

    @cached_property
    def arguments(self) -> Arguments:
        """
        What a call takes, worked out once.

        Raises:
            InvalidAgent: nobody could call the function, or a type has no JSON Schema.
        """
        from retinue.protocol.arguments import arguments_of

        return arguments_of(self)  # pyright: ignore[reportArgumentType]

    @cached_property
    def spec(self) -> ToolSpec:
        """What a model is told of it; raises InvalidAgent as ``arguments`` does."""
        from retinue.protocol.model import ToolSpec

        taken = self.arguments
        return ToolSpec(self.name, self.description or taken.description, taken.schema)

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
    companions: Iterable[str] = (),
    result_limit: int = RESULT_LIMIT,
    timeout: float | None = None,
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
    companions: Iterable[str] = (),
    result_limit: int = RESULT_LIMIT,
    timeout: float | None = None,
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
            tuple(companions),
            result_limit,
            None,
            timeout,
        )

    return decorate if function is None else decorate(function)


@runtime_checkable
class ToolSource(Protocol):
    """
    Tools that come from elsewhere, and may come and go, as those of a server.

    ``names`` lists what it may offer, for filters to be checked before a run exists; None
    where that is known only later, and a filter's unknown names are then refused in the
    first turn.

    Optional: ``companions``, a mapping from a name to the names that whoever keeps it keeps
    too (H03), and ``guidance(turn, kept)``, what the instructions say of those of its tools
    that a run keeps; ``kept`` holds the names of all that it may use.
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


def as_tools(given: Iterable[Any]) -> tuple[Any, ...]:
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
        twice = ", ".join(dict.fromkeys([name for name in names if names.count(name) > 1]))
        raise InvalidAgent(
            f"tools: two have one name, {twice}, in {', '.join(names)}; rename one, as in"
            " Tool('name', function)"
        )
    return tuple(made)


def names_of(tools: Iterable[Any]) -> Iterable[str]:
    """Iterate over the names that are known before a run exists."""
    for item in tools:
        if isinstance(item, Tool):
            yield item.name
        else:
            yield from item.names or ()
