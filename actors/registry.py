"""
The registry: the one actor of a runtime that admits, finds, supervises and stops runs.

Rule: a check and what follows from it are one handler. A handler that raises answers its
asker and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import pykka
from loguru import logger

from retinue.actors._archive import ended_event
from retinue.actors._catalogue import Catalogue
from retinue.actors._mailbox import LATER, Mailbox
from retinue.actors._observers import tell_one
from retinue.actors._reply import Reply
from retinue.protocol import messages
from retinue.protocol.delegation import Limits
from retinue.protocol.errors import Closing, printable
from retinue.protocol.events import ProviderAdded, ProviderRemoved
from retinue.protocol.log import Cause

if TYPE_CHECKING:
    from types import TracebackType

    from retinue.actors._ref import RunRef


class RegistryRef(Mailbox):
    """The registry's ref; who asks it too late hears that the runtime has ended."""

    __slots__ = ()

    def dead(self, message: Any = None) -> Exception:
        """Return the error for whoever comes too late; pykka's own for pykka's own messages."""
        kind: type[Any] = message.__class__
        if kind in RegistryActor.HANDLERS:
            return Closing("the runtime has ended")
        return super().dead(message)


class RegistryActor(Catalogue):
    """
    Admits, publishes and supervises the runs of one runtime.

    Its handlers run on the runtime's dispatcher, and an asking thread may run a question
    of its own. It alone is entered in pykka's registry, so that stopping all actors of
    the process ends the whole tree.
    """

    ref_class: ClassVar[type[Mailbox]] = RegistryRef
    HANDLERS: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init__(self, service: Any, limits: Limits) -> None:
        super().__init__(service, limits)
        self._watchers: dict[int, list[Any]] = {}
        self._drainers: list[Reply[Any]] = []
        self._stuck: tuple[str, ...] = ()

    def on_receive(self, message: Any) -> Any:
        """Handle one message of the vocabulary."""
        kind: type[Any] = message.__class__
        handler = self.HANDLERS.get(kind)
        if handler is None:
            return super().on_receive(message)
        try:
            return handler(self, message)
        except BaseException as error:
            # The end of this actor would be the end of every run: only an asker hears.
            if self._ref.dispatcher.has_asker:
                raise
            self.on_failure(type(error), error, None)
            return None

    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Log that a handler raised for a message that nobody waits for."""
        logger.error("the registry raised {}", printable(exception_value))

    # Providers.

    def on_register(self, order: messages.RegisterProvider) -> str:
        """Enter a provider; an observer that raises takes it out again (REG-5)."""
        name = self.providers.add(order.provider)
        try:
            self.observers.tell_or_raise(ProviderAdded(name))
        except BaseException:
            self.providers.take_back(name)
            self.observers.tell(ProviderRemoved(name))
            raise
        return name

    def on_unregister(self, order: messages.UnregisterProvider) -> bool:
        """Remove one registration; live runs go on (REG-14)."""
        if not self.providers.remove(order.name, order.provider):
            return False
        self.observers.tell(ProviderRemoved(order.name))
        return True

    def on_list_providers(self, _: messages.ListProviders) -> tuple[str, ...]:
        """Return the registered names, in the order of registration."""
        return self.providers.names()

    def on_find_provider(self, order: messages.FindProvider) -> Any:
        """Return one registered provider, or None (REG-1)."""
        return self.providers.peek(order.name)

    # Ends.

    def on_settled(self, fact: messages.RunSettled) -> None:
        """Free the run's place: its result is about to be known (H50)."""
        self.leave(fact.ref)
        self.after_room_came()

    def on_released(self, fact: messages.RunReleased) -> None:
        """Remove the run and tell everybody, once."""
        ref: RunRef = fact.ref
        if self.live.pop(ref.number, None) is None:
            return
        if not fact.was_settled:
            self.leave(ref)
        self.forget_name(ref)
        self._stuck += fact.stuck if ref.parent is None else ()
        self.archive.add(ref, fact.result, self.service.dispatcher.clock.now())
        watchers = self._watchers.pop(ref.number, ())
        if watchers or self.observers:
            event = ended_event(ref, fact.result)
            for watcher in watchers:
                tell_one(watcher, event)
            self.observers.tell(event)
        self.after_room_came()

    def after_room_came(self) -> None:
        """Let in who waits for room, and answer a drain that is done."""
        if self.waiting and self.closing is None:
            self.admit_waiting()
        if self._drainers and not self.live and not self.opening:
            drainers, self._drainers = self._drainers, []
            for reply in drainers:
                reply.resolve(self.service.still_lost(self._stuck))

    # Watching.

    def on_watch(self, order: messages.Watch) -> bool | None:
        """Tell *watcher* when the run has ended, or now if it has; None if it cannot."""
        ref: RunRef = order.ref
        if ref.number in self.live:
            self._watchers.setdefault(ref.number, []).append(order.watcher)
            return True
        result = self.archive.result(ref.number)
        if result is None:
            return None
        tell_one(order.watcher, ended_event(ref, result))
        return False

    def on_subscribe(self, order: messages.Subscribe) -> bool:
        """Tell *observer* every lifecycle event from now on."""
        self.observers.add(order.observer)
        self.service.has_audience = True
        return True

    def on_unsubscribe(self, order: messages.Unsubscribe) -> bool:
        """Tell *observer* nothing more."""
        self.observers.remove(order.observer)
        self.service.has_audience = bool(self.observers)
        return True

    def on_publish(self, order: messages.Publish) -> None:
        """Hand an event to the observers."""
        self.observers.tell(order.event)

    # Stopping.

    def on_drain(self, order: messages.Drain) -> object:
        """Admit nothing more, stop every run, answer when all are gone."""
        reply = self.take_reply()
        if reply is not None:
            self._drainers.append(reply)
        if self.closing is None:
            self.closing = order.reason
        waiting, self.waiting = self.waiting, []
        for opening in waiting:
            self.refuse(opening, Closing(f"nothing is started any more: {order.reason}"))
        stop = messages.Cancel(order.reason, Cause.DISPOSED, order.grace)
        roots = [ref for ref in self.live.values() if ref.parent is None]
        roots += [opening.ref for opening in self.opening.values() if opening.ref is not None]
        for ref in reversed(roots):
            self.service.dispatcher.put(ref, stop, None)
        self.after_room_came()
        return LATER

    def on_stop_asked(self) -> object:
        """Stop everything, child-first, then this actor and its dispatcher."""
        answer = self.take_reply()
        drained: Reply[Any] = Reply()
        self._drainers.append(drained)

        def gone(_: Reply[Any]) -> None:
            self.service.shut()
            if answer is not None:
                answer.resolve(True)

        drained.on_done(gone)
        ref = self.ref
        self.service.dispatcher.put(ref, messages.Drain(self.service.grace, "stopped"), None)
        return LATER

    def on_stop(self) -> None:
        """Leave pykka's registry."""
        pykka.ActorRegistry.unregister(self.ref)


