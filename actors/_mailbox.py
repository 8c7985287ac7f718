"""
The mailbox of an actor, which is its ref.

Two lanes: control overtakes everything, the rest is first come, first served. A stopped
mailbox is sealed under the dispatcher's lock: what comes later is refused to its sender.
What was still queued is answered (asks) or handed back as undelivered (tells).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pykka
from pykka.messages import (
    ProxyCall,
    ProxyGetAttr,
    ProxySetAttr,
    _ActorStop,  # pyright: ignore[reportPrivateUsage]
)

from retinue.actors._reply import Reply
from retinue.protocol import messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retinue.actors._dispatcher import Dispatcher

# What pykka stops actors with, the one name that it does not make public.
ActorStop = _ActorStop

# One letter: the message, the Reply of its asker or None.
Letter = tuple[Any, "Reply[Any] | None"]

CONTROL: Final = frozenset((*messages.CONTROL, ActorStop))
PYKKA_MESSAGES: Final = frozenset((ActorStop, ProxyCall, ProxyGetAttr, ProxySetAttr))

# INB-1: how many messages may wait in a run, from design.md section 4.
BOUND: Final = 10_000

# A handler returns this when it answers the asker afterwards.
LATER: Final = object()


class Stopped:
    """What pykka calls ``actor_stopped``: an event that is read and never waited for."""

    __slots__ = ("_ref",)

    def __init__(self, ref: Mailbox) -> None:
        self._ref = ref

    def is_set(self) -> bool:
        """Whether the actor has stopped."""
        return self._ref.is_sealed


class Mailbox(pykka.ActorRef[Any]):
    """
    A ref that is its own inbox; everything but the queue is made on demand.

    ``tell``, ``ask`` and ``stop`` may be called from any thread.
    """

    __slots__ = (
        "actor",
        "actor_class",
        "dispatcher",
        "is_sealed",
        "load",
        "number",
        "queue",
    )

    def __init__(self, actor: Any, dispatcher: Dispatcher, number: int) -> None:
        # pykka's __init__ would copy urn, inbox and event; here they are properties.
        self.actor = actor
        self.actor_class = actor.__class__
        self.dispatcher = dispatcher
        self.number = number
        self.queue: Letter | deque[Letter] | None = None
        self.is_sealed = False
        self.load = 0

    @property
    def run_id(self) -> str:
        """The id, as it is written: the dispatcher's prefix and a number."""
        return f"{self.dispatcher.prefix}-{self.number}"

    @property
    def actor_urn(self) -> str:  # type: ignore[override]
        """The id as a URN."""
        return f"urn:retinue:{self.run_id}"

    @property
    def actor_inbox(self) -> Mailbox:  # type: ignore[override]
        """The ref itself, which has pykka's three inbox methods."""
        return self

    @property
    def actor_stopped(self) -> Stopped:  # type: ignore[override]
        """Whether the actor has stopped, in the shape that pykka has."""
        return Stopped(self)

    def _actor_weakref(self) -> Any:  # type: ignore[override]
        return self.actor

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.run_id}: an actor lives in its process; send on its id")

    def __hash__(self) -> int:
        return id(self) >> 4

    def __eq__(self, other: object) -> bool:
        return self is other

    def is_alive(self) -> bool:
        """Whether the actor still takes messages."""
        return not self.is_sealed

    def dead(self, message: Any = None) -> Exception:
        """Return the error for whoever comes too late, with *message* if that was asked."""
        del message
        return pykka.ActorDeadError(f"{self.run_id} has stopped and takes no messages")

    def accepts(self, message: Any) -> Any:
        """Return the message to enqueue for what was sent; raises what the sender gets."""
        return message

    def tell(self, message: Any) -> None:
        """
        Send *message* without waiting for an answer.

        Raises:
            ActorDeadError: the actor has stopped.
            MailboxFull: as many messages wait as the mailbox takes.
            BadMessage: the message is neither vocabulary nor content.
        """
        if not self.dispatcher.put(self, self.accepts(message), None):  # pyright: ignore[reportArgumentType]
            raise self.dead()

    def submit(self, message: Any, target: Any = None) -> Reply[Any]:
        """Ask without blocking; every error is in the Reply."""
        reply: Reply[Any] = Reply(self.dispatcher.pump, target)
        try:
            accepted = self.accepts(message)
        except Exception as error:  # noqa: BLE001 - the error is the answer
            reply.fail(error)
            return reply
        if not self.dispatcher.put(self, accepted, reply):  # pyright: ignore[reportArgumentType]
            reply.fail(self.dead())
        return reply

    def ask(self, message: Any, *, block: bool = True, timeout: float | None = None) -> Any:
        """
        Send *message* and return the answer, or with ``block=False`` a Reply of it.

        An actor that is declared direct may run this one message on the asking thread,
        when nothing else is queued anywhere.

        Raises:
            pykka.Timeout: no answer came within *timeout* seconds.
            ActorDeadError: the actor has stopped, or stopped before it came to the message.
        """
        if block and self.actor_class.direct:
            direct = self.dispatcher.run_direct(self, message)  # pyright: ignore[reportArgumentType]
            if direct is not None:
                return direct.get(timeout=timeout)
        reply = self.submit(message)
        return reply.get(timeout=timeout) if block else reply

    def stop(self, *, block: bool = True, timeout: float | None = None) -> Any:
        """
        Stop the actor; True when this stopped it, False when it was dead.

        The stop overtakes what is queued. The answer comes after ``on_stop`` has run.
        """
        reply: Reply[bool] = Reply(self.dispatcher.pump)
        if not self.dispatcher.put(self, ActorStop(), reply):  # pyright: ignore[reportArgumentType]
            reply.resolve(False)
        return reply.get(timeout=timeout) if block else reply

    def put(self, envelope: Any, /) -> None:
        """Take a pykka envelope, as pykka's own refs would put it."""
        if envelope.reply_to is None:
            self.tell(envelope.message)
            return
        future = envelope.reply_to

        def pass_on(reply: Reply[Any]) -> None:
            if reply.error is None:
                future.set(reply.outcome())
            else:
                future.set_exception((type(reply.error), reply.error, None))

        self.submit(envelope.message).on_done(pass_on)

    def get(self) -> Any:
        """Refuse: only the dispatcher takes letters out."""
        raise NotImplementedError("only the dispatcher takes messages out of a mailbox")

    def empty(self) -> bool:
        """Whether no letter waits in the ordinary lane."""
        return self.queue is None

    def take_rest(self) -> Iterator[Letter]:
        """Take every letter that is still queued; the caller holds the dispatcher's lock."""
        rest, self.queue = self.queue, None
        if rest is None:
            return iter(())
        return iter(rest if isinstance(rest, deque) else (rest,))
