"""
Scopes: one piece of a behaviour's work, under way on a thread, a loop or in its actor.

A scope says for whom work is done and whether it still is wanted. It is tripped once;
waits for Replies inside it end then, whatever they wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from retinue.actors._context import CURRENT
from retinue.actors._reply import Reply
from retinue.protocol.errors import Cancelled
from retinue.protocol.messages import Crashed
from retinue.protocol.provider import Outcome

if TYPE_CHECKING:
    from retinue.actors._workplace import ActorWorkplace

Done = Callable[[Outcome], None]


class Scope:
    """One piece of work of one turn, and whether it is still wanted."""

    __slots__ = ("_listeners", "is_done", "stopped", "turn", "workplace")

    def __init__(self, workplace: ActorWorkplace, turn: int) -> None:
        self.workplace = workplace
        self.turn = turn
        self.stopped: str | None = None
        self.is_done = False
        self._listeners: list[Callable[[], object]] | None = None

    @property
    def ref(self) -> Any:
        """The ref of the run that the work is done for."""
        return self.workplace.ref

    def check(self) -> None:
        """
        Refuse to go on with work that nobody wants any more.

        Raises:
            Cancelled: the turn was stopped, or the run is marked to end.
        """
        reason = self.stopped or self.workplace.ref.mark
        if reason is not None:
            raise Cancelled(f"{self.workplace.run_id}: {reason}")

    def cancel(self, reason: str) -> None:
        """Trip the scope; every wait inside it ends. Safe from any thread."""
        with self.workplace.lock:
            if self.stopped is not None:
                return
            self.stopped = reason
            listeners, self._listeners = self._listeners, None
        for listener in listeners or ():
            listener()

    def on_trip(self, listener: Callable[[], object]) -> None:
        """Call *listener* when the scope trips; at once if it has."""
        with self.workplace.lock:
            if self.stopped is None:
                if self._listeners is None:
                    self._listeners = []
                self._listeners.append(listener)
                return
        listener()

    def forget(self, listener: Callable[[], object]) -> None:
        """Take a listener back."""
        with self.workplace.lock:
            if self._listeners is not None and listener in self._listeners:
                self._listeners.remove(listener)

    def wait(self, reply: Reply[Any], timeout: float | None) -> bool:
        """
        Wait on a behaviour's thread for *reply*, or until the scope trips.

        Raises:
            Cancelled: it tripped, or the run is marked to end: what came is then what the
                same cancel left of somebody else's work, and no ground to go on (H04).
        """
        either: Reply[Any] = Reply(reply.pump)

        def resolved(_: Reply[Any]) -> None:
            either.resolve()

        self.on_trip(either.resolve)
        reply.on_done(resolved)
        try:
            either.wait_for(timeout)
        finally:
            self.forget(either.resolve)
            reply.forget(resolved)
        self.check()
        return reply.is_done

    def run(self, function: Callable[[], Any], done: Done) -> None:
        """Run a blocking function here, on a worker's thread, and say how it ended."""
        CURRENT.set(self)  # pyright: ignore[reportArgumentType]
        try:
            self.check()
            outcome = Outcome(function())
        except BaseException as error:  # noqa: BLE001 - nothing leaves a task (H85)
            outcome = Outcome(error=error)
        finally:
            CURRENT.set(None)
        self.conclude(done, outcome)

    def conclude(self, done: Done, outcome: Outcome) -> None:
        """Say how the work ended; a driver that raises at that has crashed."""
        self.is_done = True
        try:
            done(outcome)
        except BaseException as error:  # noqa: BLE001 - the provider's door
            self.workplace.report(Crashed(error))


class ThreadScope(Scope):
    """A blocking function on a thread; it can be woken out of waits, not stopped."""

    __slots__ = ()


class LoopScope(Scope):
    """A coroutine on the loop; cancelling cancels its task."""

    __slots__ = ("_work",)

    def __init__(self, workplace: ActorWorkplace, turn: int) -> None:
        super().__init__(workplace, turn)
        self._work: Any = None

    def attach(self, work: Any) -> None:
        """Take the task's handle."""
        self._work = work

    def cancel(self, reason: str) -> None:
        """Cancel the task; its clean-up runs on the loop."""
        super().cancel(reason)
        if self._work is not None and not self.is_done:
            self._work.cancel()
