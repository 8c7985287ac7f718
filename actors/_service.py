"""
What the actors of one runtime share: where to send, what to call, and how to start runs.

The service holds no state of runs. Its methods may be called from any thread.
"""

from __future__ import annotations

import os
import random
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import pykka
from loguru import logger

from retinue.actors import _outcomes
from retinue.actors._abandoned import abandon, expect_forks
from retinue.actors._arguments import own_ref, text
from retinue.actors._context import CURRENT
from retinue.actors._reply import Reply
from retinue.actors._requests import open_request, start_request
from retinue.actors._resuming import resumed_request
from retinue.actors._shared import Shared
from retinue.actors._ticket import Cancellation, Ticket, check_open, follow
from retinue.actors._waiting import wait_for_runs
from retinue.actors.handle import Run, run_class
from retinue.actors.registry import RegistryActor
from retinue.protocol import messages
from retinue.protocol.errors import Closing, DeadRun, NotQuiescent, RetinueError
from retinue.protocol.events import RunStalled

if TYPE_CHECKING:
    from retinue.actors._dispatcher import Dispatcher
    from retinue.actors._ref import RunRef
    from retinue.protocol.approval import Approver
    from retinue.protocol.content import Content
    from retinue.protocol.delegation import Limits
    from retinue.protocol.log import Cause, Log
    from retinue.protocol.provider import Provider
    from retinue.protocol.result import RunResult, StopReason, Usage

_ALPHABET: Final = string.ascii_lowercase + string.digits
_PREFIX_LENGTH: Final = 6


def make_prefix(seed: object) -> str:
    """Make the prefix of a runtime's ids: from the seed, or from the system's randomness."""
    if seed is None:
        return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(_PREFIX_LENGTH))
    drawn = random.Random(f"retinue/{seed}").choices(_ALPHABET, k=_PREFIX_LENGTH)
    return "".join(drawn)