RegistryActor.HANDLERS.update(
    {
        messages.RegisterProvider: RegistryActor.on_register,
        messages.UnregisterProvider: RegistryActor.on_unregister,
        messages.ListProviders: RegistryActor.on_list_providers,
        messages.FindProvider: RegistryActor.on_find_provider,
        messages.Admit: RegistryActor.on_admit,
        messages.GiveUp: RegistryActor.on_give_up,
        messages.CancelStart: RegistryActor.on_cancel_start,
        messages.RunOpened: RegistryActor.on_opened,
        messages.OpeningFailed: RegistryActor.on_opening_failed,
        messages.Take: RegistryActor.on_take,
        messages.Spend: RegistryActor.on_spend,
        messages.RunSettled: RegistryActor.on_settled,
        messages.RunReleased: RegistryActor.on_released,
        messages.Route: RegistryActor.on_route,
        messages.ResultOf: RegistryActor.on_result_of,
        messages.ForgetRun: RegistryActor.on_forget,
        messages.ListChildren: RegistryActor.on_list_children,
        messages.ListDescendants: RegistryActor.on_list_descendants,
        messages.Drain: RegistryActor.on_drain,
        messages.Watch: RegistryActor.on_watch,
        messages.Subscribe: RegistryActor.on_subscribe,
        messages.Unsubscribe: RegistryActor.on_unsubscribe,
        messages.Publish: RegistryActor.on_publish,
    }
)
