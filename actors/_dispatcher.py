"""
The dispatcher: who runs which handler when.

Rule 1: of one runtime, one handler runs at a time.
Rule 2: control before work, looked at before every message, so that a cancel waits for
at most one handler.
Rule 3: nothing derived from BaseException leaves a handler (H85).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from itertools import count
from typing import Any, Final

from loguru import logger

from retinue.actors._clock import Clock, Timer, Timers
from retinue.actors._mailbox import LATER, Letter, Mailbox
from retinue.actors._reply import Reply
from retinue.actors._threads import ThreadWork
from retinue.actors._wait_graph import WaitGraph
from retinue.actors._watchdog import Evicted
from retinue.protocol.errors import InvalidRequest, printable
from retinue.protocol.provider import Outcome

# A time beyond every other one, which still can be added to a clock's.
FOREVER: Final = 1e15


class Dispatcher:
    """
    What both dispatchers share: delivering one letter, sealing a mailbox, counting ids.

    Args:
        clock: tells the time for timers, deadlines and logs.
    """

    pump: Any = None
    is_deterministic = False

    def __init__(self, clock: Clock) -> None:
        if not callable(getattr(clock, "now", None)):
            raise InvalidRequest(f"clock: expected one with now(), got {type(clock).__name__}")
        self.clock = clock
        self.is_closed = False
        self._is_taken = False
        self.prefix = "retinue"
        self.lock = threading.Lock()
        self.timers = Timers()
        self.waits = WaitGraph()
        self.running: Mailbox | None = None
        self.runner: int | None = None
        self._reply: Reply[Any] | None = None
        self._numbers = count(1)

    def take(self) -> None:
        """
        Belong to one runtime from now on.

        Raises:
            InvalidRequest: it belongs to one already, or did.
        """
        with self.lock:
            if self._is_taken:
                raise InvalidRequest("dispatcher: it serves another runtime; make one for each")
            self._is_taken = True

    def next_number(self) -> int:
        """Return the next run number; safe from any thread."""
        return next(self._numbers)

    def put(self, ref: Mailbox, message: Any, reply: Reply[Any] | None) -> bool:
        """Queue a letter; False when the mailbox is sealed. Safe from any thread."""
        raise NotImplementedError

    def post_start(self, ref: Mailbox) -> None:
        """Run the actor's ``on_start`` on the dispatcher, before its first message."""
        self.put(ref, _OnStart(), None)

    def take_reply(self) -> Reply[Any] | None:
        """Take the Reply of the letter that is being handled."""
        reply, self._reply = self._reply, None
        return reply

    @property
    def has_asker(self) -> bool:
        """Whether the letter that is being handled was asked and not told."""
        return self._reply is not None

    def is_running(self, ref: Mailbox) -> bool:
        """Whether this very thread is inside a handler of *ref*."""
        return self.running is ref and self.runner == threading.get_ident()

    def is_inside(self) -> bool:
        """Whether this very thread runs handlers now: inside one, or in what one resolved."""
        return self.runner == threading.get_ident()

    def after(self, seconds: float, action: Callable[[], object]) -> Timer:
        """Do *action* in *seconds*, or at once when the clock stands still; it must not block."""
        # A long integer does not add to a float.
        timer = self.timers.add(self.clock.now() + min(seconds, FOREVER), action)
        if self.is_closed:
            self.timers.fire(math.inf)
        return timer

    def enter_step(self, step: Any) -> None:
        """Note that foreign code begins to run inside a handler."""
        del step

    def leave_step(self, step: Any) -> float:
        """Note that it is over; returns how long it took, where that is measured."""
        del step
        return 0.0

    def run_direct(self, ref: Mailbox, message: Any) -> Reply[Any] | None:
        """Run an asker's own message on its thread if nothing forbids it; None if it does."""
        del ref, message
        return None

    def on_thread(self, function: Callable[[], None], name: str) -> ThreadWork:
        """Run a blocking function on a thread of its own."""
        raise NotImplementedError

    def on_pool(self, function: Callable[[], None], name: str) -> ThreadWork:
        """Run a blocking function on the bounded pool."""
        raise NotImplementedError

    def on_loop(
        self,
        coroutine: Coroutine[Any, Any, Any],
        done: Callable[[Outcome], None],
        context: Context,
    ) -> Any:
        """Run a coroutine on the runtime's loop."""
        raise NotImplementedError

    def use_running_loop(self) -> None:
        """Run coroutines on the loop that runs here, from now on."""
        raise NotImplementedError

    def hurry(self, grace: float) -> None:
        """Give nothing that blocks the dispatcher more than *grace* seconds from now on."""
        del grace

    def close(self, timeout: float) -> list[str]:
        """Stop everything of the dispatcher's own; name what would not stop."""
        raise NotImplementedError

    def forked(self) -> None:
        """Be closed, in the child of a fork: whatever this would stop is not there."""
        self.is_closed = True

    def deliver(self, ref: Mailbox, message: Any, reply: Reply[Any] | None) -> None:
        """Have one letter handled. Only the holder of the role may call this."""
        actor = ref.actor
        if actor is None:
            if reply is not None:
                reply.fail(ref.dead(message))
            return
        self.running = ref
        self._reply = reply
        try:
            answer = actor.receive(message) if type(message) is not _OnStart else actor.on_start()
        except Evicted:
            raise  # this thread was left behind; another one holds the role
        except BaseException as error:  # noqa: BLE001 - rule 3
            self.running = None
            self._failed(ref, reply, error)
        else:
            # Whoever hears the answer may report to this actor, whose handler is over.
            self.running = None
            if answer is not LATER and self._reply is not None:
                self._reply.resolve(answer)
        self._reply = None

    def _failed(self, ref: Mailbox, reply: Reply[Any] | None, error: BaseException) -> None:
        if not isinstance(error, Exception):
            # Whoever asked gets an ordinary exception: a CancelledError or SystemExit
            # would go on to end the asker's own thread or task.
            about = RuntimeError(f"{ref.run_id}: {printable(error)}")
            about.__cause__ = error
            error = about
        if reply is not None and reply.fail(error):
            return
        actor = ref.actor
        if actor is None:
            return
        try:
            actor.on_failure(type(error), error, error.__traceback__)
        except BaseException as second:  # noqa: BLE001 - rule 3
            logger.bind(run_id=ref.run_id).error("on_failure raised {}", printable(second))
        self.seal(ref, run_hook=False)

    def take_rest(self, ref: Mailbox) -> list[Letter]:
        """Take every letter that waits for *ref*; the caller holds the lock."""
        return list(ref.take_rest())

    def seal(self, ref: Mailbox, *, run_hook: bool = True) -> None:
        """Close a mailbox for good, run ``on_stop``, and answer or hand back the rest."""
        with self.lock:
            if ref.is_sealed:
                return
            ref.is_sealed = True
            rest = self.take_rest(ref)
        actor, ref.actor = ref.actor, None
        if actor is None:
            return
        if run_hook:
            _contained(ref, "on_stop", actor.on_stop)
        for message, reply in rest:
            if reply is not None:
                reply.fail(ref.dead(message))
            else:
                _contained(ref, "on_undelivered", partial(actor.on_undelivered, message))


class _OnStart:
    """The first letter of an actor that was started by itself."""

    __slots__ = ()


def _contained(ref: Mailbox, what: str, hook: Callable[[], Any]) -> None:
    try:
        hook()
    except BaseException as error:  # noqa: BLE001 - rule 3
        logger.bind(run_id=ref.run_id).error("{} raised {}", what, printable(error))
