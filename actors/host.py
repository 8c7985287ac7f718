"""
Any pykka actor as a parent: a stand-in run takes its place in the tree.

The host gets what a parent gets, by ``tell``: results, reports, notices, undelivered
messages. A host that dies without closing is found within a second; everything that it
started ends with ``host-gone``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import attrs
import pykka
from pykka.messages import ProxyCall

from retinue.actors._mailbox import ActorStop
from retinue.actors._reply import Reply
from retinue.actors.runtime import Runtime
from retinue.protocol import messages
from retinue.protocol.delegation import NO_CAPABILITIES
from retinue.protocol.errors import InvalidRequest
from retinue.protocol.limits import Limits
from retinue.protocol.log import Cause, Ending
from retinue.protocol.result import ERROR, RunResult, bounded_diagnostic

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef
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
    # It stands for somebody who has no deadline.
    is_endless = True

    def __init__(self, tell: Callable[[object], None]) -> None:
        self._tell = tell

    def open(self, order: OpenOrder, workplace: Workplace) -> _HostDriver:
        """Make the driver that passes everything on to the host."""
        del order
        return _HostDriver(self._tell, workplace)


class _HostDriver:
    """Passes what the stand-in is sent on to the host, and does no work itself."""

    def __init__(self, tell: Callable[[object], None], workplace: Workplace) -> None:
        self._tell = tell
        self._workplace = workplace

    def begin(self, order: TurnOrder) -> None:
        """Tell the host every message of the turn, which is over with that."""
        for message in order.messages:
            self._tell(message)
        self._workplace.report(messages.TurnEnded(order.turn, Ending.COMPLETED))

    def returned(self, event: object) -> None:
        """Tell the host that something it sent was not taken."""
        self._tell(event)

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
        if isinstance(options.get("limits"), Limits):
            options["limits"] = _beside_the_host(options["limits"])
        super().__init__(**options)
        self._host = host
        # No method: the registry holds it, and would hold a forgotten runtime with it.
        self._tell = functools.partial(_tell, self._service, host)
        try:
            self.register(_HostProvider(self._tell)).get()
            self._stand_in: Run = super().open(None, provider="host").get()
        except BaseException:
            self.close()
            raise
        self._service.stand_in = self._stand_in.ref
        _look_again(self._service, host, self._stand_in)

    @property
    def stand_in(self) -> Run:
        """The run that stands for the host; the parent of all that the host starts."""
        return self._stand_in

    def start(
        self, provider: str, prompt: object, *, on: str | None = None, **options: Any
    ) -> Reply[Run]:
        """Start a child of the host; its result is told to the host's method *on*."""
        return self._delivered(
            on, lambda: super(HostRuntime, self).start(provider, prompt, **self._below(options))
        )

    def open(self, agent: object, *, on: str | None = None, **options: Any) -> Reply[Run]:
        """Open a resident child of the host; its result is told when it ends."""
        return self._delivered(
            on, lambda: super(HostRuntime, self).open(agent, **self._below(options))
        )

    def _below(self, options: dict[str, Any]) -> dict[str, Any]:
        if options.get("parent") is None:
            options["parent"] = self._stand_in
        return options

    def _delivered(self, on: str | None, begin: Callable[[], Reply[Run]]) -> Reply[Run]:
        reply: Reply[Run]
        try:
            self._check_method(on)
        except InvalidRequest as error:
            on, reply = None, Reply(self._service.dispatcher.pump)
            reply.fail(error)
        else:
            reply = begin()

        def deliver(result: RunResult) -> None:
            self._tell(result if on is None else ProxyCall((on,), (result,), {}))

        def started(answer: Reply[Run]) -> None:
            if answer.error is None:
                answer.outcome().result.on_done(ended)
            else:
                deliver(_no_result("", f"the start was refused: {answer.error}", answer.error))

        def ended(answer: Reply[RunResult]) -> None:
            error = answer.error
            run_id = reply.outcome().id
            deliver(answer.outcome() if error is None else _no_result(run_id, str(error), error))

        reply.on_done(started)
        return reply

    def _check_method(self, on: object) -> None:
        if on is None:
            return
        if not isinstance(on, str) or not on.isidentifier():
            raise InvalidRequest(f"on: expected the name of a method of the host, got {on!r}")
        kind = self._host.actor_class
        if not callable(getattr(kind, on, None)):
            # The host would die of it when the result comes: pykka's actors do, of messages
            # that were told and raise.
            raise InvalidRequest(f"on: {kind.__name__} has no method {on}()")


def _tell(service: Service, host: pykka.ActorRef[Any], message: Any) -> None:
    """Tell the host; one that is dead is found by that, or by the next look."""
    try:
        host.tell(message)
    except pykka.ActorDeadError:
        end_host(service, service.stand_in)


def _no_result(run_id: str, why: str, error: BaseException) -> RunResult:
    return RunResult(run_id, ERROR, (), None, bounded_diagnostic(why), error=error)


def _beside_the_host(limits: Limits) -> Limits:
    """Return *limits* with a place for the stand-in, which nobody has started."""
    live = None if limits.live is None else limits.live + 1
    total = None if limits.total is None else limits.total + 1
    return attrs.evolve(limits, live=live, total=total)


def _look_again(service: Service, host: pykka.ActorRef[Any], stand_in: Run) -> None:
    """Look at the host in a second, and every second after that while it lives."""

    def look() -> None:
        if stand_in.ref.is_sealed or service.is_shut:
            return
        if host.is_alive():
            _look_again(service, host, stand_in)
        else:
            end_host(service, stand_in.ref)

    service.dispatcher.after(CHECK_SECONDS, look)


def end_host(service: Service, stand_in: RunRef | None) -> None:
    """End the tree of a host that is gone, and the runtime with it."""
    if stand_in is None or service.is_shut:
        return
    gone = messages.Cancel("the host is gone", Cause.HOST, service.grace)
    service.dispatcher.put(stand_in, gone, None)
    service.dispatcher.put(service.registry, ActorStop(), None)
