"""
Agents: what does the work of turns, and what a behaviour sees while it works.

An Agent is a value. Which kind of behaviour it holds is found once, when it is made:

    plain ``def``       may block; each run has a thread of its own   BlockingTurn
    ``async def``       runs on the loop                              Turn
    generator           stepped inside its actor, must not block      Turn
    class with ``turn`` one instance per run, ``turn`` any of these   as above
"""

from __future__ import annotations

import enum
import functools
import inspect
import pickle
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast, overload
from weakref import WeakValueDictionary

import attrs

from retinue.protocol.content import Message
from retinue.protocol.errors import InvalidAgent

Behaviour: TypeAlias = Callable[..., Any]
Gate: TypeAlias = Callable[[Message], str | None]


class Kind(enum.Enum):
    """How a behaviour is run."""

    BLOCKING = "blocking"
    COROUTINE = "coroutine"
    GENERATOR = "generator"


@attrs.frozen
class Tool:
    """
    Something that an agent may use: a name, a function, and what it is for.

    Args:
        name: what a filter and a model call it.
        function: does the work.
        description: what it is for, in a sentence.
    """

    name: str = attrs.field(validator=attrs.validators.min_len(1))
    function: Callable[..., Any]
    description: str = ""


@attrs.frozen
class ToolFilter:
    """
    Which inherited tools a child keeps: first ``allow``, then not ``deny``.

    ``allow=None`` keeps all; ``allow=()`` keeps none (PER-7).
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def keeps(self, name: str) -> bool:
        """Whether a tool of that name is left."""
        return (self.allow is None or name in self.allow) and name not in self.deny

    def over(self, agent: Agent | None) -> ToolFilter:
        """Return what the filter says of the tools that *agent* has."""
        known = [] if agent is None else [tool.name for tool in agent.tools]
        allow = None if self.allow is None else tuple([n for n in self.allow if n in known])
        return ToolFilter(allow, tuple([name for name in self.deny if name in known]))

    def within(self, outer: ToolFilter) -> ToolFilter:
        """Return the filter that keeps what both keep; filters only narrow (PER-4)."""
        allow = self.allow
        if allow is None:
            allow = outer.allow
        elif outer.allow is not None:
            allow = tuple([name for name in allow if name in outer.allow])
        return ToolFilter(allow, (*self.deny, *outer.deny))


def behaviour_kind(function: Behaviour) -> Kind:
    """
    Find how *function* is to be run.

    Raises:
        InvalidAgent: it is not callable, or an async generator.
    """
    while isinstance(function, functools.partial):
        function = function.func
    if not callable(function):
        raise InvalidAgent(
            f"an agent is a function, a generator, a coroutine function or a class with a"
            f" turn method, not {type(function).__name__}"
        )
    if not inspect.isroutine(function) and not inspect.isclass(function):
        function = type(function).__call__
    if inspect.isasyncgenfunction(function):
        raise InvalidAgent(
            f"{function.__qualname__} is an async generator; use 'async def' with turn.say()"
            " for partial output"
        )
    if inspect.iscoroutinefunction(function):
        return Kind.COROUTINE
    if inspect.isgeneratorfunction(function):
        return Kind.GENERATOR
    return Kind.BLOCKING


def _tools(given: Iterable[Tool]) -> tuple[Tool, ...]:
    if isinstance(given, Tool) or not isinstance(given, Iterable):
        raise InvalidAgent(f"tools: expected Tools, got {type(given).__name__}")
    tools = tuple(given)
    strange = [type(tool).__name__ for tool in tools if not isinstance(tool, Tool)]
    if strange:
        raise InvalidAgent(f"tools: expected Tools, got {', '.join(strange)}")
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise InvalidAgent(f"tools: two have one name in {', '.join(names)}")
    return tools


def _check(kind: type, expected: str) -> Callable[[object, Any, object], None]:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, kind):
            given = type(value).__name__
            raise InvalidAgent(f"{attribute.name}: expected {expected}, got {given}")

    return check


_TEXT: Final = _check(str, "text")
_FLAG: Final = _check(bool, "True or False")
_OPTIONS: Final = _check(Mapping, "a mapping")
_GATE: Final = _check((Callable, type(None)), "a function or None")  # type: ignore[arg-type]


@attrs.frozen(eq=False)
class Agent:
    """
    What does the work of turns.

    Args:
        behaviour: takes a turn and returns the output: text, content blocks, a JSON value
            or None. A class is built once per run, its ``turn`` called once per turn.
        name: shown in trees and errors.
        instructions: what the agent is told about its part; a persona replaces it.
        tools: what it may use.
        options: free settings, inherited field by field.
        is_open: whether agents other than parent and holder may prompt its residents.
        gate: looks at each prompt before its turn; a text declines the prompt and says why.
            It runs inside the run's actor and must not block.

    Raises:
        InvalidAgent: the behaviour cannot be run.
    """

    behaviour: Behaviour
    name: str = attrs.field(default="", validator=_TEXT)
    instructions: str = attrs.field(default="", validator=_TEXT)
    tools: tuple[Tool, ...] = attrs.field(default=(), converter=_tools)
    options: Mapping[str, Any] = attrs.field(factory=dict[str, Any], validator=_OPTIONS)
    is_open: bool = attrs.field(default=False, validator=_FLAG)
    gate: Gate | None = attrs.field(default=None, validator=_GATE)
    kind: Kind = attrs.field(init=False)
    is_class: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        made = self.behaviour
        while isinstance(made, functools.partial):
            made = made.func
        is_class = inspect.isclass(made)
        function: Any = self.behaviour
        if is_class:
            function = getattr(made, "turn", None)
            if function is None:
                raise InvalidAgent(
                    f"class {made.__name__} has no turn method; give it 'def turn(self, turn)'"
                )
        object.__setattr__(self, "kind", behaviour_kind(function))
        object.__setattr__(self, "is_class", is_class)
        if not self.name:
            named = getattr(made, "__name__", type(made).__name__)
            object.__setattr__(self, "name", named)

    def __reduce__(self) -> tuple[Any, ...]:
        # By value where it has to be, so that an agent made of a lambda or in a notebook
        # can go to another process.
        import cloudpickle

        fields = (self.behaviour, self.name, self.instructions, self.tools)
        rest = (self.options, self.is_open, self.gate)
        frozen = cast("Any", cloudpickle).dumps((*fields, *rest))
        return _thawed, (frozen,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the behaviour itself, as a test of it would."""
        return self.behaviour(*args, **kwargs)


