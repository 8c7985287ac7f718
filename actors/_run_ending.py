"""
How a run ends: cancel, dispose and deadlines, the result, and the release of what it held.

Order: the last turn ends, the result is read from the log, the registry frees the run's
place, the result is given out; children and driver are released; the end is told, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retinue.actors._mailbox import LATER
from retinue.actors._run_accounts import Accounts
from retinue.protocol import messages
from retinue.protocol.errors import (
    DeadRun,
    ProviderFault,
    StartCancelled,
    StartFailed,
    StartTimeout,
    printable,
)
from retinue.protocol.lifecycle import Input, Phase
from retinue.protocol.limits import check_time
from retinue.protocol.log import Cause, Ending
from retinue.protocol.result import ERROR, RunResult, bounded_diagnostic

if TYPE_CHECKING:
    from retinue.actors._reply import Reply


class WindingDown(Accounts):
    """Winding a run down."""

    __slots__ = ()

    def on_cancel(self, order: messages.Cancel) -> bool:
        """Mark everything below, leaves first, then end this run."""
        self.end(order.reason, order.cause, order.grace, is_marked=order.is_marked)
        return True

    def end(
        self, reason: str, cause: Cause, grace: float | None = None, *, is_marked: bool = False
    ) -> None:
        """Stop the run and its subtree; the first reason and cause stay."""
        ref = self._ref
        if grace is not None:
            self.grace = min(self.grace, grace)
        if not is_marked:
            if ref.mark is None:
                ref.mark = reason
            # A host that is gone is the reason for everything below it.
            below = cause if cause is Cause.HOST else Cause.PARENT
            order = messages.Cancel(reason, below, self.grace, True)
            for child in ref.mark_subtree(reason):
                child.dispatcher.put(child, order, None)
        if self.life.phase is Phase.RELEASING or self.life.phase is Phase.ENDED:
            return
        self.cause = self.cause or cause
        for entry in list((self.tickets or {}).values()):
            entry.ticket.cancel(reason)
        if self.refusal is None and not self.life.is_published:
            self.refusal = StartCancelled(f"{ref.run_id}: {ref.mark or reason}")
        self.feed(Input.STOP)
        if self.life.phase is Phase.CANCELLING:
            self.limit_stop()

    def on_dispose(self, order: messages.Dispose) -> Any:
        """Cancel what remains, and answer at quiescence."""
        if order.grace is not None:
            check_time(order.grace, "grace")
        self._answer_when_ended(self.take_reply())
        self.end("disposed", Cause.DISPOSED, order.grace)
        return LATER

    def _answer_when_ended(self, reply: Reply[Any] | None) -> None:
        if reply is not None:
            if self.disposers is None:
                self.disposers = []
            self.disposers.append(reply)

    def on_stop_asked(self) -> Any:
        """Handle pykka's stop as a dispose."""
        self._answer_when_ended(self.take_reply())
        self.end("stopped", Cause.DISPOSED)
        self.handle_facts()
        return LATER

    def on_deadline(self, fact: messages.DeadlinePassed) -> None:
        """Act on a time that has come."""
        if fact.what == "run":
            self.end("its deadline has passed", Cause.DEADLINE)
        elif fact.what == "near":
            self.warn_of_deadline()
        elif fact.what == "start" and self.life.phase is Phase.OPENING:
            self.refusal = StartTimeout(
                f"{self._ref.run_id}: provider {self.provider.name!r} did not open the run in time"
            )
            self.feed(Input.STOP)
        elif fact.what == "stop" and fact.turn:
            # The driver does not end its turn. What it says of it later comes too late, and
            # whether it lets go is seen when it is closed.
            self.on_turn_ended(messages.TurnEnded(fact.turn, Ending.ABORTED))
        elif fact.what == "release" and (self.driver_state == "closing" or self.workplace.calls):
            self.driver_state = "lost"
            self.stuck += (self._ref.run_id,)
            self.service.lost.add(self._ref.run_id)
            self.check_released()

    def settle(self) -> None:
        """Read the result from the log, once; it is given out when release has begun."""
        try:
            self.result_value = self.service.run_result(self)
        except Exception as error:  # noqa: BLE001 - whatever a driver reported, a run has an end
            text = f"its log cannot be read: {printable(error)}"
            self.result_value = RunResult(
                self._ref.run_id, ERROR, diagnostic=bounded_diagnostic(text), error=error
            )

    def release(self) -> None:
        """Cancel children, close the driver, hand back what waits, give out the result."""
        self._ref.is_settled = True
        for timer in self.timers or ():
            timer.cancel()
        self.timers = None
        self.cancel_all_children(self._ref.mark or "its parent has ended")
        self.drop_waiting()
        if self.asker is not None:
            asker, self.asker = self.asker, None
            asker.fail(DeadRun(f"{self._ref.run_id}: ended before the turn did"))
        if self.driver_state == "opening":
            # Nothing to close yet: when the provider comes back its driver is closed.
            self.driver_state = "lost"
        elif self.driver_state == "open":
            self._close_driver()
        self.check_released()
        if self.life.phase is Phase.RELEASING and self.result_value is not None:
            self._tell_registry(messages.RunSettled(self._ref, self.result_value))
            self.result.resolve(self.result_value)

    def _close_driver(self) -> None:
        self.driver_state = "closing"
        assert self.driver is not None
        try:
            self.driver.close()
        except BaseException as error:  # noqa: BLE001 - the provider's door
            self.facts.append(messages.Closed(error))
        for fact in [fact for fact in self.facts if type(fact) is messages.Closed]:
            self.facts.remove(fact)
            self.on_closed(fact)
        if self.driver_state == "closing" or self.workplace.calls:
            self.set_timer(self.grace, messages.DeadlinePassed("release"))

    def on_closed(self, fact: messages.Closed) -> None:
        """Note that the driver holds nothing any more."""
        if self.driver_state == "lost":
            self.service.lost.discard(self._ref.run_id)
        if self.driver_state not in {"closing", "open"}:
            return
        is_early = self.driver_state == "open" and self.life.phase is not Phase.DRAINING
        self.driver_state = "closed"
        if fact.error is not None:
            self.release_error = printable(fact.error)
        if is_early:
            self.crash(ProviderFault(f"{self._ref.run_id}: its driver closed while it was needed"))
        self.check_released()

    def on_calls_ended(self, _: messages.CallsEnded) -> None:
        """Note that the bounded pool does nothing for the run any more."""
        if self.driver_state == "lost":
            self.service.lost.discard(self._ref.run_id)
        self.check_released()

    def check_released(self) -> None:
        """Feed ``released`` when neither child nor start nor driver is left."""
        if (
            self.life.phase is Phase.RELEASING
            and self._ref.first_child is None
            and not self.tickets
            and self.driver_state in {"", "closed", "lost"}
            and (not self.workplace.calls or self.driver_state == "lost")
        ):
            self.feed(Input.RELEASED)

    def tell_ended(self) -> None:
        """Tell registry and parent, answer who waits, and close the mailbox."""
        ref, result = self._ref, self.result_value
        assert result is not None
        was_settled = self.result.is_done
        self.stuck = self.service.still_lost(self.stuck)
        ref.stuck, ref.release_error = self.stuck, self.release_error
        self._tell_registry(
            messages.RunReleased(ref, result, self.stuck, self.release_error, was_settled)
        )
        if ref.parent is not None:
            ended = messages.ChildEnded(ref, result, self.stuck)
            ref.dispatcher.put(ref.parent, ended, None)
        self._close_mailbox()
        self.result.resolve(result)
        self._answer_disposers()

    def tell_refused(self) -> None:
        """Tell the registry that there never was a run."""
        error = self.refusal or StartFailed(f"{self._ref.run_id}: the start failed")
        self._tell_registry(messages.OpeningFailed(self._ref, error))
        self._close_mailbox()
        self._answer_disposers()

    def _close_mailbox(self) -> None:
        for timer in self.timers or ():
            timer.cancel()
        self.timers = None
        self._ref.dispatcher.seal(self._ref, run_hook=False)

    def _answer_disposers(self) -> None:
        for reply in self.disposers or ():
            error = self.service.release_failure(self._ref)
            if error is None:
                reply.resolve(True)
            else:
                reply.fail(error)

    def _tell_registry(self, message: Any) -> None:
        registry = self.service.registry
        registry.dispatcher.put(registry, message, None)
