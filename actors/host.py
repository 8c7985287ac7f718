"""
Any pykka actor as a parent: a stand-in run takes its place in the tree.

The host gets what a parent gets, by ``tell``: results, reports, notices, undelivered
messages. A host that dies without closing is found within a second; everything that it
started ends with ``host-gone``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pykka
from pykka.messages import ProxyCall

from retinue.actors._mailbox import ActorStop
from retinue.actors.runtime import Runtime
from retinue.protocol import messages
from retinue.protocol.delegation import NO_CAPABILITIES
from retinue.protocol.errors import InvalidRequest
from retinue.protocol.log import Cause, Ending
from retinue.protocol.result import ERROR, RunResult, bounded_diagnostic

if TYPE_CHECKING:
    from retinue.actors._reply import Reply
    from retinue.actors._service import Service
    from retinue.actors.handle import Run
    from retinue.protocol.provider import OpenOrder, TurnOrder, Workplace

# How often a runtime looks whether its host is alive, from design.md section 5.
CHECK_SECONDS: Final = 1.0


class _HostProvider:
    """Opens the one stand-in run of a host; it is found by no other start."""

    name = "host"
    capabilities = NO_CAPABILITIES
    inherits_context = False
    accepts_seed = False
    is_immediate = True
    steers = True

    def __init__(self, host: pykka.ActorRef[Any]) -> None:
        self._host = host

    def open(self, order: OpenOrder, workplace: Workplace) -> _HostDriver:
        """Make the driver that passes everything on to the host."""
        del order
        return _HostDriver(self._host, workplace)


class _HostDriver:
    """Passes what the stand-in is sent on to the host, and does no work itself."""

    def __init__(self, host: pykka.ActorRef[Any], workplace: Workplace) -> None:
        self._host = host
        self._workplace = workplace

    def begin(self, order: TurnOrder) -> None:
        """Tell the host every message of the turn, which is over with that."""
        for message in order.messages:
            _tell(self._host, message)
        self._workplace.report(messages.TurnEnded(order.turn, Ending.COMPLETED))

    def returned(self, event: object) -> None:
        """Tell the host that something it sent was not taken."""
        _tell(self._host, event)

    def steer(self) -> None:
        """Do nothing: a host's turns are over as soon as they begin."""

    def stop(self, cause: Cause) -> None:
        """Do nothing: no turn is ever open between two messages."""

    def close(self) -> None:
        """Report closed; the host lives on."""
        self._workplace.report(messages.Closed())


class HostRuntime(Runtime):
    """
    A runtime whose runs belong to a pykka actor; made by ``Runtime.for_host``.

    ``start`` and ``open`` take ``on``: the name of a method of the host that gets the
    RunResult. Without it the RunResult is told as it is. A start that was refused is told
    too, as a result with the reason ``error`` and no run id.
    """

    def __init__(self, host: pykka.ActorRef[Any], **options: Any) -> None:
        if not isinstance(host, pykka.ActorRef):
            raise InvalidRequest(
                f"for_host: expected an actor's ref, as self.actor_ref, got {type(host).__name__}"
            )
        super().__init__(**options)
        self._host = host
        try:
            self.register(_HostProvider(host)).get()
            self._stand_in: Run = super().open(None, provider="host").get()
        except BaseException:
            self.close()
            raise
        _look_again(self._service, host, self._stand_in)

    @property
    def stand_in(self) -> Run:
        """The run that stands for the host; the parent of all that the host starts."""
        return self._stand_in

    def start(
        self, provider: str, prompt: object, *, on: str | None = None, **options: Any
    ) -> Reply[Run]:
        """Start a child of the host; its result is told to the host's method *on*."""
        options.setdefault("parent", self._stand_in)
        return self._delivered(super().start(provider, prompt, **options), on)

    def open(self, agent: object, *, on: str | None = None, **options: Any) -> Reply[Run]:
        """Open a resident child of the host; its result is told when it ends."""
        options.setdefault("parent", self._stand_in)
        return self._delivered(super().open(agent, **options), on)

    def _delivered(self, reply: Reply[Run], on: str | None) -> Reply[Run]:
        if on is not None and (not isinstance(on, str) or not on.isidentifier()):
            raise InvalidRequest(f"on: expected the name of a method of the host, got {on!r}")
        host = self._host

        def deliver(result: RunResult) -> None:
            _tell(host, result if on is None else ProxyCall((on,), (result,), {}))

        def started(answer: Reply[Run]) -> None:
            error = answer.error
            if error is None:
                answer.outcome().result.on_done(lambda reply: deliver(reply.outcome()))
            else:
                text = bounded_diagnostic(f"the start was refused: {error}")
                deliver(RunResult("", ERROR, (), None, text, error=error))

        reply.on_done(started)
        return reply


def _look_again(service: Service, host: pykka.ActorRef[Any], stand_in: Run) -> None:
    """Look at the host in a second, and every second after that while it lives."""

    def look() -> None:
        if stand_in.ref.is_sealed or service.is_shut:
            return
        if host.is_alive():
            _look_again(service, host, stand_in)
        else:
            end_host(service, stand_in)

    service.dispatcher.after(CHECK_SECONDS, look)


def end_host(service: Service, stand_in: Run) -> None:
    """End the tree of a host that is gone, and the runtime with it."""
    gone = messages.Cancel("the host is gone", Cause.HOST, service.grace)
    service.dispatcher.put(stand_in.ref, gone, None)
    service.dispatcher.put(service.registry, ActorStop(), None)


def _tell(host: pykka.ActorRef[Any], message: Any) -> None:
    with suppress(pykka.ActorDeadError):  # found by the next look, within a second
        host.tell(message)
