"""
Reply: a pykka Future that can also be awaited without blocking the loop.

``.get(timeout=...)`` in sync code, ``await`` in asyncio, ``yield from`` in a generator.
A Reply holds its value in place and makes a lock only when a thread really has to wait.
"""

from __future__ import annotations

import functools
import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeVar, cast

import pykka
from loguru import logger

from retinue.actors import _context
from retinue.actors._wait_graph import WaitEdge
from retinue.protocol.errors import printable

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")
M = TypeVar("M")
R = TypeVar("R")
Callback = Callable[["Reply[Any]"], None]
ExcInfo = tuple[type[BaseException] | None, BaseException | None, "TracebackType | None"]

# Guards the hand-over between a resolver and those who subscribe, for a few bytecodes.
_LOCK: Final = threading.Lock()


class Pump(Protocol):
    """A dispatcher that has to be driven by whoever waits."""

    def wait_for(self, reply: Reply[Any], timeout: float | None) -> bool:
        """Drive until *reply* is resolved; False when *timeout* came first."""
        ...


class _Several(list[Callback]):
    """More than one callback; most Replies have one."""

    __slots__ = ()


class Reply(pykka.Future[T]):
    """
    The answer to one operation, once.

    Args:
        pump: the deterministic dispatcher that a waiting thread has to drive, if any.
        target: the ref of the run that will answer, where one run is waited for; used to
            report ask cycles at once.
    """

    __slots__ = ("_callbacks", "_done", "_error", "_value", "on_abandon", "pump", "target")

    def __init__(self, pump: Pump | None = None, target: Any = None) -> None:
        # pykka's own __init__ would only fill two attributes that are never looked at.
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: Callback | _Several | None = None
        self.on_abandon: Callable[[], None] | None = None
        self.pump = pump
        self.target = target

    def __repr__(self) -> str:
        if not self._done:
            return "<Reply pending>"
        if self._error is not None:
            return f"<Reply failed {self._error!r}>"
        return f"<Reply {self._value!r}>"

    if not TYPE_CHECKING:  # which know better what is not there

        def __getattr__(self, name: str) -> NoReturn:
            advice = (
                "" if name.startswith("_") else "; 'await' it, 'yield from' it or .get() it first"
            )
            raise AttributeError(f"a Reply has no {name!r}{advice}", name=name, obj=self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Reply lives in its process; send on what it answers")

    @property
    def is_done(self) -> bool:
        """Whether the answer is there; ``get`` then returns at once."""
        return self._done

    @property
    def value(self) -> Any:
        """The value that was answered, or None while pending and after an error."""
        return self._value

    @property
    def error(self) -> BaseException | None:
        """The error that was answered, or None while pending and after a value."""
        return self._error

    def resolve(self, value: Any = None) -> bool:
        """Set the value unless there is an answer already; returns whether it was set."""
        return self._finish(value, None)

    def fail(self, error: BaseException) -> bool:
        """Set an error unless there is an answer already; returns whether it was set."""
        return self._finish(None, error)

    def _finish(self, value: Any, error: BaseException | None) -> bool:
        with _LOCK:
            if self._done:
                return False
            self._value = value
            self._error = error
            self._done = True
            callbacks, self._callbacks = self._callbacks, None
        if callbacks is None:
            return True
        if isinstance(callbacks, _Several):
            for callback in callbacks:
                self._call(callback)
        else:
            self._call(callbacks)
        return True

    def _call(self, callback: Callback) -> None:
        try:
            callback(self)
        except BaseException as error:  # noqa: BLE001 - whoever resolves has other things to do (H85)
            logger.error("a callback of a Reply raised {}", printable(error))

    def orphan(self, error: BaseException) -> None:
        """Fail without telling anybody but who asks: after a fork, in the child process."""
        self._callbacks = None
        self._finish(None, error)

    def on_done(self, callback: Callback) -> None:
        """
        Call *callback* with this Reply when it is resolved; at once if it is.

        Runs on the thread that resolves, which may be the dispatcher's: it must not block.
        What it raises is logged, and costs nobody else anything.
        """
        with _LOCK:
            if not self._done:
                if self._callbacks is None:
                    self._callbacks = callback
                elif isinstance(self._callbacks, _Several):
                    self._callbacks.append(callback)
                else:
                    self._callbacks = _Several((self._callbacks, callback))
                return
        self._call(callback)

    def forget(self, callback: Callback) -> None:
        """Take a callback back; one that has run or never was is ignored."""
        with _LOCK:
            if self._callbacks is callback:
                self._callbacks = None
            elif isinstance(self._callbacks, _Several) and callback in self._callbacks:
                self._callbacks.remove(callback)

    def set(self, value: T | None = None) -> None:
        """Set the value; raises ``queue.Full`` when there is an answer, as pykka does."""
        if not self.resolve(value):
            raise queue.Full

    def set_exception(self, exc_info: ExcInfo | None = None) -> None:
        """Set an error, the current one by default; raises ``queue.Full`` as pykka does."""
        kind, error, trace = exc_info or sys.exc_info()
        if error is None:
            error = kind() if kind is not None else RuntimeError("no exception to set")
        if trace is not None:
            error = error.with_traceback(trace)
        if not self.fail(error):
            raise queue.Full

    def set_get_hook(self, func: Callable[[float | None], T]) -> None:
        """Compute the value by *func* when it is first asked for; raises ``queue.Full``."""
        if self._done:
            raise queue.Full
        self._get_hook = func

    def get(self, *, timeout: float | None = None) -> T:
        """
        Wait for the answer and return it.

        A time-out only stops waiting; what was asked goes on.

        Args:
            timeout: seconds; None waits without limit.

        Raises:
            pykka.Timeout: no answer came in time.
            WouldBlock: waiting here would stop what is waited for.
            AskCycle: the run that would answer waits, in the end, for this one.
            Exception: the answer is an error.
        """
        if not self._done:
            hook = getattr(self, "_get_hook", None)
            if hook is not None:
                self.resolve(hook(timeout))
            else:
                self._wait(timeout)
        return self.outcome()

    def outcome(self) -> T:
        """Return the value that is there, or raise the error."""
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def _wait(self, timeout: float | None) -> None:
        _context.check_may_wait("get()")
        scope = _context.CURRENT.get()
        if scope is None:
            arrived = self.wait_for(timeout)
        else:
            scope.check()
            with WaitEdge(self, scope):
                arrived = scope.wait(self, timeout)  # pyright: ignore[reportArgumentType]
        if not arrived:
            raise pykka.Timeout(f"{timeout} seconds")

    def wait_for(self, timeout: float | None) -> bool:
        """Wait on this thread; False when *timeout* came first."""
        if self._done:
            return True
        if self.pump is not None:
            return self.pump.wait_for(self, timeout)
        bell = threading.Lock()
        bell.acquire()

        def ring(_: Reply[Any]) -> None:
            bell.release()

        self.on_done(ring)
        seconds = -1 if timeout is None else min(max(timeout, 0.0), threading.TIMEOUT_MAX)
        if bell.acquire(timeout=seconds):
            return True
        self.forget(ring)
        return self._done

    def __await__(self) -> Generator[Any, None, T]:
        if not self._done:
            from retinue.actors._loop import wait_on_loop

            yield from wait_on_loop(self)  # pyright: ignore[reportArgumentType]
        return self.outcome()

    def __iter__(self) -> Generator[Any, Any, T]:
        yield from self.settling()
        return self.outcome()

    def settling(self) -> Generator[Any, Any, None]:
        """Yield the Replies that have to be waited for, until this one is settled."""
        if not self._done:
            yield self

    def map(self, func: Callable[[T], M]) -> Reply[M]:
        """Return a Reply with *func* of the value, computed by whoever first asks."""
        return _derived((self,), lambda values: func(values[0]))

    def filter(self: Any, func: Callable[[Any], bool]) -> Reply[Iterable[Any]]:
        """Return a Reply with the items of the value that pass *func*."""
        return _derived((self,), lambda values: [item for item in values[0] if func(item)])

    def reduce(self: Any, func: Callable[[Any, Any], Any], *args: Any) -> Reply[Any]:
        """Return a Reply with the items of the value folded by *func*."""
        return _derived((self,), lambda values: functools.reduce(func, values[0], *args))

    def join(self: Any, *futures: pykka.Future[Any]) -> Reply[Iterable[Any]]:
        """Return a Reply with the values of this one and all *futures*, in order."""
        return _derived((self, *futures), list)

    def abandon(self) -> None:
        """Say that nobody will take the answer: a start is cancelled by it."""
        if self.on_abandon is not None:
            self.on_abandon()


def _derived(
    sources: tuple[pykka.Future[Any], ...], compute: Callable[[list[Any]], Any]
) -> Reply[Any]:
    from retinue.actors._derived import Derived

    return Derived(sources, compute)  # pyright: ignore[reportReturnType]


def forget_other_threads() -> None:
    """Unlock, after a fork, what a thread that does not exist here may have locked."""
    _LOCK._at_fork_reinit()  # type: ignore[attr-defined]  # noqa: SLF001 - made for this
