"""
What a script is made of: one value per thing that a scripted run does.

Rule 1: NeverOpen, FailOpen, NeverClose and CloseFails stand at a script's front, since
they are about the driver and not about a turn.
Rule 2: Return, Echo, Raise, Refuse, End and Crash end the turn; so does the script's end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs

from retinue.protocol.content import Content, ToolCall, ToolResult, as_content
from retinue.protocol.log import Ending
from retinue.protocol.result import Usage


def _content(value: object) -> Content:
    return () if value is None else as_content(value)


@attrs.frozen
class Say:
    """Say something that is part of the output; the last thing said counts."""

    content: Content = attrs.field(converter=_content)
    usage: Usage | None = None


@attrs.frozen
class Delta:
    """Give out a piece of text as it comes."""

    text: str


@attrs.frozen
class Use:
    """Log a tool call and, where there is a result, what it gave."""

    call: ToolCall
    result: ToolResult | None = None


@attrs.frozen
class Spend:
    """Report that something was spent."""

    usage: Usage


@attrs.frozen
class StepEdge:
    """Stand at a step edge, and say back what was steered meanwhile."""


class Hold:
    """
    Park the turn until it is released.

    ``reached`` is set when a turn stands here. On a thread wait for it; a deterministic
    dispatcher moves only while somebody waits for the runtime, so there let it run until
    it is idle, and look.

    Args:
        ignores_stop: whether a turn that stands here goes on standing when it is stopped,
            as a provider does that cannot be told to hurry.
    """

    def __init__(self, *, ignores_stop: bool = False) -> None:
        self.reached: Final = threading.Event()
        self.ignores_stop = ignores_stop
        self._lock = threading.Lock()
        self._is_released = False
        # A dict, since ten thousand may stand at one hold and leave it in any order.
        self._waiting: dict[Callable[[], object], None] = {}

    def __repr__(self) -> str:
        state = "released" if self._is_released else f"{len(self._waiting)} waiting"
        return f"<{type(self).__name__} {state}>"

    def park(self, go_on: Callable[[], object]) -> None:
        """Call *go_on* when the hold is released; at once if it has been."""
        with self._lock:
            is_released = self._is_released
            if not is_released:
                self._waiting[go_on] = None
        self.reached.set()
        if is_released:
            go_on()

    def leave(self, go_on: Callable[[], object]) -> None:
        """Do not call *go_on* any more."""
        with self._lock:
            self._waiting.pop(go_on, None)

    def release(self) -> None:
        """Let everybody go on, now and later; safe from any thread, any number of times."""
        with self._lock:
            self._is_released = True
            waiting, self._waiting = self._waiting, {}
        for go_on in waiting:
            go_on()


@attrs.frozen
class Echo:
    """End the turn with the content of its prompt."""


@attrs.frozen
class Return:
    """End the turn as a behaviour does that returns *value*."""

    value: Any = None


@attrs.frozen(eq=False)
class Raise:
    """End the turn as a behaviour does that raises *error*."""

    error: BaseException


@attrs.frozen
class Refuse:
    """End the turn blocked: the run's result is a refusal, and says why."""

    reason: str


@attrs.frozen
class End:
    """End the turn in any other way, a token ceiling for one."""

    ending: Ending
    output: Content = attrs.field(default=None, converter=_content)
    diagnostic: str | None = None
    reason: str | None = None


@attrs.frozen(eq=False)
class Crash:
    """Break the driver: the turn never ends."""

    error: BaseException


class NeverOpen(Hold):
    """Park the opening of the run, on its own thread, until it is released."""


@attrs.frozen(eq=False)
class FailOpen:
    """Fail to open the run."""

    error: BaseException


@attrs.frozen(eq=False)
class CloseFails:
    """Fail to release what the driver holds."""

    error: BaseException


@attrs.frozen
class NeverClose:
    """Never report that the driver has released everything."""


AtTheFront: TypeAlias = NeverOpen | FailOpen | CloseFails | NeverClose
InATurn: TypeAlias = (
    Say | Delta | Use | Spend | StepEdge | Hold | Echo | Return | Raise | Refuse | End | Crash
)
Item: TypeAlias = AtTheFront | InATurn
