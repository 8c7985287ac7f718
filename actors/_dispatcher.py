"""
The dispatcher: who runs which handler when.

Rule 1: of one runtime, one handler runs at a time. The right to run handlers is a role,
a lock that the dispatcher's thread holds while there is work.
Rule 2: control before work, looked at before every message, so that a cancel waits for
at most one handler. Actors with work take turns, one message each.
Rule 3: nothing derived from BaseException leaves a handler (H85).
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import Any, Final

from loguru import logger

from retinue.actors import _context
from retinue.actors._clock import Clock, ManualClock, RealClock, Timer, Timers
from retinue.actors._mailbox import CONTROL, LATER, Letter, Mailbox
from retinue.actors._reply import Reply, WaitGraph
from retinue.actors._threads import ThreadWork, WorkerPool
from retinue.actors._watchdog import Evicted, Watchdog
from retinue.protocol.provider import Outcome

# Timers are looked at after so many messages while there is no rest: a clock read costs
# as much as a small handler.
_MESSAGES_PER_CLOCK_READ: Final = 32

# A step of 100 ms is reported; one that takes this long is taken to be blocked for good.
EVICT_SECONDS: Final = 5.0

# How many threads `turn.call` may use at once, as in concurrent.futures' default.
POOL_LIMIT: Final = 32


class Dispatcher:
    """
    What both dispatchers share: delivering one letter, sealing a mailbox, counting ids.

    Args:
        clock: tells the time for timers, deadlines and logs.
    """

    pump: Any = None
    is_deterministic = False

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.prefix = "retinue"
        self.lock = threading.Lock()
        self.timers = Timers()
        self.waits = WaitGraph()
        self.running: Mailbox | None = None
        self.runner: int | None = None
        self._reply: Reply[Any] | None = None
        self._numbers = count(1)

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
        """Whether this very thread is inside a handler."""
        return self.running is not None and self.runner == threading.get_ident()

    def after(self, seconds: float, action: Callable[[], None]) -> Timer:
        """Do *action* in *seconds* of the clock; it must not block."""
        return self.timers.add(self.clock.now() + seconds, action)

    def enter_step(self, step: Any) -> None:
        """Note that foreign code begins to run inside a handler."""
        del step

    def leave_step(self, step: Any) -> float:
        """Note that it is over; returns how long it took, where that is measured."""
        del step
        return 0.0

    def run_direct(self, ref: Mailbox, message: Any) -> tuple[bool, Any]:
        """Run an asker's own message on its thread if nothing forbids it."""
        del ref, message
        return False, None

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

    def close(self, timeout: float) -> list[str]:
        """Stop everything of the dispatcher's own; name what would not stop."""
        raise NotImplementedError

    def deliver(self, ref: Mailbox, message: Any, reply: Reply[Any] | None) -> None:
        """Have one letter handled. Only the holder of the role may call this."""
        actor = ref.actor
        if actor is None:
            if reply is not None:
                reply.fail(ref.dead())
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
            ordinary = RuntimeError(f"{ref.run_id}: {type(error).__name__}: {error}")
            ordinary.__cause__ = error
            error = ordinary
        if reply is not None and reply.fail(error):
            return
        actor = ref.actor
        if actor is None:
            return
        try:
            actor.on_failure(type(error), error, error.__traceback__)
        except BaseException as second:  # noqa: BLE001 - rule 3
            logger.bind(run_id=ref.run_id).error("on_failure raised {!r}", second)
        self.seal(ref, run_hook=False)

    def seal(self, ref: Mailbox, *, run_hook: bool = True) -> None:
        """Close a mailbox for good, run ``on_stop``, and answer or hand back the rest."""
        with self.lock:
            if ref.is_sealed:
                return
            ref.is_sealed = True
            rest: list[Letter] = list(ref.take_rest())
        actor, ref.actor = ref.actor, None
        if actor is None:
            return
        if run_hook:
            _contained(ref, "on_stop", actor.on_stop)
        for message, reply in rest:
            if reply is not None:
                reply.fail(ref.dead())
            else:
                _contained(ref, "on_undelivered", lambda m=message: actor.on_undelivered(m))


class _OnStart:
    """The first letter of an actor that was started by itself."""

    __slots__ = ()


