"""The registry's catalogue: finding live runs, listing them, and what is kept of ended ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from retinue.actors import _outcomes
from retinue.actors._admission import Admission
from retinue.actors._archive import RETAINED, Archive
from retinue.protocol import messages
from retinue.protocol.errors import NoSuchRun, NotAllowed
from retinue.protocol.limits import Limits
from retinue.protocol.tree import RunInfo, RunTree, in_preorder

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef

# One way to write each number: an id is compared as text elsewhere.
_DIGITS: Final = re.compile(r"[1-9][0-9]{0,17}")


class Catalogue(Admission):
    """The part of the registry that finds and lists."""

    def __init__(self, service: Any, limits: Limits) -> None:
        super().__init__(service, limits)
        self.archive = Archive()

    def on_route(self, order: messages.Route) -> Any:
        """
        Find a live run by id or name.

        Raises:
            NoSuchRun: there is none.
            NotAllowed: an agent asks for one that is neither its child nor declared open.
        """
        ref = self.names.get(order.key) or self._by_id(order.key)
        # One that still opens is no run yet, and one that has ended is none any more.
        if ref is None or ref.is_sealed or ref.number not in self.live:
            raise NoSuchRun(f"no live run has the id or name {order.key!r}")
        if order.asker is not None and ref.parent is not order.asker:
            agent = ref.request.agent
            if agent is None or not agent.is_open:
                raise NotAllowed(
                    f"{ref.run_id}: is not open to other agents; declare it with"
                    " agent(is_open=True), or hand its Run over"
                )
        return self.service.handle_of(ref)

    def _by_id(self, key: str) -> RunRef | None:
        number = self._number(key)
        return None if number is None else self.live.get(number)

    def _number(self, key: str) -> int | None:
        prefix, _, digits = key.rpartition("-")
        if prefix != self.service.dispatcher.prefix or _DIGITS.fullmatch(digits) is None:
            return None
        return int(digits)

    def on_result_of(self, order: messages.ResultOf) -> Any:
        """Return the result of a run that has ended, any number of times (H28)."""
        number = self._number(order.run_id)
        result = None if number is None else self.archive.result(number)
        if result is None:
            raise NoSuchRun(
                f"no ended run {order.run_id!r} is known; of the last {RETAINED} those are kept"
                " that are not too large"
            )
        return result

    def on_forget(self, order: messages.ForgetRun) -> None:
        """Keep less of a run that was disposed of."""
        self.archive.lighten(order.ref.number)

    def on_list_children(self, order: messages.ListChildren) -> tuple[RunInfo, ...]:
        """List the live children of a run, or the live roots, in the order of their start."""
        return tuple(
            _outcomes.describe(ref) for ref in self.live.values() if ref.parent is order.ref
        )

    def on_list_descendants(self, order: messages.ListDescendants) -> RunTree:
        """List everything below a run, or the whole forest with what has ended lately."""
        if order.ref is not None:
            live = sorted(order.ref.subtree(), key=lambda ref: ref.number)
            rows = [_outcomes.describe(ref) for ref in live]
            return RunTree(in_preorder(rows))
        rows = [_outcomes.describe(ref) for ref in self.live.values()]
        rows += self.archive.rows(self.service.dispatcher.prefix)
        rows.sort(key=lambda row: int(row.run_id.rpartition("-")[2]))
        return RunTree(in_preorder(rows))