def _thawed(frozen: bytes) -> Agent:
    return Agent(*pickle.loads(frozen))  # noqa: S301 - made by __reduce__, read by pickle itself


@overload
def agent(behaviour: Behaviour, /) -> Agent: ...
@overload
def agent(
    *,
    name: str = "",
    instructions: str = "",
    tools: tuple[Tool, ...] = (),
    options: Mapping[str, Any] | None = None,
    is_open: bool = False,
    gate: Gate | None = None,
) -> Callable[[Behaviour], Agent]: ...
def agent(
    behaviour: Behaviour | None = None,
    /,
    *,
    name: str = "",
    instructions: str = "",
    tools: tuple[Tool, ...] = (),
    options: Mapping[str, Any] | None = None,
    is_open: bool = False,
    gate: Gate | None = None,
) -> Agent | Callable[[Behaviour], Agent]:
    """
    Make an agent of a function, a generator, a coroutine function or a class.

    Used bare or with the arguments of Agent.

    Raises:
        InvalidAgent: the decorated thing cannot be run.
    """
    if behaviour is not None:
        return Agent(behaviour)

    def decorate(function: Behaviour) -> Agent:
        return Agent(function, name, instructions, tools, options or {}, is_open, gate)

    return decorate


# Shared by the starts of one behaviour while any of them lives, and no longer: a closure
# may hold a whole session (H60).
_WRAPPED: Final[WeakValueDictionary[Behaviour, Agent]] = WeakValueDictionary()


def as_agent(value: object) -> Agent:
    """
    Take an agent, or make one of a bare behaviour.

    Raises:
        InvalidAgent: *value* is None or nothing that can be run.
    """
    if isinstance(value, Agent):
        return value
    if value is None:
        raise InvalidAgent("this provider needs an agent: start(..., agent=my_function)")
    behaviour = cast("Behaviour", value)
    if not callable(value):
        behaviour_kind(behaviour)  # raises with the reason
    try:
        known = _WRAPPED.get(behaviour)
        if known is None:
            known = _WRAPPED[behaviour] = Agent(behaviour)
    except TypeError as error:
        if isinstance(error, InvalidAgent):
            raise
        return Agent(behaviour)  # not hashable, so not shared
    return known


NO_FILTER: Final = ToolFilter()
