"""
Admission: from a request to a published run, or to a refusal with nothing left behind.

A start is in one of three places here: waiting for room, opening, or published. The
parent's own table of tickets holds it as well, so that neither side can lose it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from retinue.actors import _outcomes
from retinue.actors._archive import started_event
from retinue.actors._budgets import Budgets
from retinue.actors._mailbox import LATER
from retinue.actors._observers import Observers
from retinue.actors._options import options_of
from retinue.actors._providers import Providers
from retinue.actors._reply import Reply
from retinue.actors.run import RunActor
from retinue.protocol import messages
from retinue.protocol.delegation import (
    NO_FEATURES,
    NO_LIMITS,
    Limits,
    Quota,
    check_cap,
    check_features,
    check_quota,
)
from retinue.protocol.errors import (
    Closing,
    DuplicateName,
    InvalidAgent,
    InvalidRequest,
    LimitReached,
    StartCancelled,
    StartTimeout,
    UnsupportedCapability,
    ordinary,
)
from retinue.protocol.log import Seed
from retinue.protocol.provider import OpenOrder, Provider, opens_at_once
from retinue.protocol.tool_filter import kept_tools

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef

_UNSEEDED = Seed(None)


class Opening:
    """A start that is not published yet: what was asked, by whom, and the run if it exists."""

    __slots__ = ("admit", "ref", "reply", "timer")

    def __init__(self, admit: messages.Admit, reply: Reply[Any] | None) -> None:
        self.admit = admit
        self.reply = reply
        self.ref: RunRef | None = None
        self.timer: Any = None


class Admission(Budgets):
    """The part of the registry that lets runs in."""

    direct: ClassVar[bool] = True

    def __init__(self, service: Any, limits: Limits) -> None:
        super().__init__(service, limits)
        self.providers = Providers()
        self.observers = Observers()
        self.opening: dict[int, Opening] = {}
        self.waiting: list[Opening] = []
        self.live: dict[int, RunRef] = {}
        self.names: dict[str, RunRef] = {}
        self.closing: str | None = None

    def on_admit(self, admit: messages.Admit) -> object:
        """Check a request and make the child, or refuse; nothing in between."""
        opening = Opening(admit, self.take_reply())
        try:
            self._admit(opening)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the asker's
            self.refuse(opening, ordinary(error))
        return LATER

    def _admit(self, opening: Opening) -> None:
        admit = opening.admit
        request, features = admit.request, admit.request.features
        self._check_wanted(admit)
        provider = self.providers.get(request.provider)
        limits, cap, schema = NO_LIMITS, admit.cap, None
        if features is NO_FEATURES:
            check_cap(admit.depth, cap)
        else:
            cap = check_features(
                request.provider, features, provider.capabilities, admit.depth, cap
            )
            schema = _outcomes.schema_of(features)
            limits = _outcomes.limits_of(features)
        outer = admit.quota or self.quota
        has_room = check_quota(outer)
        kept = kept_tools(features.tool_filter, admit.ceiling, request.agent, provider)
        options = options_of(request)
        self._check_fits(admit, provider)
        if not has_room:
            self._wait_for_room(opening, limits.within(outer.limits))
            return
        ref = self._create(opening, provider, cap, schema, kept, options)
        ref.quota = outer if limits is NO_LIMITS else Quota(limits.within(outer.limits), outer)
        self.enter(ref)
        self._open(ref, opening, provider)

    def _check_wanted(self, admit: messages.Admit) -> None:
        if self.closing is not None:
            raise Closing(f"nothing is started any more: {self.closing}")
        if admit.ticket.cancelled is not None:
            raise StartCancelled(f"{admit.ticket.cancelled}: cancelled before the run existed")
        if admit.parent is not None and admit.parent.is_sealed:
            raise Closing(f"{admit.parent.run_id}: has ended and starts no more children")

    def _check_fits(self, admit: messages.Admit, provider: Provider) -> None:
        request = admit.request
        if request.agent is None and getattr(provider, "needs_agent", False):
            raise InvalidAgent(
                f"provider {provider.name!r} needs an agent: start(..., agent=my_function)"
            )
        if admit.prefix is not None and not provider.accepts_seed:
            raise UnsupportedCapability(
                f"provider {provider.name!r} accepts no seed; it can neither fork nor resume",
                "accepts_seed",
            )
        name = request.name
        if name is not None and name in self.names:
            raise DuplicateName(f"a live run is named {name!r}; names are unique")
        if name is not None and name.startswith(f"{self.service.dispatcher.prefix}-"):
            raise InvalidRequest(f"name: {name!r} reads like the id of a run")

    def _wait_for_room(self, opening: Opening, limits: Limits) -> None:
        """
        Queue a start over the live limit; its start limit runs meanwhile.

        Raises:
            LimitReached: only those above the start are alive, and they outlive it.
        """
        admit = opening.admit
        for quota in (admit.quota or self.quota).full_levels():
            if quota.live <= _alive_above(admit.parent, quota):
                raise LimitReached(
                    f"no room can come: all {quota.live} runs that may be alive at once stand above"
                    " this start, and end after it; raise the limit"
                )
        self.waiting.append(opening)
        if limits.start is not None:
            opening.timer = self.service.dispatcher.after(
                limits.start, lambda: self.service.tell_registry(messages.GiveUp(opening))
            )

    def on_give_up(self, order: messages.GiveUp) -> None:
        """Refuse a start that waited for room too long."""
        if order.opening in self.waiting:
            self.waiting.remove(order.opening)
            self.refuse(order.opening, StartTimeout("no room came free within the start limit"))

    def admit_waiting(self) -> None:
        """Let in those for whom there is room now, first come, first served."""
        waiting, self.waiting = self.waiting, []
        for opening in waiting:
            try:
                if not check_quota(opening.admit.quota or self.quota):
                    self.waiting.append(opening)  # its start limit runs on
                    continue
                self._admit(opening)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the asker's
                self.refuse(opening, ordinary(error))
            if opening.timer is not None:
                opening.timer.cancel()

    def _create(
        self,
        opening: Opening,
        provider: Provider,
        cap: int | None,
        schema: Any,
        kept: Any,
        options: Mapping[str, Any],
    ) -> RunRef:
        admit = opening.admit
        request, number = admit.request, admit.ticket.number
        result: Reply[Any] = Reply(self.service.dispatcher.pump)
        child = RunActor(self.service, number, provider, request, result)
        ref: RunRef = child.ref
        ref.parent, ref.depth, ref.owner_turn = admit.parent, admit.depth, admit.turn
        ref.cap, child.place = cap, admit.place
        child.policy = dict(admit.policy) if admit.policy else None
        child.order = OpenOrder(
            ref.run_id,
            request.agent,
            request,
            admit.depth,
            cap,
            admit.prefix or _UNSEEDED,
            options,
            kept,
            schema,
        )
        opening.ref = ref
        self.opening[number] = opening
        if request.name is not None:
            self.names[request.name] = ref
        return ref

    def _open(self, ref: RunRef, opening: Opening, provider: Provider) -> None:
        """Open in this handler what opens at once, and everything else by message."""
        actor = ref.actor
        if opening.admit.prefix is None and opens_at_once(provider, actor.order):
            actor.open_inline()
            if not actor.is_over:
                self.on_opened(messages.RunOpened(ref))
            return
        dispatcher = self.service.dispatcher
        if opening.admit.prefix is not None:
            dispatcher.put(ref, messages.Seed(opening.admit.prefix), None)
        dispatcher.put(ref, messages.Begin(), None)

    def on_opened(self, fact: messages.RunOpened) -> None:
        """Enter the run, announce it, answer who started it, and let it begin (LIF-2)."""
        ref: RunRef = fact.ref
        opening = self.opening.pop(ref.number)
        self.live[ref.number] = ref
        run = self.service.handle_of(ref)
        ref.started_at = self.service.dispatcher.clock.now()
        if self.observers:
            self.observers.tell(started_event(ref))
        dispatcher, ticket = self.service.dispatcher, opening.admit.ticket
        if ticket.cancelled is not None:
            # It overtakes Published, so that the prompt is never delivered (VAL-6).
            dispatcher.put(ref, messages.Cancel(ticket.cancelled, ticket.cause), None)
        if ref.parent is not None:
            opened = messages.ChildOpened(ticket, run)
            if not dispatcher.put(ref.parent, opened, None):
                # The parent was lost to a crash: nobody is left to own the child.
                dispatcher.put(ref, messages.Cancel("its parent has ended"), None)
        elif opening.reply is not None:
            opening.reply.resolve(run)
        dispatcher.put(ref, messages.Published(), None)

    def on_opening_failed(self, fact: messages.OpeningFailed) -> None:
        """Roll back: the run never was."""
        ref: RunRef = fact.ref
        opening = self.opening.pop(ref.number)
        self.forget_name(ref)
        self.leave(ref)
        ref.quota.total_back()
        self.refuse(opening, fact.error)
        self.after_room_came()

    def refuse(self, opening: Opening, error: BaseException) -> None:
        """Tell who started it that there is no run."""
        parent, ticket = opening.admit.parent, opening.admit.ticket
        if parent is not None:
            self.service.dispatcher.put(parent, messages.StartRefused(ticket, error), None)
        elif opening.reply is not None:
            opening.reply.fail(error)

    def forget_name(self, ref: RunRef) -> None:
        """Free the name of a run that is gone."""
        name = ref.request.name
        if name is not None and self.names.get(name) is ref:
            del self.names[name]

    def after_room_came(self) -> None:
        """Look who can come in now, and whether a drain is done."""
        raise NotImplementedError

    def on_cancel_start(self, order: messages.CancelStart) -> None:
        """Cancel a start wherever it is; one that is not here yet carries it in its ticket."""
        number = order.ticket.number
        for waiting in self.waiting:
            if waiting.admit.ticket is order.ticket:
                self.waiting.remove(waiting)
                self.refuse(waiting, StartCancelled(f"{order.reason}: it waited for room"))
                return
        opening = self.opening.get(number)
        ref = self.live.get(number) if opening is None else opening.ref
        if ref is not None:
            cancel = messages.Cancel(order.reason, order.cause)
            self.service.dispatcher.put(ref, cancel, None)


def _alive_above(parent: RunRef | None, quota: Quota) -> int:
    """Count the runs from *parent* upwards that hold a place in *quota*."""
    found, ref = 0, parent
    while ref is not None and ref.quota.is_within(quota):
        found += not ref.is_settled
        ref = ref.parent
    return found
