"""
What nobody serves any more: whoever waits for it is told.

A close whose time is over leaves runs behind, and so does a fork, in the child process:
the threads that served them do not exist there. Nobody may wait for ever for what is left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from retinue.actors import _context, _reply
from retinue.protocol.errors import Closing

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef
    from retinue.actors._reply import Reply
    from retinue.actors._service import Service

_SERVICES: Final[WeakSet[Service]] = WeakSet()


def abandon(service: Service) -> list[str]:
    """Fail what waits for a closed runtime; returns the ids of the runs that had not ended."""
    dispatcher, registry = service.dispatcher, service.registry
    left: list[str] = []
    if registry.actor is not None:
        error = Closing("the runtime was closed before this had come to its end")
        for ref in _unended(registry.actor):
            if ref.is_sealed:  # the parent's, in the child of a fork
                continue
            left.append(ref.run_id)
            for reply in _awaited(ref):
                reply.fail(error)
            ref.mark = ref.mark or str(error)
            dispatcher.seal(ref, run_hook=False)
        for reply in _starts(registry.actor):
            reply.fail(error)
        dispatcher.seal(registry)
    dispatcher.timers.fire(float("inf"))  # whoever sleeps, or waits for a while, goes on
    return left


def _unended(registry: Any) -> list[RunRef]:
    opening = [start.ref for start in list(registry.opening.values()) if start.ref is not None]
    return [*opening, *list(registry.live.values())]


def _starts(registry: Any) -> Iterator[Reply[Any]]:
    for start in [*list(registry.opening.values()), *list(registry.waiting)]:
        if start.reply is not None:
            yield start.reply


def _awaited(ref: RunRef) -> Iterator[Reply[Any]]:
    """Iterate over what somebody may wait for of one run."""
    actor = ref.actor
    if actor is None:
        return
    yield actor.result
    inbox = () if actor.inbox is None else (*actor.inbox.next_step, *actor.inbox.next_turn)
    tickets: dict[int, Any] = actor.tickets or {}
    replies: list[Any] = [actor.asker, *(actor.disposers or ())]
    replies += [entry.reply for entry in list(tickets.values())]
    replies += [item.reply for item in inbox]
    yield from (reply for reply in replies if reply is not None)


def expect_forks(service: Service) -> None:
    """Have *service* know, should this process be forked, that the child has none of it."""
    _SERVICES.add(service)


def _forked() -> None:
    """
    Forget, in the child of a fork, what other threads would have done.

    Callbacks are not called: they are the parent's, and run there.
    """
    _context.forget_other_threads()
    _reply.forget_other_threads()
    error = Closing("this runtime is another process's, which was forked; make one here")
    for service in list(_SERVICES):
        registry = service.registry
        service.is_shut = True
        service.dispatcher.lock = threading.Lock()  # its holder may be missing here
        if registry.actor is not None:
            for ref in _unended(registry.actor):
                for reply in _awaited(ref):
                    reply.orphan(error)
                ref.is_sealed = True
            for reply in _starts(registry.actor):
                reply.orphan(error)
        registry.is_sealed = True
        service.dispatcher.forked()
    _SERVICES.clear()


if hasattr(os, "register_at_fork"):  # where processes can be forked
    os.register_at_fork(after_in_child=_forked)
