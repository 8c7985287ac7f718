"""A pykka actor that owns a runtime, and says what it hears."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pykka

from retinue.actors import Runtime
from tests.doubles import PATIENCE, Probe

Deed = Callable[["Host"], Any]


class Host(pykka.ThreadingActor):
    """
    Does, in its own thread, what it is asked to; everything else it hears goes to *heard*.

    What comes to its method ``found`` is told as a pair.
    """

    use_daemon_thread = True

    def __init__(self, heard: Probe, *, closes: bool, options: dict[str, Any]) -> None:
        super().__init__()
        self._heard = heard
        self._closes = closes
        self.rt = Runtime.for_host(self.actor_ref, **options)

    def on_receive(self, message: Any) -> Any:
        """Do it, or say that it was heard."""
        if callable(message):
            return message(self)
        self._heard.tell(message)
        return None

    def found(self, result: Any) -> None:
        """Say that a result came to this method."""
        self._heard.tell(("found", result))

    def on_stop(self) -> None:
        """Close the runtime, as a good host does."""
        if self._closes:
            self.rt.close(timeout=PATIENCE)


@contextmanager
def hosting(heard: Probe, *, closes: bool = True, **options: Any) -> Iterator[pykka.ActorRef[Host]]:
    """Give a host's ref, and stop it afterwards if nothing else has."""
    ref = Host.start(heard, closes=closes, options=options)
    try:
        yield ref
    finally:
        ref.stop(timeout=PATIENCE)


def within(host: pykka.ActorRef[Host], deed: Deed) -> Any:
    """Have the host do something in its own thread, and return what came of it."""
    return host.ask(deed, timeout=PATIENCE)


def die(host: pykka.ActorRef[Host]) -> None:
    """Have a told message kill the host, so that its ``on_stop`` never runs."""

    def deed(_: Host) -> None:
        raise RuntimeError("the host dies")

    stopped = host.actor_stopped
    host.tell(deed)
    assert isinstance(stopped, threading.Event)
    assert stopped.wait(PATIENCE)
