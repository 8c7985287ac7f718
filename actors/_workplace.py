"""The workplace of a driver: all that a provider may touch of the runtime."""

from __future__ import annotations

import contextvars
import math
from collections.abc import Callable, Coroutine, Generator, Hashable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Final, cast

from retinue.actors._clock import Timer
from retinue.actors._context import CURRENT
from retinue.actors._reply import Reply
from retinue.actors._scope import LoopScope, Scope, ThreadScope
from retinue.actors._stepping import Stepping
from retinue.actors._wait_graph import WaitGraph
from retinue.protocol import messages
from retinue.protocol.content import Form, Kind, Message, Source, as_content, clip, text_of
from retinue.protocol.errors import BadMessage, DeadRun, InvalidLimit, ordinary
from retinue.protocol.limits import check_time
from retinue.protocol.log import Ending
from retinue.protocol.provider import Outcome

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef

Done = Callable[[Outcome], None]

# What says that a driver, or what it had the pool do, has let go.
RELEASES: Final = frozenset((messages.Closed, messages.CallsEnded))


def _is_plain_end(fact: object) -> bool:
    """
    Whether *fact* ends a turn that nobody stopped.

    Such an end goes behind what waits in the mailbox: a generator that starts children in
    its last step has sent those starts before it returned. An abort waits for no backlog.
    """
    return type(fact) is messages.TurnEnded and fact.ending is not Ending.ABORTED


