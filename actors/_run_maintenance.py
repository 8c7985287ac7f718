"""
Work on a run between its turns, such as compacting what it remembers (INB-18).

It runs only while the run is idle, which the run stays by all appearances; what would wake
the run waits until it is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retinue.actors._mailbox import LATER
from retinue.actors._run_ending import WindingDown
from retinue.protocol import messages
from retinue.protocol.errors import DeadRun, Refused
from retinue.protocol.lifecycle import Phase

if TYPE_CHECKING:
    from retinue.actors._reply import Reply


class Maintained(WindingDown):
    """A run that may be worked on while it is idle."""

    __slots__ = ()

    def on_maintain(self, order: messages.Maintain) -> Any:
        """Run a blocking function on the pool; wakes wait for its end."""
        self._must_be_live("maintenance")
        if self.life.phase is not Phase.IDLE or self.maintenance is not None:
            raise Refused(
                f"{self._ref.run_id}: is at work; maintenance begins only while a run is idle"
            )
        self.maintenance = self.take_reply() or self.workplace.promise()
        ref = self._ref
        done: Reply[Any] = self.workplace.call(order.function)
        done.on_done(lambda reply: ref.dispatcher.put(ref, messages.MaintenanceEnded(reply), None))
        return LATER

    def on_maintenance_ended(self, fact: messages.MaintenanceEnded) -> None:
        """Answer who asked for it, and start on what came meanwhile."""
        asker, self.maintenance = self.maintenance, None
        if asker is None:
            return
        if fact.outcome.error is None:
            asker.resolve(fact.outcome.value)
        else:
            asker.fail(fact.outcome.error)
        self.seek_work()

    def release(self) -> None:
        """Wait for maintenance as for all that the run has under way; nobody hears its end."""
        asker, self.maintenance = self.maintenance, None
        if asker is not None:
            asker.fail(DeadRun(f"{self._ref.run_id}: ended before its maintenance did"))
        super().release()
