"""
Which piece of work runs here, and where waiting is forbidden.

``CURRENT`` follows a behaviour into its thread, task or generator step, so that a run
started inside a turn is that run's child without a word about it.
"""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from retinue.protocol.errors import WouldBlock

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from retinue.actors._scope import Scope

CURRENT: ContextVar[Scope | None] = ContextVar("retinue_current", default=None)

# Threads on which a blocking wait would stop what is waited for, each with the reason.
# A dict, not a lock: one key per thread, written by that thread alone.
_NO_WAITING: Final[dict[int, str]] = {}

# Loops of callers' own that runtimes were entered on, and how many: while one of these runs
# on a thread nothing may block there. Not the thread itself, which may outlive its loop.
_ENTERED: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()


def forbid_waiting(reason: str) -> str | None:
    """Forbid blocking waits on this thread; returns what was in force before."""
    ident = threading.get_ident()
    before = _NO_WAITING.get(ident)
    _NO_WAITING[ident] = reason
    return before


def allow_waiting(before: str | None = None) -> None:
    """Undo ``forbid_waiting`` on this thread."""
    ident = threading.get_ident()
    if before is None:
        _NO_WAITING.pop(ident, None)
    else:
        _NO_WAITING[ident] = before


def enter_loop(loop: AbstractEventLoop) -> None:
    """Forbid blocking waits where *loop* runs: it has a runtime's work to do."""
    _ENTERED[loop] = _ENTERED.get(loop, 0) + 1


def leave_loop(loop: AbstractEventLoop) -> None:
    """Undo one ``enter_loop``."""
    left = _ENTERED.pop(loop, 0) - 1
    if left > 0:
        _ENTERED[loop] = left


def forget_other_threads() -> None:
    """Forget, after a fork, what held for threads whose numbers others will be given."""
    mine = threading.get_ident()
    for ident in [ident for ident in _NO_WAITING if ident != mine]:
        del _NO_WAITING[ident]


def check_may_wait(what: str) -> None:
    """
    Refuse a wait that could never end.

    Raises:
        WouldBlock: this thread is a handler's, a generator step's or the runtime's loop's.
    """
    reason = _NO_WAITING.get(threading.get_ident())
    if reason is None and _ENTERED:
        loop = running_loop()
        if loop is not None and loop in _ENTERED:
            reason = "the loop that the runtime works on"
    if reason is not None:
        raise WouldBlock(
            f"{what} would block {reason}; in a generator use 'yield from reply', in a"
            " coroutine 'await reply', in a handler answer later"
        )


def running_loop() -> Any:
    """Return the asyncio loop that runs on this thread, or None."""
    # asked of the module only where somebody has imported it
    events = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()  # noqa: SLF001


class OuterLoopAside:
    """While open, a loop that runs on this thread is set aside; the virtual one may run."""

    __slots__ = ("_events", "_outer")

    def __enter__(self) -> None:
        self._events: Any = sys.modules.get("asyncio.events")
        self._outer = None
        if self._events is not None:
            self._outer = self._events._get_running_loop()  # noqa: SLF001
            self._events._set_running_loop(None)  # noqa: SLF001

    def __exit__(self, *_: object) -> None:
        if self._events is not None:
            self._events._set_running_loop(self._outer)  # noqa: SLF001