class ActorWorkplace:
    """
    Implements the Workplace of the protocol for one run.

    Every method may be called from any thread. Facts that come after the run has ended
    are dropped: nobody is left to whom they mean anything.
    """

    __slots__ = ("_random", "_source", "calls", "ref", "service")

    def __init__(self, ref: RunRef, service: Any) -> None:
        self.ref = ref
        self.service = service
        self._random: Random | None = None
        self._source: Source | None = None
        # How many functions of the run are under way on the bounded pool.
        self.calls = 0

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.ref.run_id

    @property
    def run(self) -> Any:
        """The run, as its callers hold it."""
        return self.service.handle_of(self.ref)

    @property
    def source(self) -> Source:
        """The source of what this run says to its children, made once."""
        if self._source is None:
            self._source = Source(Kind.PARENT, sender=self.run_id)
        return self._source

    @property
    def stop_reason(self) -> str | None:
        """Why the run is marked to end, or None."""
        return self.ref.mark

    @property
    def is_delegated(self) -> bool:
        """Whether another run delegated to this one; what a host starts works for the host."""
        parent = self.ref.parent
        return parent is not None and parent is not self.service.stand_in

    @property
    def has_mail(self) -> bool:
        """Whether something was sent that the next step edge takes."""
        return self.ref.has_mail

    @property
    def has_children(self) -> bool:
        """Whether the run has live children or starts under way."""
        actor = self.ref.actor
        return self.ref.first_child is not None or (actor is not None and bool(actor.tickets))

    @property
    def is_metered(self) -> bool:
        """Whether a limit above the run counts what it does."""
        return bool(self.ref.quota.meters)

    @property
    def lock(self) -> Any:
        """The dispatcher's lock, for a few bytecodes at a time."""
        return self.ref.dispatcher.lock

    @property
    def waits(self) -> WaitGraph:
        """Who waits for whom in this runtime."""
        return self.ref.dispatcher.waits

    @property
    def random(self) -> Random:
        """The run's own random numbers, keyed by the runtime's seed and its place in the tree."""
        drawn = self._random
        if drawn is None:
            drawn = self._random = cast("Random", self.service.random_for(self.ref))
        return drawn

    @property
    def path(self) -> tuple[int, ...]:
        """The run's place in its tree, the same whenever the same program runs."""
        actor = self.ref.actor
        return () if actor is None else actor.path

    def now(self) -> float:
        """Return the runtime's clock, in seconds."""
        return self.ref.dispatcher.clock.now()

    def report(self, fact: object) -> None:
        """Tell the run's actor a fact; within its own handler it is next, without a letter."""
        _check_fact(fact)
        ref = self.ref
        if ref.dispatcher.is_running(ref) and not (ref.queue and _is_plain_end(fact)):
            if ref.actor is not None:
                ref.actor.facts.append(fact)
        elif not ref.dispatcher.put(ref, fact, None) and type(fact) in RELEASES:
            self.service.lost.discard(ref.run_id)  # given up, and let go after all

    def ask(self, message: object, target: Any = None) -> Reply[Any]:
        """Ask the run's own actor; returns a Reply."""
        ref = self.ref
        reply: Reply[Any] = Reply(ref.dispatcher.pump, target)
        if not ref.dispatcher.put(ref, message, reply):
            reply.fail(DeadRun(f"{ref.run_id}: has ended"))
        return reply

    def stalled(self, seconds: float) -> None:
        """Report that a step has blocked the dispatcher."""
        if not self.ref.dispatcher.is_deterministic:
            self.service.stalled(self.ref, seconds)

    def on_thread(self, function: Callable[[], Any], done: Done, turn: int) -> ThreadScope:
        """Run a blocking function on a thread of its own; the pool grows as needed."""
        scope = ThreadScope(self, turn)  # pyright: ignore[reportArgumentType]
        self.ref.dispatcher.on_thread(lambda: scope.run(function, done), self.run_id)
        return scope

    def on_loop(self, coroutine: Coroutine[Any, Any, Any], done: Done, turn: int) -> LoopScope:
        """Run a coroutine as a task on the runtime's loop."""
        scope = LoopScope(self, turn)  # pyright: ignore[reportArgumentType]

        def finished(outcome: Outcome) -> None:
            scope.conclude(done, outcome)

        context = contextvars.Context()
        context.run(CURRENT.set, scope)
        scope.attach(self.ref.dispatcher.on_loop(coroutine, finished, context))
        return scope

    def step(self, generator: Generator[Any, Any, Any], done: Done, turn: int) -> Stepping:
        """Step a generator inside the run's actor; call this in a handler of it."""
        stepping = Stepping(self, turn, generator, done)  # pyright: ignore[reportArgumentType]
        stepping.advance(None)
        return stepping

    def after(self, seconds: float, fact: object) -> Timer:
        """Tell the run's actor *fact* in *seconds* of the runtime's clock."""
        _check_fact(fact)
        return self.ref.dispatcher.after(seconds, lambda: self.report(fact))

    def call(self, function: Callable[[], Any], *, is_bounded: bool = True) -> Reply[Any]:
        """Run a blocking function on a pool; returns a Reply."""
        dispatcher = self.ref.dispatcher
        reply: Reply[Any] = Reply(dispatcher.pump)
        outer = CURRENT.get()
        scope = ThreadScope(self, 0 if outer is None else outer.turn)  # pyright: ignore[reportArgumentType]
        self._count_call(1)

        def finished(outcome: Outcome) -> None:
            self._count_call(-1)
            if outcome.error is None:
                reply.resolve(outcome.value)
            else:
                reply.fail(ordinary(outcome.error))

        reply.on_abandon = lambda: scope.cancel("nobody waits for it any more")
        run = dispatcher.on_pool if is_bounded else dispatcher.on_thread
        run(lambda: scope.run(function, finished), self.run_id)
        return reply

    def promise(self) -> Reply[Any]:
        """Return a Reply that its holder resolves or fails; from any thread."""
        return Reply(self.ref.dispatcher.pump)

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what this runtime keeps under *key*, made by the first who asks."""
        return self.service.shared.get(key, make)

    def _count_call(self, change: int) -> None:
        with self.lock:
            self.calls += change
            was_last = self.calls == 0
        if was_last and self.ref.is_settled:
            self.report(messages.CallsEnded())

    def sleep(self, seconds: float) -> Reply[None]:
        """Return a Reply that resolves in *seconds* of the runtime's clock."""
        check_time(seconds, "sleep")
        if seconds == math.inf:
            raise InvalidLimit("sleep: expected seconds that pass, got infinity")
        reply: Reply[None] = Reply(self.ref.dispatcher.pump)
        timer = self.ref.dispatcher.after(seconds, reply.resolve)
        reply.on_abandon = timer.cancel
        return reply

    def start(
        self, provider: str, prompt: object, turn: int, options: Mapping[str, Any]
    ) -> Reply[Any]:
        """Start a child of the run; returns a Reply that resolves with its Run."""
        reply: Reply[Any] = self.service.start(
            provider, prompt, parent=self.ref, turn=turn, **options
        )
        return reply

    def open(self, agent: object, turn: int, options: Mapping[str, Any]) -> Reply[Any]:
        """Open a resident child of the run; returns a Reply that resolves with its Run."""
        reply: Reply[Any] = self.service.open(agent, parent=self.ref, turn=turn, **options)
        return reply

    def say(self, verb: str, run: Any, content: object) -> Reply[Any]:
        """Tell, ask, steer or inject another run as this one; returns a Reply."""
        reply: Reply[Any] = run.say(verb, content, self.ref)
        return reply

    def report_up(self, content: object) -> Reply[Any]:
        """Send *content* to the parent as a report; returns a Reply that it was accepted."""
        parent = self.ref.parent
        if parent is None:
            reply: Reply[Any] = Reply(self.ref.dispatcher.pump)
            reply.fail(DeadRun(f"{self.run_id}: has no parent to report to"))
            return reply
        blocks = as_content(content, "report")
        summary = clip(text_of(blocks)) or "a report"
        source = Source(Kind.CHILD, Form.REPORT, self.run_id, summary)
        return parent.submit(messages.Report(Message(blocks, source), self.ref))

    def wait(
        self, runs: Sequence[Any], timeout: float | None, return_when: str
    ) -> Reply[list[Any]]:
        """Wait for runs; returns a Reply with one outcome per input, in order."""
        reply: Reply[list[Any]] = self.service.wait(runs, timeout, return_when)
        return reply

    def peer(self, name: str) -> Reply[Any]:
        """Find a resident by name; returns a Reply with its Run."""
        reply: Reply[Any] = self.service.route(name, self.ref)
        return reply

    def history(self) -> tuple[Message, ...]:
        """Return the messages of the completed turns; call this before the turn goes on."""
        actor = self.ref.actor
        return () if actor is None else actor.completed_messages()


def _check_fact(fact: object) -> None:
    if type(fact) not in messages.REPORTED:
        raise BadMessage(f"a driver reports facts of its work, not {type(fact).__name__}")


def current_scope() -> Scope | None:
    """Return the piece of work that runs here, or None outside of behaviours."""
    return CURRENT.get()
