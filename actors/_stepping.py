"""Generators, stepped inside their actors: from wait to wait, and fair to everybody else."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from retinue.actors._context import CURRENT
from retinue.actors._reply import Reply
from retinue.actors._scope import Done, Scope
from retinue.actors._wait_graph import WaitEdge
from retinue.actors._watchdog import Evicted
from retinue.protocol.errors import AskCycle, Cancelled
from retinue.protocol.log import Ending
from retinue.protocol.messages import TurnEnded
from retinue.protocol.provider import Outcome

if TYPE_CHECKING:
    from retinue.actors._workplace import ActorWorkplace

# A generator's step that takes longer is reported, from design.md section 5.
STALL_SECONDS: Final = 0.1

# How many answers that are there already a generator takes before others have a turn.
STEPS_IN_A_ROW: Final = 100


class Resume:
    """A letter to oneself: a generator may go on."""

    __slots__ = ("stepping",)

    def __init__(self, stepping: Stepping) -> None:
        self.stepping = stepping


class Stepping(Scope):
    """A generator that is stepped inside its actor; it yields Replies, or nothing."""

    __slots__ = ("_done", "_generator", "_waits_for", "is_evicted")

    def __init__(
        self,
        workplace: ActorWorkplace,
        turn: int,
        generator: Generator[Any, Any, Any],
        done: Done,
    ) -> None:
        super().__init__(workplace, turn)
        self._generator = generator
        self._done = done
        self._waits_for: Reply[Any] | None = None
        # Set when the thread inside a step was left behind: see the watchdog.
        self.is_evicted = False

    def cancel(self, reason: str) -> None:
        """Close the generator now, so that every ``finally`` in it runs; in the actor only."""
        if self.is_done:
            return
        super().cancel(reason)
        if self.is_evicted:
            return
        self._stop_waiting()
        error: BaseException = Cancelled(f"{self.workplace.run_id}: {reason}")
        try:
            self._timed(self._generator.close)
        except Evicted:
            self._end_left_behind()
            raise
        except BaseException as raised:  # noqa: BLE001 - a clean-up that fails ends all the same
            error = raised
        self._end(Outcome(error=error))

    def resume(self) -> None:
        """Go on, with the answer where one was waited for."""
        if self.is_done:
            return
        reply = self._waits_for
        self._stop_waiting()
        if reply is None:
            self.advance(None)
        elif reply.error is not None:
            self.advance(None, reply.error)
        else:
            self.advance(reply.outcome())

    def advance(self, value: Any, error: BaseException | None = None) -> None:
        """Step until the generator waits for something that is not there yet."""
        try:
            for _ in range(STEPS_IN_A_ROW):
                yielded = self._timed(self._send, value, error)
                if yielded is None:
                    break
                if not isinstance(yielded, Reply):
                    yielded = _not_a_reply(yielded)
                if yielded.is_done:
                    value, error = yielded.value, yielded.error
                    continue
                if yielded.target is not None:
                    try:
                        WaitEdge(yielded, self).__enter__()
                    except AskCycle as cycle:
                        value, error = None, cycle
                        continue
                self._waits_for = yielded
                yielded.on_done(self._post)
                return
            else:
                self._waits_for = _answer(value, error)
            self._post()
        except StopIteration as stop:
            self._end(Outcome(stop.value))
        except Evicted:
            self._end_left_behind()
            raise
        except BaseException as raised:  # noqa: BLE001 - nothing leaves a step (H85)
            self._waits_for = None
            self._end(Outcome(error=raised))

    def _send(self, value: Any, error: BaseException | None) -> Any:
        if error is not None:
            return self._generator.throw(error)
        return self._generator.send(value)

    def _timed(self, function: Callable[..., Any], *args: Any) -> Any:
        dispatcher = self.workplace.ref.dispatcher
        dispatcher.enter_step(self)
        CURRENT.set(self)
        try:
            return function(*args)
        finally:
            CURRENT.set(None)
            taken = dispatcher.leave_step(self)
            if taken > STALL_SECONDS:
                self.workplace.stalled(taken)

    def blocked(self, seconds: float) -> None:
        """End the turn from outside: its generator does not come back from a step."""
        self.workplace.stalled(seconds)
        text = (
            f"a step blocked the dispatcher for {seconds:.1f} s; use turn.call() for what"
            " blocks, or a plain function, which has a thread of its own"
        )
        self.workplace.report(TurnEnded(self.turn, Ending.ERROR, (), None, text))

    def _end_left_behind(self) -> None:
        """Clean up on the thread that was left behind, now that its step has returned."""
        with suppress(BaseException):
            self._generator.close()
        self._end(Outcome(error=Cancelled(f"{self.workplace.run_id}: its step blocked")))

    def _post(self, _: Reply[Any] | None = None) -> None:
        # Always as a letter: as a fact of this very handler it would come before
        # everybody else's letters, and a generator that only yields would end the runtime.
        ref = self.workplace.ref
        ref.dispatcher.put(ref, Resume(self), None)

    def _stop_waiting(self) -> None:
        reply, self._waits_for = self._waits_for, None
        if reply is not None:
            reply.forget(self._post)
            WaitEdge(reply, self).__exit__()

    def _end(self, outcome: Outcome) -> None:
        self.is_done = True
        self._done(outcome)

    @property
    def waits_for(self) -> Reply[Any] | None:
        """The Reply that the generator waits for, if it does."""
        return self._waits_for


def _answer(value: Any, error: BaseException | None) -> Reply[Any]:
    reply: Reply[Any] = Reply()
    if error is None:
        reply.resolve(value)
    else:
        reply.fail(error)
    return reply


def _not_a_reply(yielded: object) -> Reply[Any]:
    error = TypeError(
        f"a generator behaviour yields Replies, as in 'yield from turn.start(...)', or nothing"
        f" to let others run; it yielded {type(yielded).__name__}"
    )
    return _answer(None, error)
