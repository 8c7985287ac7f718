"""Light actors for tests of the dispatchers: they write down what they are told, and do it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, TypeVar

from retinue.actors import DeterministicDispatcher, Reply, ThreadDispatcher
from retinue.actors._actor import LightActor
from retinue.actors._mailbox import LATER
from tests.doubles import PATIENCE

T = TypeVar("T")

KINDS: Final = (ThreadDispatcher, DeterministicDispatcher)


class Scribe(LightActor):
    """Writes down every message; what can be called is called, and an error is raised."""

    def __init__(self, dispatcher: Any, page: list[Any] | None = None, name: str = "") -> None:
        super().__init__(dispatcher, dispatcher.next_number())
        self.page: list[Any] = [] if page is None else page
        self.name = name
        self.handed_back: list[Any] = []
        self.kept: list[Reply[Any]] = []
        self.failures: list[Any] = []

    def on_receive(self, message: Any) -> Any:
        """Write it down, then do what it says."""
        if callable(message):
            return message(self)
        self.page.append((self.name, message) if self.name else message)
        if isinstance(message, BaseException):
            raise message
        return message

    def keep(self) -> object:
        """Keep the asker's Reply, to answer later; a message says ``Scribe.keep``."""
        reply = self.take_reply()
        assert reply is not None
        self.kept.append(reply)
        return LATER

    def on_undelivered(self, message: Any) -> None:
        """Keep what was never handled."""
        self.handed_back.append(message)

    def on_failure(self, *error: Any) -> None:
        """Keep the error."""
        self.failures.append(error[1])


class DirectScribe(Scribe):
    """A scribe whose askers may run their own message."""

    direct: ClassVar[bool] = True


def make(dispatcher: Any, *args: Any, of: type[Scribe] = Scribe) -> Any:
    """Make a scribe that has no start hook to run; returns the actor."""
    return of(dispatcher, *args)


def settle(dispatcher: Any) -> None:
    """Wait until everything that was sent up to now has been handled."""
    if isinstance(dispatcher, DeterministicDispatcher):
        dispatcher.run_until_idle()
        return
    # Behind it in a fair queue stands nothing that was sent before.
    answered = Reply[None]()
    last = make(dispatcher)

    def once_more(left: int) -> None:
        if left:
            last.ref.tell(lambda _: once_more(left - 1))
        else:
            answered.resolve()

    last.ref.tell(lambda _: once_more(200))
    answered.get(timeout=PATIENCE)


@contextmanager
def opened(kind: Callable[..., Any], *args: Any) -> Iterator[Any]:
    """Make a dispatcher, and insist that its close leaves nothing."""
    dispatcher = kind(*args)
    yield dispatcher
    assert [] == dispatcher.close(PATIENCE)


def elsewhere(function: Callable[[], T]) -> T:
    """Call *function* on a thread of its own; returns or raises what it does."""
    outcome: Reply[T] = Reply()

    def work() -> None:
        try:
            outcome.resolve(function())
        except BaseException as error:  # noqa: BLE001 - handed to whoever called
            outcome.fail(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE)
    return outcome.outcome()