class Service:
    """The shared part of one runtime."""

    def __init__(self, dispatcher: Dispatcher, limits: Limits, seed: object, grace: float) -> None:
        self.dispatcher = dispatcher
        self.grace = grace
        self.seed = seed
        self.has_audience = False
        self.is_shut = False
        # The run that stands for a host: what comes from outside of runs comes from it.
        self.stand_in: RunRef | None = None
        # The ids of ended runs that were given up and have not let go since. Any thread
        # may add and discard.
        self.lost: set[str] = set()
        self.shared = Shared(dispatcher)
        # Who is asked where a root's policy says ask, and what roots are started with.
        self.approver: Approver | None = None
        self.policy: tuple[tuple[str, Any], ...] = ()
        dispatcher.prefix = make_prefix(seed)
        self._secret = seed if seed is not None else os.urandom(16).hex()
        registry = RegistryActor(self, limits)
        self.registry: Any = registry.ref
        self._providers = registry.providers
        pykka.ActorRegistry.register(self.registry)
        expect_forks(self)  # pyright: ignore[reportArgumentType]

    # What run actors ask of it.

    def tell_registry(self, message: Any) -> None:
        """Send to the registry; a registry that is gone needs to know nothing."""
        self.dispatcher.put(self.registry, message, None)

    def ask_registry(self, message: Any) -> Reply[Any]:
        """Ask the registry; fails with Closing when the runtime has ended."""
        return self._send(self.registry, message)

    def ask_registry_now(self, message: Any) -> Any:
        """
        Ask the registry something that it answers at once, and wait for the answer.

        Inside a handler or a step the registry's own code runs here and now: one handler
        of a runtime runs at a time, so nothing moves meanwhile. On the runtime's loop this
        waits all the same: for the registry, which waits for nobody.
        """
        dispatcher, registry = self.dispatcher, self.registry
        if dispatcher.is_inside() and registry.actor is not None:
            return registry.actor.on_receive(message)
        reply = dispatcher.run_direct(registry, message) or self.ask_registry(message)
        reply.wait_for(None)
        return reply.outcome()

    def publish(self, event: Any) -> None:
        """Hand an event to the observers, if there are any."""
        if self.has_audience:
            self.tell_registry(messages.Publish(event))

    def stalled(self, ref: RunRef, seconds: float) -> None:
        """Report a step that blocked the dispatcher."""
        logger.bind(run_id=ref.run_id).warning(
            "a step blocked for {:.3f} s; use turn.call() for what blocks", seconds
        )
        self.publish(RunStalled(ref.run_id, seconds))

    def random_for(self, ref: RunRef) -> random.Random:
        """Return random numbers keyed by the seed and the run's place in its tree."""
        actor = ref.actor
        path = () if actor is None else actor.path
        return random.Random(f"{self._secret}/{path}")

    def inherits_context(self, provider: str) -> bool:
        """Whether children of that provider begin with their parent's turns."""
        found = self.provider_named(provider)
        return found is not None and found.inherits_context

    def provider_named(self, name: str) -> Provider | None:
        """Return what a start on *name* would get now, importing a known one; else None."""
        return self._providers.find(name)

    def turn_outcome(
        self, log: Log, fact: messages.TurnEnded, cause: Cause | None
    ) -> tuple[StopReason, Content, Usage]:
        """Say how a turn ended and what it gave."""
        return _outcomes.turn_outcome(log, fact, cause)

    def run_result(self, actor: Any) -> RunResult:
        """Read a run's result from its log."""
        return _outcomes.run_result(actor)

    def describe(self, actor: Any) -> Any:
        """Say what a run is doing."""
        return _outcomes.describe(actor.ref)

    def handle_of(self, ref: RunRef) -> Run:
        """Return what callers hold of a live run."""
        actor = ref.actor
        if actor is None:
            raise DeadRun(f"{ref.run_id}: has ended")
        cls = run_class(
            steers=bool(getattr(actor.provider, "steers", False)),
            resumes=actor.provider.accepts_seed,
        )
        return cls(self, ref, actor.result, actor.the_log())

    def still_lost(self, stuck: tuple[str, ...]) -> tuple[str, ...]:
        """Return which of the runs that would not stop have not stopped since."""
        return tuple([run_id for run_id in stuck if run_id in self.lost])

    def release_failure(self, ref: RunRef) -> NotQuiescent | None:
        """Say what of an ended run was not released, or None."""
        stuck = self.still_lost(ref.stuck)
        if stuck:
            return NotQuiescent(
                f"{ref.run_id}: ended, and {len(stuck)} of its runs would not stop", stuck
            )
        if ref.release_error is not None:
            return NotQuiescent(
                f"{ref.run_id}: ended, and its driver failed to close: {ref.release_error}",
                (ref.run_id,),
            )
        return None

    # Starting and finding.

    def start(
        self,
        provider: Any,
        prompt: object,
        *,
        parent: Any = None,
        turn: int = 0,
        cancel: Cancellation | None = None,
        prefix: Any = None,
        **options: Any,
    ) -> Reply[Run]:
        """Start a one-shot run; every refusal is in the Reply."""
        try:
            request = start_request(provider, prompt, **options)
        except Exception as error:  # noqa: BLE001 - the arguments are foreign, and so is their code
            return self._failed(error)
        return self._begin(request, parent, turn, cancel, prefix)

    def open(
        self,
        agent: object,
        *,
        parent: Any = None,
        turn: int = 0,
        cancel: Cancellation | None = None,
        **options: Any,
    ) -> Reply[Run]:
        """Open a resident; every refusal is in the Reply."""
        try:
            request = open_request(agent, **options)
        except Exception as error:  # noqa: BLE001 - the arguments are foreign, and so is their code
            return self._failed(error)
        return self._begin(request, parent, turn, cancel, None)

    def _begin(
        self, request: Any, parent: Any, turn: int, cancel: Cancellation | None, prefix: Any
    ) -> Reply[Run]:
        if cancel is not None:
            try:
                check_open(cancel)
            except (RetinueError, TypeError) as error:
                return self._failed(error)
        if parent is None:
            scope = CURRENT.get()
            if scope is not None and scope.workplace.service is self:
                parent, turn = scope.ref, scope.turn
        try:
            ref = own_ref(parent, self.dispatcher, "parent")
        except RetinueError as error:
            return self._failed(error)
        ticket = Ticket(self.dispatcher.next_number(), self.registry)
        if ref is not None:
            reply = self._send(ref, messages.Delegate(request, ticket, turn, prefix))
        else:
            admit = messages.Admit(
                request, ticket, prefix=prefix, place=((), ticket.number), policy=self.policy
            )
            origin = request.features.origin
            if origin is not None:
                admit = attrs.evolve(
                    admit, depth=origin.depth, cap=origin.cap, policy=origin.policy
                )
            reply = self._send(self.registry, admit)
        reply.on_abandon = lambda: ticket.cancel("the start was abandoned")
        if cancel is not None:
            follow(cancel, ticket, reply)
        return reply

    def _send(self, ref: Any, message: Any) -> Reply[Any]:
        reply: Reply[Any] = Reply(self.dispatcher.pump)
        if not self.dispatcher.put(ref, message, reply):
            reply.fail(Closing("the run or runtime that was to start it has ended"))
        return reply

    def _failed(self, error: BaseException) -> Reply[Any]:
        reply: Reply[Any] = Reply(self.dispatcher.pump)
        reply.fail(error)
        return reply

    def resume(
        self,
        run: Run,
        prompt: object,
        *,
        parent: Any = None,
        cancel: Cancellation | None = None,
        **options: Any,
    ) -> Reply[Run]:
        """Start a new run on another's whole balanced log, bound as that one was."""
        if run.log.open_turn is not None:
            return self._failed(DeadRun(f"{run.id}: has a turn open; resume it when it settled"))
        try:
            request = resumed_request(run, prompt, options)
        except (RetinueError, TypeError) as error:
            return self._failed(error)
        seed = run.log.seed()
        return self._begin(request, parent, 0, cancel, seed if seed.turns else None)

    def wait(self, runs: Sequence[Any], timeout: float | None, return_when: str) -> Reply[Any]:
        """Wait for runs; one outcome per input, in order."""
        return wait_for_runs(self.dispatcher, runs, timeout, return_when)

    def route(self, key: str, asker: RunRef | None = None) -> Reply[Run]:
        """Find a live run by id or name."""
        try:
            text("key", key)
        except RetinueError as error:
            return self._failed(error)
        return self._send(self.registry, messages.Route(key, asker))

    def shut(self) -> None:
        """Seal the registry and let the dispatcher end, without waiting for it."""
        if not self.is_shut:
            self.is_shut = True
            self.dispatcher.close(0.0)
            abandon(self)  # pyright: ignore[reportArgumentType]
