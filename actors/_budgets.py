"""
The registry's account: what runs take and spend, counted against the limits above them.

Rule: to look whether something is left and to count it are one handler. A one-shot's turn
is counted when it is admitted, so that parallel starts cannot share the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retinue.actors._actor import LightActor
from retinue.protocol import messages
from retinue.protocol.delegation import Limits, Quota
from retinue.protocol.meter import SPENDABLE, Allowance, Unit, amounts

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef

_FIRST_TURN = (Unit.TURNS, Unit.STEPS)


class Budgets(LightActor):
    """The part of the registry that counts."""

    def __init__(self, service: Any, limits: Limits) -> None:
        super().__init__(service.dispatcher, 0)
        self.service = service
        self.quota = Quota(limits)
        # Runs whose first turn was counted at their admission and has not begun.
        self._prepaid: set[int] = set()
        # Requests that were counted before they were sent, by run: what an answer then says
        # of them is not counted again.
        self._reserved: dict[int, int] = {}

    def enter(self, ref: RunRef) -> None:
        """Count a run that is about to open, and the turn that it begins with."""
        quota: Quota = ref.quota
        quota.take()
        has_turn = quota.meters and ref.request.prompt is not None
        if has_turn and quota.limits_any(*_FIRST_TURN):
            for unit in _FIRST_TURN:
                quota.use(unit)
            self._prepaid.add(ref.number)

    def leave(self, ref: RunRef) -> None:
        """Free the place of a run that is alive no more; what it did not begin is left again."""
        quota: Quota = ref.quota
        quota.give_back()
        if not quota.meters:
            return
        self._reserved.pop(ref.number, None)
        if ref.number in self._prepaid:
            self._prepaid.discard(ref.number)
            for unit in _FIRST_TURN:
                quota.use(unit, -1)
        for meter in quota.meters:
            meter.forget(ref.number)

    def on_take(self, order: messages.Take) -> Allowance:
        """Count one of each unit, or none where one of them is used up."""
        ref: RunRef = order.ref
        quota: Quota = ref.quota
        units, number = order.units, ref.number
        if number in self._prepaid and Unit.TURNS in units:
            units = ()
        spent = quota.spent((*units, *order.needs))
        if spent is not None:
            return Allowance(spent)
        if units is not order.units:
            self._prepaid.discard(number)
        for unit in units:
            quota.use(unit)
        if Unit.REQUESTS in units:
            self._reserved[number] = self._reserved.get(number, 0) + 1
        return Allowance(None, _news(ref))

    def on_spend(self, order: messages.Spend) -> Allowance:
        """Count what was spent, and say whether a limit is reached by now."""
        ref: RunRef = order.ref
        quota: Quota = ref.quota
        for unit, amount in amounts(order.usage):
            quota.use(unit, amount)
        sent = order.usage.requests
        reserved = self._reserved.get(ref.number, 0)
        if reserved:
            self._reserved[ref.number] = reserved - min(sent, reserved)
        if sent > reserved:
            quota.use(Unit.REQUESTS, sent - reserved)
        spent = quota.spent(SPENDABLE)
        return Allowance(spent, _news(ref))


def _news(ref: RunRef) -> tuple[str, ...]:
    return tuple([text for meter in ref.quota.meters for text in meter.news(ref.number)])