def _contained(ref: Mailbox, what: str, hook: Callable[[], Any]) -> None:
    try:
        hook()
    except BaseException as error:  # noqa: BLE001 - rule 3
        logger.bind(run_id=ref.run_id).error("{} raised {!r}", what, error)


class ThreadDispatcher(Dispatcher):
    """
    Runs the handlers of many actors on one daemon thread, made at the first message.

    Args:
        clock: real by default; a ManualClock makes timers wait for its ``advance``.
        evict_after: seconds after which a generator that blocks inside a step is left
            behind on the old thread, its turn ended ``error``, and a new thread goes on.
    """

    def __init__(self, clock: Clock | None = None, *, evict_after: float = EVICT_SECONDS) -> None:
        super().__init__(clock or RealClock())
        self._watchdog = Watchdog(evict_after, self._evict)
        self._left_behind: list[tuple[threading.Thread, str]] = []
        self._control: deque[tuple[Mailbox, Any, Reply[Any] | None]] = deque()
        self._ready: deque[Mailbox] = deque()
        self._role = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._is_parked = False
        self._is_closing = False
        self._thread: threading.Thread | None = None
        self._workers = WorkerPool(None, "retinue-work")
        self._pool = WorkerPool(POOL_LIMIT, "retinue-call")
        self._port: Any = None
        self._main = threading.main_thread().ident
        self._remove_listener: Callable[[], None] | None = None
        if isinstance(self.clock, ManualClock):
            self._remove_listener = self.clock.on_advance(self._wake)

    def put(self, ref: Mailbox, message: Any, reply: Reply[Any] | None) -> bool:
        """Queue a letter; False when the mailbox is sealed. Safe from any thread."""
        with self.lock:
            if ref.is_sealed:
                return False
            if type(message) in CONTROL:
                self._control.append((ref, message, reply))
            else:
                queue = ref.queue
                if queue is None:
                    ref.queue = (message, reply)
                    self._ready.append(ref)
                elif type(queue) is deque:
                    queue.append((message, reply))
                else:
                    ref.queue = deque((queue, (message, reply)))  # type: ignore[arg-type]
            if self._is_parked:
                self._is_parked = False
                self._bell.release()
        if self._thread is None:
            self._start()
        return True

    def after(self, seconds: float, action: Callable[[], None]) -> Timer:
        """Do *action* in *seconds* of the clock; it must not block."""
        timer = super().after(seconds, action)
        if self.runner != threading.get_ident():
            self._wake()
        return timer

    def run_direct(self, ref: Mailbox, message: Any) -> tuple[bool, Any]:
        """
        Run an asker's own message, and nothing else, on the asker's thread.

        Only when nothing is queued, the role is free, and the thread is neither the main
        one (where a signal could strike inside a handler) nor one with a running loop.
        """
        ident = threading.get_ident()
        if self._ready or self._control or ident == self._main or _has_running_loop():
            return False, None
        if not self._role.acquire(blocking=False):
            return False, None
        before = _context.forbid_waiting("a handler")
        self.runner = ident
        reply: Reply[Any] = Reply()
        try:
            if self._ready or self._control or ref.is_sealed:
                return False, None
            self.deliver(ref, ref.accepts(message), reply)
        finally:
            self.runner = None
            _context.allow_waiting(before)
            self._role.release()
        return (True, reply.outcome()) if reply.is_done else (True, reply.get())

    def _start(self) -> None:
        with self.lock:
            if self._thread is not None or self._is_closing:
                return
            self._thread = threading.Thread(
                target=self._serve, name="retinue-dispatch", daemon=True
            )
        self._thread.start()

    def _serve(self) -> None:
        _context.forbid_waiting("the dispatcher's thread")
        try:
            while True:
                with self._role:
                    self.runner = threading.get_ident()
                    self._work()
                    self.runner = None
                if not self._park():
                    return
        except Evicted:
            pass
        finally:
            _context.allow_waiting()

    def enter_step(self, step: Any) -> None:
        """Note that a generator begins a step."""
        self._watchdog.enter(step)

    def leave_step(self, step: Any) -> float:
        """Note that the step is over; returns how long it took; raises Evicted."""
        return self._watchdog.leave(step)

    def _evict(self, step: Any, taken: float) -> None:
        """Leave the thread inside *step* behind and go on with a new one."""
        with self.lock:
            if self._is_closing or self._watchdog.step is not step:
                return
            step.is_evicted = True
            self._watchdog.step = None
            if self._thread is not None:
                self._left_behind.append((self._thread, step.workplace.run_id))
            self._role = threading.Lock()
            self._thread = None
        step.blocked(taken)  # its letter starts the new thread

    def _work(self) -> None:
        control, ready, lock = self._control, self._ready, self.lock
        left = _MESSAGES_PER_CLOCK_READ
        self.timers.fire(self.clock.now())
        while True:
            if control:
                self.deliver(*control.popleft())
            elif ready:
                with lock:
                    ref = ready.popleft()
                    queue = ref.queue
                    if queue is None:  # sealed meanwhile, its letters handed back
                        continue
                    if type(queue) is deque:
                        message, reply = queue.popleft()
                        if queue:
                            ready.append(ref)
                        else:
                            ref.queue = None
                    else:
                        message, reply = queue
                        ref.queue = None
                self.deliver(ref, message, reply)
            else:
                return
            left -= 1
            if left == 0:
                left = _MESSAGES_PER_CLOCK_READ
                self.timers.fire(self.clock.now())

    def _park(self) -> bool:
        """Sleep until there is work or a timer is due; False when closed."""
        timeout = -1.0
        with self.lock:
            if self._control or self._ready:
                return True
            if self._is_closing:
                return False
            # Looked at under the lock: a timer set, or a manual clock moved, after this
            # finds the thread parked and rings.
            due = self.timers.next_time()
            if due is not None:
                timeout = due - self.clock.now()
                if timeout <= 0.0:
                    return True
                if isinstance(self.clock, ManualClock):
                    timeout = -1.0
            self._is_parked = True
        if not self._bell.acquire(timeout=timeout):
            with self.lock:
                if self._is_parked:
                    self._is_parked = False
                    return True
            self._bell.acquire()  # rung between the time-out and the lock
        return True

    def _wake(self) -> None:
        with self.lock:
            if self._is_parked:
                self._is_parked = False
                self._bell.release()
        if self._thread is None:
            self._start()

    def on_thread(self, function: Callable[[], None], name: str) -> ThreadWork:
        """Run a blocking function on a thread of its own."""
        return self._workers.run(function, name)

    def on_pool(self, function: Callable[[], None], name: str) -> ThreadWork:
        """Run a blocking function on the bounded pool."""
        return self._pool.run(function, name)

    def on_loop(
        self,
        coroutine: Coroutine[Any, Any, Any],
        done: Callable[[Outcome], None],
        context: Context,
    ) -> Any:
        """Run a coroutine on the loop that was entered, or on one of the runtime's own."""
        if self._port is None:
            from retinue.actors._loop import LoopPort  # noqa: PLC0415 - asyncio

            self._port = LoopPort()
        return self._port.run(coroutine, done, context)

    def use_running_loop(self) -> None:
        """Run coroutines on the loop that runs here, from now on."""
        import asyncio  # noqa: PLC0415 - only in programs that use it

        from retinue.actors._loop import LoopPort  # noqa: PLC0415

        self._port = LoopPort(asyncio.get_running_loop())

    def close(self, timeout: float) -> list[str]:
        """Stop loop, pools and the dispatcher's thread; name what would not stop."""
        stuck: list[str] = []
        if self._port is not None:
            name = self._port.close(timeout)
            if name is not None:
                stuck.append(name)
        stuck += self._workers.close(timeout)
        stuck += self._pool.close(timeout)
        self.timers.clear()
        self._watchdog.close()
        if self._remove_listener is not None:
            self._remove_listener()
            self._remove_listener = None
        for thread, run_id in self._left_behind:
            if thread.is_alive():
                stuck.append(run_id)
        with self.lock:
            self._is_closing = True
            thread = self._thread
        self._wake_to_close()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
            if thread.is_alive():
                stuck.append(thread.name)
        return stuck

    def _wake_to_close(self) -> None:
        with self.lock:
            if self._is_parked:
                self._is_parked = False
                self._bell.release()


def _has_running_loop() -> bool:
    # asked of the module only where somebody has imported it
    events = sys.modules.get("asyncio.events")
    return events is not None and events._get_running_loop() is not None  # noqa: SLF001
