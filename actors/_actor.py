"""The base of our actors: true pykka actors that share a dispatcher instead of a thread each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pykka
from loguru import logger

from retinue.actors._mailbox import LATER, PYKKA_MESSAGES, ActorStop, Mailbox
from retinue.actors._reply import Reply
from retinue.protocol.errors import printable

if TYPE_CHECKING:
    from types import TracebackType

    from retinue.actors._dispatcher import Dispatcher


class LightActor(pykka.Actor):
    """
    An actor without a thread of its own.

    Handlers run one at a time on the dispatcher, in the order of their messages; they
    must not block. It is not entered in pykka's registry.
    """

    __slots__ = ("_ref",)

    # Whether a blocking ask may run its own message on the asking thread.
    direct: ClassVar[bool] = False
    ref_class: ClassVar[type[Mailbox]] = Mailbox

    def __init__(self, dispatcher: Dispatcher, number: int = 0) -> None:
        # pykka's __init__ would make a queue, an event and a uuid per actor.
        self._ref: Any = self.ref_class(self, dispatcher, number)

    @classmethod
    def start(cls, *args: Any, **kwargs: Any) -> Any:
        """Start an actor on a dispatcher, its first argument; returns its ref."""
        actor = cls(*args, **kwargs)
        ref = actor.ref
        if cls.on_start is not pykka.Actor.on_start:  # most have no such hook: a letter less
            ref.dispatcher.post_start(ref)
        return ref

    @property
    def ref(self) -> Any:
        """The actor's ref, which is its mailbox."""
        return self._ref

    @property
    def actor_ref(self) -> Any:
        """The actor's ref, by pykka's name."""
        return self._ref

    @property
    def actor_urn(self) -> str:  # type: ignore[override]
        """The id as a URN."""
        return str(self._ref.actor_urn)

    @property
    def actor_inbox(self) -> Any:  # type: ignore[override]
        """The ref, which is the inbox."""
        return self._ref

    @property
    def actor_stopped(self) -> Any:  # type: ignore[override]
        """Whether the actor has stopped, in the shape that pykka has."""
        return self._ref.actor_stopped

    @staticmethod
    def _create_actor_inbox() -> Any:
        raise NotImplementedError("the ref is the inbox")

    @staticmethod
    def _create_future() -> Any:
        reply: Reply[Any] = Reply()
        return reply

    def _start_actor_loop(self) -> None:
        raise NotImplementedError("actors of a dispatcher have no loop of their own")

    def stop(self) -> None:
        """Stop this actor; the rest of its queue is answered or handed back."""
        self._ref.dispatcher.put(self._ref, ActorStop(), None)

    def receive(self, message: Any) -> Any:
        """Handle one message; pykka's proxy messages too."""
        if type(message) in PYKKA_MESSAGES:
            if type(message) is ActorStop:
                return self.on_stop_asked()
            return self._handle_receive(message)
        return self.on_receive(message)

    def on_stop_asked(self) -> Any:
        """Stop now; an actor that has to wind down first returns LATER and does so."""
        self._ref.dispatcher.seal(self._ref)
        return True

    def forward(self, ref: Mailbox, message: Any) -> object:
        """Send *message* on with the current asker's Reply; return this from a handler."""
        reply = self._ref.dispatcher.take_reply()
        if not ref.dispatcher.put(ref, message, reply):
            if reply is None:
                raise ref.dead()
            reply.fail(ref.dead())
        return LATER

    def take_reply(self) -> Reply[Any] | None:
        """Take the current asker's Reply, to answer it later; return LATER then."""
        taken: Reply[Any] | None = self._ref.dispatcher.take_reply()
        return taken

    def on_undelivered(self, message: Any) -> None:
        """Hear of a told message that was queued and never handled."""

    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Log that a handler of a told message raised; the actor stops after this."""
        del exception_type, traceback
        logger.bind(run_id=self._ref.run_id).error("crashed: {}", printable(exception_value))
