"""What callers hold: a Run, and the token that cancels a start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

import pykka

from retinue.actors._context import CURRENT
from retinue.actors._ref import RunRef, check_no_cycle
from retinue.actors._reply import Reply
from retinue.actors._run_inbox import StepTaken
from retinue.actors._ticket import Cancellation
from retinue.protocol import messages
from retinue.protocol.content import Form, Kind, Message, Source, as_content, clip, text_of
from retinue.protocol.errors import DeadRun, RetinueError
from retinue.protocol.log import Cause, Event, Log

if TYPE_CHECKING:
    from collections.abc import Callable

    from retinue.protocol.result import RunResult, TurnResult

__all__ = [
    "Cancellation",
    "Reply",
    "ResumableRun",
    "Run",
    "SteerableRun",
    "StepTaken",
    "SupportsResume",
    "SupportsSteer",
]


@runtime_checkable
class SupportsSteer(Protocol):
    """A run that can be steered: the provider has step edges."""

    def steer(self, content: object) -> Reply[StepTaken]:
        """Send *content* to the next step; the Reply is the receipt."""
        ...


@runtime_checkable
class SupportsResume(Protocol):
    """A run whose log can be gone on from: the provider accepts a seed."""

    def resume(self, prompt: object) -> Reply[Run]:
        """Start a new run on this one's whole balanced log."""
        ...


class Run:
    """
    One run, as its callers hold it. Every method may be called from any thread.

    What the run's provider can do shows in the methods that are there: ``steer`` and
    ``resume`` exist only where they work.
    """

    __slots__ = ("_log", "_service", "ref", "result", "seed_turns")

    def __init__(self, service: Any, ref: RunRef, result: Reply[RunResult], log: Log) -> None:
        self._service = service
        self._log = log
        self.ref = ref
        self.result = result
        self.seed_turns = log.seed_turns

    def __repr__(self) -> str:
        return f"<Run {self.id} on {self.provider}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.id}: a Run lives in its process; send on its id or its result")

    @property
    def id(self) -> str:
        """The run's id; unique in its runtime, and prefixed by it."""
        return self.ref.run_id

    @property
    def provider(self) -> str:
        """The name of the provider that the run was started on."""
        return str(self.ref.request.provider)

    @property
    def label(self) -> str | None:
        """The label that the run was started with."""
        label: str | None = self.ref.request.label
        return label

    @property
    def name(self) -> str | None:
        """The name that a resident was opened with."""
        name: str | None = self.ref.request.name
        return name

    @property
    def depth(self) -> int:
        """How many delegations lie above the run."""
        return self.ref.depth

    def tell(self, content: object) -> Reply[bool]:
        """Prompt a live resident; the Reply says that it was accepted."""
        return self.say("tell", content, self._sender())

    def ask(self, content: object) -> Reply[TurnResult]:
        """Prompt a live resident; the Reply is the result of that turn."""
        return self.say("ask", content, self._sender())

    def inject(self, content: object) -> Reply[bool]:
        """Leave *content* for the next step, without waking the run."""
        return self.say("inject", content, self._sender())

    def _sender(self) -> RunRef | None:
        """Return the run that speaks: that of the turn, or else the host's if there is one."""
        scope = CURRENT.get()
        sender: RunRef | None = self._service.stand_in if scope is None else scope.ref
        return sender

    def say(self, verb: str, content: object, sender: RunRef | None = None) -> Reply[Any]:
        """
        Send content by one of the verbs tell, ask, steer, inject; errors are in the Reply.

        Fails with DeadRun when the run has ended, MailboxFull when too much waits,
        NotResident when a one-shot is prompted, AskCycle when an ask waits for itself.
        """
        kind, form = _VERBS[verb]
        target = self.ref if verb == "ask" else None
        try:
            blocks = as_content(content, verb)
            if verb == "ask" and sender is not None:
                check_no_cycle(sender, self.ref)
        except RetinueError as error:
            return self._failed(error)
        message = Message(blocks, _source(form, sender, self.ref, blocks))
        order = kind(message, sender, True) if verb == "ask" else kind(message, sender)
        return self._request(order, target)

    def cancel(self, reason: str = "cancelled") -> Reply[bool]:
        """Stop the run and everything below it; the Reply says that it was taken."""
        return self._request(messages.Cancel(str(reason), _cause()), dead=False)

    def interrupt(self) -> Reply[bool]:
        """Stop the current turn and keep the queue; a one-shot thereby ends aborted."""
        return self._request(messages.Interrupt(_cause()), dead=False)

    def wrap_up(self) -> Reply[bool]:
        """Ask the current turn to finish with what it has; False when none is open."""
        return self._request(messages.WrapUp(), dead=False)

    def maintain(self, function: Callable[[], Any]) -> Reply[Any]:
        """
        Run a blocking *function* between two turns; the Reply is what it returns.

        It runs on the bounded pool. Prompts that come meanwhile are accepted and wait. It
        fails with Refused while a turn is open or other maintenance is under way, and with
        DeadRun when the run ends first.
        """
        return self._request(messages.Maintain(function))

    def dispose(self, grace: float | None = None) -> Reply[bool]:
        """
        Cancel what remains; the Reply resolves at quiescence, each time it is asked.

        Args:
            grace: seconds that what is stopped may take; the runtime's by default.

        It fails with NotQuiescent, naming what would not stop, when some did not.
        """
        done: Reply[bool] = Reply(self._service.dispatcher.pump)
        asked = self.ref.submit(messages.Dispose(grace))

        def told(_: Reply[Any]) -> None:
            done.resolve(True)

        def ended(answer: Reply[Any]) -> None:
            # A mailbox that is sealed already has nothing left; how it ended is on the ref.
            error = answer.error
            if isinstance(error, pykka.ActorDeadError):
                error = self._service.release_failure(self.ref)
            if error is None:
                # Answered behind the RunReleased: whoever waited here has heard RunEnded.
                self._service.ask_registry(messages.ForgetRun(self.ref)).on_done(told)
            else:
                done.fail(error)

        asked.on_done(ended)
        return done

    def transcript(self) -> tuple[Event, ...]:
        """Return the run's log up to now, what it inherited included."""
        return tuple(self._log.events())

    def own_transcript(self) -> tuple[Event, ...]:
        """Return what the run's log holds after its seed."""
        return tuple(self._log.own())

    @property
    def log(self) -> Log:
        """The run's log; only the run writes it."""
        return self._log

    def _request(self, order: Any, target: Any = None, *, dead: Any = None) -> Reply[Any]:
        asked = self.ref.submit(order, target)
        reply: Reply[Any] = Reply(self._service.dispatcher.pump, target)

        def answered(answer: Reply[Any]) -> None:
            # What pykka calls a dead actor is, to whoever holds a run, a run that has ended.
            error = answer.error
            if not isinstance(error, pykka.ActorDeadError):
                _pass_on(answer, reply)
            elif dead is not None:
                reply.resolve(dead)
            else:
                reply.fail(DeadRun(f"{self.id}: has ended and takes no messages"))

        asked.on_done(answered)
        return reply

    def _failed(self, error: BaseException) -> Reply[Any]:
        reply: Reply[Any] = Reply(self._service.dispatcher.pump)
        reply.fail(error)
        return reply


