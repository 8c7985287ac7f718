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

from retinue.protocol.errors import WouldBlock

if TYPE_CHECKING:
    from retinue.actors._scope import Scope

CURRENT: ContextVar[Scope | None] = ContextVar("retinue_current", default=None)

# Threads on which a blocking wait would stop what is waited for, each with the reason.
# A dict, not a lock: one key per thread, written by that thread alone.
_NO_WAITING: Final[dict[int, str]] = {}


def forbid_waiting(reason: str) -> str | None:
    """Forbid blocking waits on this thread; returns what was in force before."""
    ident = threading.get_ident()
    before = _NO_WAITING.get(ident)
    _NO_WAITING[ident] = reason
    return before


def allow_waiting(before: str | None = None) -> None:
    """Undo ``forbid_waiting`` on this thread."""
    allow_waiting_on(threading.get_ident(), before)


def allow_waiting_on(ident: int, before: str | None = None) -> None:
    """Undo ``forbid_waiting`` of the thread *ident*."""
    if before is None:
        _NO_WAITING.pop(ident, None)
    else:
        _NO_WAITING[ident] = before


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
    if reason is not None:
        raise WouldBlock(
            f"{what} would block {reason}; in a generator use 'yield from reply', in a"
            " coroutine 'await reply', in a handler answer later"
        )


def has_running_loop() -> bool:
    """Whether an asyncio loop runs on this thread."""
    # asked of the module only where somebody has imported it
    events = sys.modules.get("asyncio.events")
    return events is not None and events._get_running_loop() is not None  # noqa: SLF001


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
