"""How a runtime is closed: once, whoever asks and however often, and to the end."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import pykka

from retinue.actors import _context
from retinue.actors._abandoned import abandon
from retinue.actors._dispatcher import FOREVER
from retinue.actors._mailbox import ActorStop
from retinue.actors._reply import Reply
from retinue.actors._views import RuntimeViews
from retinue.protocol import messages
from retinue.protocol.errors import Deadlock, NotQuiescent, WouldBlock
from retinue.protocol.limits import check_time

if TYPE_CHECKING:
    from retinue.actors._service import Service

# How long a close may take, unless its caller says otherwise.
CLOSE_SECONDS: Final = 10.0

_UNCLOSED: Final[tuple[str, ...]] = ("what the runs shared did not close in time",)


class ClosableRuntime(RuntimeViews):
    """The part of a Runtime that ends it."""

    _forgotten: weakref.finalize[[Service, str], Any]

    def __init__(self) -> None:
        # Resolved when the first close is through; later ones wait for it.
        self._closed: Reply[None] = Reply()

    def close(self, timeout: float = CLOSE_SECONDS) -> None:
        """
        Stop every run, children first, then the runtime's own threads.

        Closing again does nothing; a close on another thread waits for the first.

        Args:
            timeout: seconds for all of it.

        Raises:
            NotQuiescent: something would not stop; it is named, and the rest is released.
            WouldBlock: called from inside the runtime's own runs, handlers, steps or loop.
        """
        check_time(timeout, "timeout")
        if self._closed.is_done:
            return
        self._must_be_outside("close()")
        if not self._is_first():
            self._closed.get(timeout=timeout)
            return
        with self._closing():
            stuck, unclosed = None, _UNCLOSED
            with suppress(pykka.Timeout, Deadlock):
                stuck = self._drain(timeout).get(timeout=timeout)
            with suppress(pykka.Timeout, Deadlock):
                unclosed = self._service.shared.close().get(timeout=self._patience(timeout))
            self._finish(stuck, timeout, unclosed)

    async def aclose(self, timeout: float = CLOSE_SECONDS) -> None:
        """Do what ``close`` does, without blocking the loop."""
        import asyncio  # half of what it costs to import all of Retinue

        check_time(timeout, "timeout")
        if self._closed.is_done:
            return
        self._must_be_outside("aclose()", is_async=True)
        if not self._is_first():
            await self._closed
            return
        with self._closing():
            stuck, unclosed = None, _UNCLOSED
            with suppress(TimeoutError, Deadlock):
                async with asyncio.timeout(min(timeout, FOREVER)):
                    stuck = await self._drain(timeout)
            with suppress(TimeoutError, Deadlock):
                async with asyncio.timeout(self._patience(timeout)):
                    unclosed = await self._service.shared.close()
            self._finish(stuck, timeout, unclosed)

    def _must_be_outside(self, what: str, *, is_async: bool = False) -> None:
        scope = _context.CURRENT.get()
        if scope is not None and scope.workplace.service is self._service:
            raise WouldBlock(
                f"{scope.workplace.run_id}: a run whose {what} ends its own runtime would wait"
                " for itself; return, and let the runtime's owner close it"
            )
        if not is_async and not self._service.is_shut:
            _context.check_may_wait(what)

    def _is_first(self) -> bool:
        with self._service.dispatcher.lock:
            is_first, self._is_closed = not self._is_closed, True
        if is_first:
            self._forgotten.detach()
        return is_first

    @contextmanager
    def _closing(self) -> Generator[None]:
        """Finish also when the one that closes is interrupted, and let go who waits."""
        try:
            yield
        except NotQuiescent as error:
            self._closed.fail(error)
            raise
        except BaseException:  # Ctrl-C, a cancelled task, a cancelled run of another runtime
            with suppress(NotQuiescent):
                self._finish(None, 0.0)
            self._closed.resolve()
            raise
        self._closed.resolve()

    def _patience(self, timeout: float) -> float:
        """Return how long what is over already may take to let go."""
        return min(timeout, self._service.grace)

    def _drain(self, timeout: float) -> Reply[Any]:
        service = self._service
        if service.is_shut:  # somebody stopped the registry, as stop_all() does
            nothing = Reply[Any]()
            nothing.resolve(())
            return nothing
        grace = self._patience(timeout)
        service.dispatcher.hurry(grace)
        return service.ask_registry(messages.Drain(grace))

    def _finish(
        self, stuck: tuple[str, ...] | None, timeout: float, unclosed: tuple[str, ...] = ()
    ) -> None:
        """
        End the dispatcher, and name what would not stop.

        Args:
            stuck: what the drain says would not stop; None when it did not answer in time.
            unclosed: what of that which the runs shared did not close.
        """
        service = self._service
        service.is_shut = True
        # Threads that hold runs already named as stuck get no second grace.
        patience = 0.0 if stuck or stuck is None else self._patience(timeout)
        left = service.dispatcher.close(patience)
        unended = abandon(service)
        names = dict.fromkeys((*service.still_lost(stuck or ()), *unended, *unclosed, *left))
        if names:
            raise NotQuiescent(f"{self.id}: closed, and {len(names)} would not stop", tuple(names))

    @property
    def id(self) -> str:
        """The prefix of this runtime's run ids."""
        return self._service.dispatcher.prefix


def warn_forgotten(service: Service, text: str) -> None:
    """Warn of a runtime that nobody closed, and stop what is left of it, waiting for nothing."""
    if service.is_shut:
        return
    # The collector comes by anywhere, also where this thread holds the lock that telling needs.
    stop = threading.Thread(target=service.tell_registry, args=(ActorStop(),), daemon=True)
    with suppress(RuntimeError):  # the interpreter ends, and everything with it
        stop.start()
    warnings.warn(f"{text} was never closed", ResourceWarning, stacklevel=2)
