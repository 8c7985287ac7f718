"""
Agents: what does the work of turns, and what a behaviour sees while it works.

An Agent is a value: a behaviour, or else a model with tools. Which kind of behaviour it
holds is found once, when it is made:

    plain ``def``       may block; each run has a thread of its own   BlockingTurn
    ``async def``       runs on the loop                              Turn
    generator           stepped inside its actor, must not block      Turn
    class with ``turn`` one instance per run, ``turn`` any of these   as above
    none                a model works, by the turn loop on the loop    -
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
from retinue.protocol.model import Model, TheirModel
from retinue.protocol.tool import Guard, Tool, as_guards, as_tools, tool
from retinue.protocol.tool_filter import NO_FILTER, ToolFilter

__all__ = [
    "NO_FILTER",
    "Agent",
    "Behaviour",
    "Gate",
    "Guard",
    "Kind",
    "Tool",
    "ToolFilter",
    "agent",
    "as_agent",
    "behaviour_kind",
    "tool",
]

Behaviour: TypeAlias = Callable[..., Any]
Gate: TypeAlias = Callable[[Message], str | None]


class Kind(enum.Enum):
    """How a behaviour is run."""

    BLOCKING = "blocking"
    COROUTINE = "coroutine"
    GENERATOR = "generator"
    MODEL = "model"


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
            f" turn method, not {_named_in_full(type(function))}"
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


def _named_in_full(kind: type) -> str:
    """Name a type; those of others with their module, since they have Agents too."""
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def _check(kind: type, expected: str) -> Callable[[object, Any, object], None]:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, kind):
            given = type(value).__name__
            raise InvalidAgent(f"{attribute.name}: expected {expected}, got {given}")

    return check


# How many results that do not fit a model may give: the bound that H72 asks for.
SCHEMA_TRIES: Final = 5


def _count(least: int) -> Callable[[object, Any, object], None]:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidAgent(
                f"{attribute.name}: expected a whole number from {least}, got {value!r}"
            )

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
            Without one a model works.
        name: shown in trees and errors.
        instructions: what the agent is told about its part; a persona replaces it.
        tools: what it may use: Tools, functions, and sources of tools.
        options: free settings, inherited field by field.
        is_open: whether agents other than parent and holder may prompt its residents.
        gate: looks at each prompt before its turn; a text declines the prompt and says why.
            It runs inside the run's actor and must not block.
        model: a Model, a name as ``"openai:gpt-5"``, or a model object of pydantic-ai;
            without one that of the parent.
        guards: look at every tool call of this agent, around the guards of the tools.
        nudges: how often a model that should give a structured result and ends without
            one is told so; each costs a request.
        schema_tries: how many results that do not fit its schema a model may give.

    Raises:
        InvalidAgent: the behaviour cannot be run, or a field is not what it should be.
    """

    behaviour: Behaviour | None = None
    name: str = attrs.field(default="", validator=_TEXT)
    instructions: str = attrs.field(default="", validator=_TEXT)
    tools: tuple[Any, ...] = attrs.field(default=(), converter=as_tools)
    options: Mapping[str, Any] = attrs.field(factory=dict[str, Any], validator=_OPTIONS)
    is_open: bool = attrs.field(default=False, validator=_FLAG)
    gate: Gate | None = attrs.field(default=None, validator=_GATE)
    model: Model | TheirModel | str | None = None
    guards: tuple[Guard, ...] = attrs.field(default=(), converter=as_guards)
    nudges: int = attrs.field(default=0, validator=_count(0))
    schema_tries: int = attrs.field(default=SCHEMA_TRIES, validator=_count(1))
    kind: Kind = attrs.field(init=False)
    is_class: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        kind, is_class, named = Kind.MODEL, False, "agent"
        if self.behaviour is not None:
            kind, is_class, named = _kind_of(self.behaviour)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "is_class", is_class)
        if not self.name:
            object.__setattr__(self, "name", named)

    def __reduce__(self) -> tuple[Any, ...]:
        # By value where it has to be, so that an agent made of a lambda or in a notebook
        # can go to another process.
        import cloudpickle

        fields = tuple(getattr(self, field.name) for field in attrs.fields(Agent) if field.init)
        frozen = cast("Any", cloudpickle).dumps(fields)
        return _thawed, (frozen,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the behaviour itself, as a test of it would."""
        if self.behaviour is None:
            raise InvalidAgent(f"{self.name} has no behaviour to call; start it in a runtime")
        return self.behaviour(*args, **kwargs)


def _kind_of(behaviour: Behaviour) -> tuple[Kind, bool, str]:
    """Find how a behaviour is run, whether it is a class, and its name."""
    made: Any = behaviour
    while isinstance(made, functools.partial):
        made = made.func
    is_class = inspect.isclass(made)
    function: Any = behaviour
    if is_class:
        function = getattr(made, "turn", None)
        if function is None:
            raise InvalidAgent(
                f"class {made.__name__} has no turn method; give it 'def turn(self, turn)'"
            )
    return behaviour_kind(function), is_class, getattr(made, "__name__", type(made).__name__)


def _thawed(frozen: bytes) -> Agent:
    return Agent(*pickle.loads(frozen))  # noqa: S301 - made by __reduce__, read by pickle itself


@overload
def agent(behaviour: Behaviour, /) -> Agent: ...
@overload
def agent(
    *,
    name: str = "",
    instructions: str = "",
    tools: Iterable[Any] = (),
    options: Mapping[str, Any] | None = None,
    is_open: bool = False,
    gate: Gate | None = None,
) -> Callable[[Behaviour], Agent]: ...
def agent(behaviour: Behaviour | None = None, /, **fields: Any) -> Agent | Callable[..., Agent]:
    """
    Make an agent of a function, a generator, a coroutine function or a class.

    Used bare or with the arguments of Agent. An agent that a model works for has nothing to
    decorate: ``Agent(model="openai:gpt-5", tools=[...])``.

    Raises:
        InvalidAgent: the decorated thing cannot be run.
    """
    if behaviour is not None:
        return Agent(behaviour)
    if fields.get("options") is None:
        fields.pop("options", None)

    def decorate(function: Behaviour) -> Agent:
        return Agent(function, **fields)

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
