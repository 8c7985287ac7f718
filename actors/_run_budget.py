"""What a run takes of the limits above it, what it has spent, and what it is told of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retinue.actors._dispatcher import FOREVER
from retinue.actors._run_inbox import InboxWork
from retinue.protocol import messages
from retinue.protocol.content import Form, Kind, Message, Source, Text, clip
from retinue.protocol.errors import BudgetSpent
from retinue.protocol.inbox import Waiting
from retinue.protocol.lifecycle import Phase
from retinue.protocol.log import Cause, Target
from retinue.protocol.meter import NEAR_END, SPENDABLE, Allowance, Spent, Unit, low
from retinue.protocol.result import BUDGET, MAX_TURNS, NO_USAGE, StopReason, Usage

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef

_CAUSES: Final[Mapping[StopReason, Cause]] = {BUDGET: Cause.BUDGET, MAX_TURNS: Cause.TURNS}


class BudgetWork(InboxWork):
    """The work of limits: taking, spending, warning."""

    __slots__ = ()

    @property
    def must_ask(self) -> bool:
        """Whether every step edge is to be asked for, since steps are counted."""
        quota = self._ref.quota
        return bool(quota.meters) and quota.limits_any(Unit.STEPS)

    @property
    def may_have_mail(self) -> bool:
        """Whether the next step edge is to be asked for: what stands in the mailbox counts."""
        return self._ref.queue is not None or self.must_ask

    def take(self, *units: Unit, needs: tuple[Unit, ...] = ()) -> tuple[str, ...]:
        """
        Count one of each of *units* against every limit above.

        Returns:
            What the run has to be told: of which limits little is left.

        Raises:
            BudgetSpent: one of them, or of *needs*, is used up; then nothing was counted.
        """
        if not self._ref.quota.meters:
            return ()
        said: Allowance = self.service.ask_registry_now(messages.Take(self._ref, units, needs))
        if said.spent is not None:
            raise self._refusal(said.spent)
        return said.news

    def take_turn(self) -> None:
        """
        Count a turn and its first step; what the run has to be told is among its input.

        Raises:
            BudgetSpent: there is no turn left, or nothing for a driver that spends unasked.
        """
        asks = getattr(self.driver, "reserves", False)
        self.warnings += self.take(Unit.TURNS, Unit.STEPS, needs=() if asks else SPENDABLE)
        self._give_warnings()

    def take_step(self) -> None:
        """Count a step; what the run has to be told is among its input. Raises BudgetSpent."""
        self.warnings += self.take(Unit.STEPS)
        self._give_warnings()

    def take_request(self) -> None:
        """Count a request, if more may be spent; raises BudgetSpent."""
        for text in self.take(Unit.REQUESTS, needs=(Unit.TOKENS, Unit.COST)):
            self.warn(text)

    def _refusal(self, spent: Spent) -> BudgetSpent:
        advice = f"raise Limits({spent.unit.value}=...), or ask for less"
        return BudgetSpent(f"{self._ref.run_id}: {spent}; {advice}", spent.reason)

    def spend(self, usage: Usage | None) -> None:
        """
        Add what was spent to this run and to all above it, once (H80).

        A driver that asks before each request hears at the next one that a limit is
        reached. Any other is stopped now: it would never hear.
        """
        if usage is None or usage is NO_USAGE:
            return
        above: RunRef | None = self._ref
        while above is not None:
            above.spent += usage
            above = above.parent
        if not self._ref.quota.meters:
            return
        said: Allowance = self.service.ask_registry_now(messages.Spend(self._ref, usage))
        for text in said.news:
            self.warn(text)
        if said.spent is not None and not getattr(self.driver, "reserves", False):
            self.stop_for(said.spent.reason)

    def stop_for(self, reason: str) -> None:
        """Stop the open turn since a limit is reached; its result says which kind."""
        self.on_interrupt(messages.Interrupt(_CAUSES[StopReason(reason)]))

    def on_interrupt(self, order: messages.Interrupt) -> bool:
        """Stop the open turn."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """
        Tell the run at its next step that little is left.

        It wakes nobody, keeps no turn from its end, and lapses with the turn; the next one
        then begins with it. Between two turns it waits outside of the inbox, where it would
        be work that was dropped.
        """
        if self.life.phase is not Phase.WORKING:
            self.warnings = (*self.warnings, text)
            return
        self._put_warning(text)
        steer = getattr(self.driver, "steer", None)
        if steer is not None:
            self.at_driver(steer)

    def _put_warning(self, text: str) -> None:
        source = Source(Kind.RUNTIME, Form.WARNING, None, clip(text))
        message = Message((Text(text),), source)
        item = Waiting(message, None, None, wakes=False, lapses=True, counts=False)
        self.the_inbox().add(Target.NEXT_STEP, item, self.now)

    def keep_warnings(self, lapsed: Sequence[Waiting]) -> None:
        """Keep for the next turn what came too late for this one."""
        for item in lapsed:
            if item.message.source.form is Form.WARNING:
                self.warnings += (item.message.text,)

    def _give_warnings(self) -> None:
        texts, self.warnings = self.warnings, ()
        for text in texts:
            self._put_warning(text)

    def set_deadlines(self, *limits: float | None) -> None:
        """End the run after the least of *limits*, in seconds, and warn it before."""
        given = [seconds for seconds in limits if seconds is not None]
        for seconds in given:
            self.set_timer(seconds, messages.DeadlinePassed("run"))
        if given and min(given) < FOREVER:
            early = min(given) * (1 - NEAR_END)
            self.set_timer(early, messages.DeadlinePassed("near"))

    def warn_of_deadline(self) -> None:
        """Tell the run that most of its time is gone."""
        request, limits = self._ref.request, self._ref.quota.limits
        given = [one for one in (request.features.deadline, limits.run) if one is not None]
        if not self.is_over and given:
            most = min(given)
            self.warn(low(f"{most * NEAR_END:g} of {most:g}", "seconds"))
