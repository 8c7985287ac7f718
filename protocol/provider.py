"""
The seams: what a provider, a driver and the place where they work have to offer.

A provider opens runs, a driver does the work of one run and reports facts, and the
workplace is all that a driver may touch of the runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, runtime_checkable
from weakref import WeakSet

import attrs

from retinue.protocol.agent import Agent, ToolFilter
from retinue.protocol.content import Message
from retinue.protocol.delegation import Capabilities, StartRequest
from retinue.protocol.errors import ProviderFault
from retinue.protocol.log import Cause, Seed
from retinue.protocol.model import Model
from retinue.protocol.workplace import Alarm, Outcome, Work, Workplace

__all__ = [
    "Alarm",
    "Driver",
    "Model",
    "OpenOrder",
    "Outcome",
    "Provider",
    "TurnOrder",
    "Work",
    "Workplace",
    "check_driver",
    "opens_at_once",
]


@attrs.frozen
class OpenOrder:
    """What a provider is asked to open."""

    run_id: str
    agent: Agent | None
    request: StartRequest
    depth: int
    cap: int | None
    seed: Seed
    options: Mapping[str, Any]
    tool_filter: ToolFilter | None
    schema: Any


@attrs.frozen
class TurnOrder:
    """One turn to work on: its number and the messages that it answers."""

    turn: int
    messages: tuple[Message, ...]


@runtime_checkable
class Driver(Protocol):
    """
    Does the work of one run. Methods are called by the run's actor and must not block.

    Optional methods, whose presence is the capability: ``steer()`` (something waits for
    the next step edge), ``wrap_up()``. An optional attribute ``reserves`` that is true says
    that it asks with ``Reserve`` before it spends anything; any other driver is stopped when
    it reports usage that reaches a limit.
    """

    def begin(self, order: TurnOrder) -> None:
        """Start the turn; a TurnEnded with its number must follow, exactly one."""
        ...

    def stop(self, cause: Cause) -> None:
        """End the current turn soon; its TurnEnded says aborted unless it completed first."""
        ...

    def close(self) -> None:
        """Release everything; a Closed must follow when nothing is left."""
        ...


@runtime_checkable
class Provider(Protocol):
    """
    A named backend that can open runs.

    ``inherits_context`` describes whether a child starts with its parent's completed
    turns; it grants nothing (REG-13). ``is_immediate`` says that ``open`` does no work
    worth a thread. ``accepts_seed`` says that a run can be opened on a seed.
    """

    name: str
    capabilities: Capabilities
    inherits_context: bool
    accepts_seed: bool
    is_immediate: bool

    def open(self, order: OpenOrder, workplace: Workplace) -> Driver:
        """
        Make the driver of one run.

        Runs in the actor when ``is_immediate``, else on a thread of its own.

        Raises:
            Exception: the run cannot be opened; the start is refused with it.
        """
        ...


# Classes whose instances have been found to be drivers; most runs share a few.
_SOUND: Final[WeakSet[type]] = WeakSet()


def opens_at_once(provider: Provider, order: OpenOrder) -> bool:
    """
    Whether this run may be opened inside a handler.

    A provider that is immediate may have runs that are not: it then has a method
    ``takes_time`` that says so of an order.
    """
    takes_time = getattr(provider, "takes_time", None)
    return provider.is_immediate and not (takes_time is not None and takes_time(order))


def check_driver(driver: object, provider: str) -> None:
    """
    Take what has a driver's shape.

    Raises:
        ProviderFault: a method is missing, named in the message.
    """
    kind = type(driver)
    if kind in _SOUND:
        return
    lacking = [f"{name}()" for name in ("begin", "stop", "close") if not hasattr(driver, name)]
    if lacking:
        what = ", ".join(lacking)
        raise ProviderFault(f"provider {provider!r} opened no driver: {kind.__name__} lacks {what}")
    _SOUND.add(kind)