class SteerableRun(Run):
    """A run whose provider has step edges."""

    __slots__ = ()

    def steer(self, content: object) -> Reply[StepTaken]:
        """
        Send *content* to the next step of the open turn, waking an idle resident.

        The Reply resolves with the step that took it, or fails with NotDelivered when the
        turn ended first.
        """
        return self.say("steer", content, self._sender())


class ResumableRun(Run):
    """A run whose log can be gone on from."""

    __slots__ = ()

    def resume(self, prompt: object, **options: Any) -> Reply[Run]:
        """
        Start a new run on this one's whole balanced log, with *prompt* as its next turn.

        Options are those of ``Runtime.start``; agent, label, persona, options and limits are
        this run's by default. Its depth, depth cap, policies and tool filter hold on.
        Fails while the run has a turn open.
        """
        reply: Reply[Run] = self._service.resume(self, prompt, **options)
        return reply


class SteerableResumableRun(SteerableRun, ResumableRun):
    """A run with both."""

    __slots__ = ()


_VERBS: dict[str, tuple[Any, Form]] = {
    "tell": (messages.Prompt, Form.PROMPT),
    "ask": (messages.Prompt, Form.PROMPT),
    "steer": (messages.Steer, Form.STEER),
    "inject": (messages.Inject, Form.INJECT),
}
_PLAIN = {form: Source(Kind.USER, form) for form in (Form.PROMPT, Form.STEER, Form.INJECT)}


def _pass_on(answer: Reply[Any], to: Reply[Any]) -> None:
    if answer.error is not None:
        to.fail(answer.error)
    else:
        to.resolve(answer.outcome())


def _cause() -> Cause:
    return Cause.USER if CURRENT.get() is None else Cause.PARENT


def _source(form: Form, sender: RunRef | None, to: RunRef, blocks: Any) -> Source:
    if sender is None:
        return _PLAIN[form]
    if to.parent is sender:
        return Source(Kind.PARENT, form, sender.run_id)
    return Source(Kind.PEER, Form.RELAY, sender.run_id, clip(text_of(blocks)) or None)


def run_class(*, steers: bool, resumes: bool) -> type[Run]:
    """Return the class of runs with just the methods that their provider has."""
    if steers:
        return SteerableResumableRun if resumes else SteerableRun
    return ResumableRun if resumes else Run
