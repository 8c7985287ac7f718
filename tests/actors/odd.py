"""A provider of whatever drivers a test makes, and a driver to make odd ones of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retinue.actors import Capabilities
from retinue.protocol.content import Text
from retinue.protocol.log import Cause, Ending
from retinue.protocol.messages import Closed, TurnEnded
from retinue.protocol.provider import OpenOrder, TurnOrder, Workplace


class Sound:
    """A driver that answers every turn with "sound"."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace

    def begin(self, order: TurnOrder) -> None:
        """End the turn."""
        sound = (Text("sound"),)
        self.workplace.report(TurnEnded(order.turn, Ending.COMPLETED, sound))

    def stop(self, cause: Cause) -> None:
        """Do nothing: no turn is ever open."""

    def close(self) -> None:
        """Report closed."""
        self.workplace.report(Closed())


class Odd:
    """A provider whose drivers are made by a function of the workplace."""

    capabilities = Capabilities()
    inherits_context = accepts_seed = False

    def __init__(self, make: Callable[[Any], Any], *, is_immediate: bool = True) -> None:
        self.name = "odd"
        self.is_immediate = is_immediate
        self._make = make

    def open(self, order: OpenOrder, workplace: Workplace) -> Any:
        """Make whatever it is."""
        del order
        return self._make(workplace)
