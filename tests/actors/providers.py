"""Providers for tests: they keep every actor that they open, and each is awkward in its way."""

from __future__ import annotations

from typing import Any, Final

from retinue.backends._inprocess.driver import BehaviourDriver
from retinue.backends._inprocess.model_driver import ModelDriver
from retinue.backends.inprocess import InProcess
from retinue.protocol import messages
from retinue.protocol.agent import Kind
from retinue.protocol.content import Text
from retinue.protocol.delegation import NO_CAPABILITIES
from retinue.protocol.log import Cause, Ending
from retinue.protocol.provider import OpenOrder, TurnOrder

# Virtual seconds that an awkward provider takes for everything.
A_WHILE: Final = 0.5

# And what one takes that in practice never opens anything.
A_MONTH: Final = 2_592_000.0


class CountingDriver(BehaviourDriver):
    """Runs behaviours, and counts how often it was closed."""

    closes = 0

    def close(self) -> None:
        """Count, then close."""
        self.closes += 1
        super().close()


class CountingModelDriver(ModelDriver):
    """Has a model work, and counts how often it was closed."""

    closes = 0

    def close(self) -> None:
        """Count, then close."""
        self.closes += 1
        super().close()


class Keeping(InProcess):
    """An in-process provider that keeps the actors that it opened, and their drivers."""

    def __init__(self, name: str = "spawn", *, inherits_context: bool = False) -> None:
        super().__init__(name, inherits_context=inherits_context)
        self.opened: list[Any] = []
        self.drivers: list[Any] = []

    def open(self, order: OpenOrder, workplace: Any) -> Any:
        """Keep the actor and the driver."""
        self.opened.append(workplace.ref.actor)
        is_model = order.agent is not None and order.agent.kind is Kind.MODEL
        kind = CountingModelDriver if is_model else CountingDriver
        self.drivers.append(kind(order, workplace))
        return self.drivers[-1]


class Slow(Keeping):
    """Opens on a thread, and takes a while."""

    def __init__(self, name: str = "slow", seconds: float = A_WHILE) -> None:
        super().__init__(name)
        self.is_immediate = False
        self._seconds = seconds

    def open(self, order: OpenOrder, workplace: Any) -> Any:
        """Take a while, then open."""
        actor = workplace.ref.actor
        self.opened.append(actor)
        workplace.sleep(self._seconds).get()
        self.drivers.append(CountingDriver(order, workplace))
        return self.drivers[-1]


class Broken(Slow):
    """Takes a while, then fails to open."""

    def __init__(self) -> None:
        super().__init__("broken")

    def open(self, order: OpenOrder, workplace: Any) -> Any:
        """Take a while, then fail."""
        super().open(order, workplace)
        self.drivers.pop()
        raise OSError("no such program")


class Tardy(Keeping):
    """Gives out a driver that does everything a while after it was told to."""

    def __init__(self) -> None:
        super().__init__("tardy")
        self.capabilities = NO_CAPABILITIES
        self.accepts_seed = False
        self.steers = False

    def open(self, order: OpenOrder, workplace: Any) -> Any:
        """Return a tardy driver."""
        self.opened.append(workplace.ref.actor)
        self.drivers.append(TardyDriver(workplace))
        return self.drivers[-1]


class TardyDriver:
    """Says, ends, stops and closes by facts that come a while later."""

    closes = 0

    def __init__(self, workplace: Any) -> None:
        self._workplace = workplace
        self._turn = 0

    def begin(self, order: TurnOrder) -> None:
        """Say something soon, and end the turn later."""
        self._turn = order.turn
        said = messages.Said(order.turn, (Text("part"),))
        ended = messages.TurnEnded(order.turn, Ending.COMPLETED, (Text("whole"),))
        self._workplace.after(A_WHILE, said)
        self._workplace.after(2 * A_WHILE, ended)

    def stop(self, cause: Cause) -> None:
        """End the turn a while later."""
        del cause
        self._workplace.after(A_WHILE, messages.TurnEnded(self._turn, Ending.ABORTED))

    def close(self) -> None:
        """Be closed a while later."""
        self.closes += 1
        self._workplace.after(A_WHILE, messages.Closed())


def providers() -> list[Keeping]:
    """Return one of each; the first two take the names of the shipped ones."""
    return [
        Keeping("spawn"),
        Keeping("fork", inherits_context=True),
        Slow(),
        Slow("stuck", A_MONTH),
        Broken(),
        Tardy(),
    ]
