"""What a run's actor holds, and the step from an input to its effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from loguru import logger

from retinue.actors._actor import LightActor
from retinue.actors._ref import RunRef
from retinue.actors._watchdog import Evicted
from retinue.actors._workplace import ActorWorkplace
from retinue.protocol.errors import RetinueError, printable
from retinue.protocol.inbox import Inbox
from retinue.protocol.lifecycle import Effect, Input, Phase, decide, new_life
from retinue.protocol.log import Cause, Log
from retinue.protocol.messages import (
    BOUNDED,
    AskApproval,
    Crashed,
    Delegate,
    Maintain,
    Reserve,
    SetPolicy,
    StepEdge,
    TurnEnded,
    WrapUp,
)

if TYPE_CHECKING:
    from retinue.actors._clock import Timer
    from retinue.actors._reply import Reply
    from retinue.protocol.delegation import StartRequest
    from retinue.protocol.provider import Driver, OpenOrder, Provider
    from retinue.protocol.result import RunResult


class RunState(LightActor):
    """
    The state of one run; only its own handlers change it.

    Everything that an idle run does not need is made when it is first needed.
    """

    __slots__ = (
        "asker",
        "cause",
        "disposers",
        "driver",
        "driver_state",
        "facts",
        "grace",
        "inbox",
        "inline",
        "last",
        "life",
        "log",
        "maintenance",
        "order",
        "place",
        "policy",
        "provider",
        "refusal",
        "release_error",
        "result",
        "result_value",
        "service",
        "started",
        "step",
        "stuck",
        "tickets",
        "timers",
        "warnings",
        "workplace",
        "wrapping_up",
    )

    ref_class = RunRef

    def __init__(
        self,
        service: Any,
        number: int,
        provider: Provider,
        request: StartRequest,
        result: Reply[Any],
    ) -> None:
        super().__init__(service.dispatcher, number)
        self._ref.request = request
        self.service = service
        self.provider = provider
        self.result = result
        result.target = self._ref
        self.life = new_life(is_resident=request.is_resident)
        self.workplace = ActorWorkplace(self._ref, service)
        self.log: Log | None = None
        self.inbox: Inbox | None = None
        self.driver: Driver | None = None
        # "" before it is opened, then "opening", "open", "closing", "closed" or "lost".
        self.driver_state = ""
        self.inline = False
        self.order: OpenOrder | None = None
        # Its parent's place and which child of it this is: a link, not a list, so that a
        # chain of n runs keeps n of them.
        self.place: Any = ()
        self.policy: dict[str, Any] | None = None
        self.facts: list[Any] = []
        self.tickets: dict[int, Any] | None = None
        self.timers: list[Timer] | None = None
        self.disposers: list[Reply[Any]] | None = None
        self.asker: Reply[Any] | None = None
        self.maintenance: Reply[Any] | None = None
        self.last: TurnEnded | None = None
        self.cause: Cause | None = None
        self.grace: float = service.grace
        self.refusal: BaseException | None = None
        self.release_error: str | None = None
        self.result_value: RunResult | None = None
        self.started = 0
        self.step: int = 0
        self.stuck: tuple[str, ...] = ()
        self.wrapping_up = False
        # What the run is to be told at its next step, and is not in its inbox yet.
        self.warnings: tuple[str, ...] = ()

    @property
    def now(self) -> float:
        """The runtime's clock."""
        return float(self._ref.dispatcher.clock.now())

    @property
    def path(self) -> tuple[int, ...]:
        """The run's place in its tree, as numbers from the root's on."""
        numbers: list[int] = []
        place: Any = self.place
        while place:
            numbers.append(place[1])
            place = place[0]
        return tuple(reversed(numbers))

    @property
    def has_waiting(self) -> bool:
        """Whether messages wait in one of the two lists."""
        return self.inbox is not None and bool(len(self.inbox))

    @property
    def is_over(self) -> bool:
        """Whether the run takes no more work."""
        return self.life.phase in _OVER or self.life.is_stopping

    @property
    def open_turn(self) -> int:
        """The number of the open turn, or 0."""
        return 0 if self.log is None else self.log.open_turn or 0

    def the_log(self) -> Log:
        """Return the log, made at its first use."""
        if self.log is None:
            self.log = Log()
        return self.log

    def the_inbox(self) -> Inbox:
        """Return the lists of what waits, made at their first use."""
        if self.inbox is None:
            self.inbox = Inbox(self.the_log())
        return self.inbox

    def set_timer(self, seconds: float, fact: Any) -> None:
        """Tell oneself *fact* in *seconds*, unless the run has ended by then."""
        if self.timers is None:
            self.timers = []
        ref = self._ref
        dispatcher = ref.dispatcher
        self.timers.append(dispatcher.after(seconds, lambda: dispatcher.put(ref, fact, None)))

    def feed(self, what: Input) -> None:
        """Take one step of the run's life and do what it asks for."""
        self.life, effects = decide(self.life, what)
        for effect in effects:
            self.PERFORM[effect](self)

    # Filled by the classes below: how each effect is done, and who handles which message.
    PERFORM: ClassVar[dict[Effect, Callable[[Any], None]]] = {}
    HANDLERS: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def on_receive(self, message: Any) -> Any:
        """Handle one message of the vocabulary, and the facts that come up on the way."""
        kind: type[Any] = message.__class__
        handler = self.HANDLERS.get(kind)
        if handler is None:
            logger.bind(run_id=self._ref.run_id).warning("no handler for {!r}", type(message))
            return None
        is_told = not self._ref.dispatcher.has_asker
        if self.facts:
            self.handle_facts()  # of a step that was left behind, before it blocked
        try:
            answer = handler(self, message)
            if self.facts:
                self.handle_facts()
        except RetinueError as error:
            if is_told and type(message) not in _REFUSABLE:
                self.crash_for_good(error)  # dropped, it would leave the turn open for ever
                return None
            # An asker hears of a refusal; a teller is told by an Undelivered.
            if type(message) in BOUNDED:
                self._ref.unload()
            if self.facts:
                self.handle_facts()
            if not is_told:
                raise
            self.undelivered(message, str(error))
            return None
        except Evicted:
            raise
        except BaseException as error:
            self.crash_for_good(error)
            if not is_told:
                raise RuntimeError(f"{self._ref.run_id}: crashed: {printable(error)}") from error
            return None
        return answer

    def at_driver(self, call: Callable[[], None]) -> None:
        """Call the driver; what it raises crashes the run, and is no refusal of a message."""
        try:
            call()
        except Evicted:
            raise
        except BaseException as error:  # noqa: BLE001 - the provider's door
            self.facts.append(Crashed(error))

    def handle_facts(self) -> None:
        """Handle the facts that were reported inside a handler, in order."""
        while self.facts:
            facts, self.facts = self.facts, []
            for fact in facts:
                try:
                    self.HANDLERS[type(fact)](self, fact)
                except Evicted:
                    raise
                except BaseException as error:  # noqa: BLE001 - the other facts hold all the same
                    self.crash_for_good(error)

    def crash_for_good(self, error: BaseException) -> None:
        """Crash, and if even that fails give the run up."""
        try:
            self.crash(error)
        except Evicted:
            raise
        except BaseException as second:  # noqa: BLE001 - a run has an end, whatever is broken
            self.give_up(error, second)

    def give_up(self, error: BaseException, second: BaseException) -> None:
        """End the run although its crash failed as well."""
        raise NotImplementedError

    def crash(self, error: BaseException) -> None:
        """End the run ``error``, once, whatever is broken."""
        raise NotImplementedError

    def undelivered(self, message: Any, reason: str) -> None:
        """Hand a message back that nobody will take."""
        raise NotImplementedError


# What may be refused and the run goes on as before; anything else is part of its own work.
_REFUSABLE = BOUNDED | {AskApproval, Delegate, Maintain, Reserve, SetPolicy, StepEdge, WrapUp}
_OVER = frozenset((Phase.RELEASING, Phase.ENDED))
