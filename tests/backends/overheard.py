"""A provider whose drivers' reports a test can wait for."""

from __future__ import annotations

import threading
from typing import Any

from retinue.protocol.provider import Driver, OpenOrder, Provider, Workplace
from tests.doubles import PATIENCE


class Overheard:
    """
    Another provider under a name of its own: what its drivers send is noted once it is sent.

    So a test knows that a turn's end is on its way while nobody has handled it yet.
    """

    def __init__(self, provider: Provider, name: str) -> None:
        self.name = name
        self.capabilities = provider.capabilities
        self.inherits_context = provider.inherits_context
        self.accepts_seed = provider.accepts_seed
        self.is_immediate = provider.is_immediate
        self.steers = getattr(provider, "steers", False)
        self._provider = provider
        self._facts: list[object] = []
        self._heard = threading.Condition()

    def open(self, order: OpenOrder, workplace: Workplace) -> Driver:
        """Have the other provider make the driver."""
        ear: Any = _Ear(workplace, self)
        return self._provider.open(order, ear)

    def note(self, fact: object) -> None:
        """Note one fact."""
        with self._heard:
            self._facts.append(fact)
            self._heard.notify_all()

    def wait_for(self, kind: type) -> None:
        """
        Wait until something of that kind was sent.

        Raises:
            AssertionError: none was.
        """
        with self._heard:
            came = self._heard.wait_for(
                lambda: any(isinstance(fact, kind) for fact in self._facts), PATIENCE
            )
        assert came, f"no {kind.__name__} was sent"


class _Ear:
    """A workplace that tells of every report."""

    def __init__(self, workplace: Workplace, listener: Overheard) -> None:
        self._workplace = workplace
        self._listener = listener

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workplace, name)

    def report(self, fact: object) -> None:
        """Report, then tell."""
        self._workplace.report(fact)
        self._listener.note(fact)

    def ask(self, message: object) -> Any:
        """Ask, then tell."""
        reply = self._workplace.ask(message)
        self._listener.note(message)
        return reply
