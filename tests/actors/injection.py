"""
Fault injection: faults right before the n-th thing moves, and what must hold afterwards.

A Trial is one program under one deterministic runtime. Its providers keep every actor that
they open, so that it can look at what became of each, the unpublished included.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, Final, cast

import pykka

from retinue.actors import Cancellation, DeterministicDispatcher, Limits, Reply, Run, Runtime
from retinue.protocol.errors import Closing, RetinueError
from retinue.protocol.events import LifecycleMonitor, RunEnded, RunStarted
from retinue.protocol.invariants import violations
from retinue.protocol.lifecycle import Phase
from tests.actors.providers import Keeping, providers

# Virtual seconds in which every program of ours has done what it will ever do.
LONG: Final = 3600.0

# Virtual seconds in which a tree that was told to end is gone: a coroutine has one to clean
# up, and a tardy driver takes a while to stop and another to close.
SOON: Final = 2.5

# More things than any program of ours moves: a trial that goes on after them never ends.
MANY: Final = 2000

Program = Callable[["Trial"], None]
Fault = Callable[["Trial"], None]


class Trial:
    """One program, its runtime, and everything that was started in it."""

    def __init__(self, seed: object = 0, limits: Limits | None = None) -> None:
        self.threads = threading.active_count()
        self.token = Cancellation()
        self.monitor = LifecycleMonitor()
        self.oddities: list[str] = []
        self.started: list[str] = []
        self.ended: dict[str, Any] = {}
        self.starts: list[Reply[Run]] = []
        self.runs: list[Run] = []
        self.answers: list[Reply[Any]] = []
        self.injected = 0
        self.doomed_at: float | None = None
        self.last_end = 0.0
        self.dispatcher = DeterministicDispatcher(seed, record=True)
        self.runtime = Runtime(dispatcher=self.dispatcher, limits=limits)
        self.registry = cast("Any", self.runtime.registry)
        self.registry_actor: Any = self.registry.actor
        self.runtime.subscribe(self._observe)
        self.providers: list[Keeping] = providers()
        for provider in self.providers:
            self.runtime.register(provider).get()

    def _observe(self, event: object) -> None:
        self.monitor(event)
        going = self.monitor.open
        if isinstance(event, RunStarted):
            self.started.append(event.run_id)
            if event.parent_id is not None and event.parent_id not in going:
                self.oddities.append(f"{event.run_id} started under a parent that is gone")
        elif isinstance(event, RunEnded):
            self.ended[event.run_id] = event.result
            self.last_end = self.now
            for child in going.values():
                if child.parent_id == event.run_id:
                    self.oddities.append(f"{event.run_id} ended before its child {child.run_id}")

    # What programs and faults use.

    def start(self, provider: str, prompt: str, **options: Any) -> Reply[Run]:
        """Start a run and keep its Reply; inside a turn it is that turn's child."""
        return self._keep(self.runtime.start(provider, prompt, **options))

    def open(self, behaviour: object, **options: Any) -> Reply[Run]:
        """Open a resident and keep its Reply."""
        return self._keep(self.runtime.open(behaviour, **options))

    def _keep(self, reply: Reply[Run]) -> Reply[Run]:
        self.starts.append(reply)
        reply.on_done(self._answered)
        return reply

    def _answered(self, reply: Reply[Run]) -> None:
        self.last_end = self.now
        if reply.error is None:
            self.runs.append(reply.outcome())

    @property
    def actors(self) -> list[Any]:
        """Every actor that a provider was asked to open, in order."""
        found = [actor for provider in self.providers for actor in provider.opened]
        return sorted(found, key=lambda actor: int(actor.ref.number))

    def ask(self, ref: Any, message: object) -> None:
        """Ask a ref without waiting; the answer has to come in the end."""
        self.answers.append(ref.ask(message, block=False))

    def tell(self, ref: Any, message: object) -> None:
        """Tell a ref, which may be dead."""
        with suppress(pykka.ActorDeadError):
            ref.tell(message)

    @property
    def now(self) -> float:
        """The virtual time."""
        return self.dispatcher.clock.now()

    def doom(self) -> None:
        """Note that from now on everything has to end soon, of whatever it was in the middle."""
        if self.doomed_at is None:
            self.doomed_at = self.now

    # One trial.

    def run(self, program: Program, faults: Mapping[int, Fault]) -> None:
        """Run *program* to its end and then close, with *faults* by the number of the move."""
        program(self)
        begun = self.dispatcher.steps
        for number, fault in faults.items():
            self.dispatcher.inject(begun + number, partial(self._inject, fault))
        self.dispatcher.inject(begun + MANY, self._give_up)
        try:
            self.dispatcher.advance(LONG)
            self.check_settled()
        finally:
            with suppress(Closing):  # a fault has closed it
                self.runtime.close()
        self.check_closed()

    def _inject(self, fault: Fault) -> None:
        self.injected += 1
        fault(self)

    @staticmethod
    def _give_up() -> None:
        raise AssertionError(f"{MANY} things have moved, and there is no end")

    # What must hold.

    def check_settled(self) -> None:
        """Check that everything but residents has ended by itself."""
        pending = [reply for reply in (*self.starts, *self.answers) if not reply.is_done]
        assert not pending, f"{len(pending)} of {len(self.starts)} starts were never answered"
        if self.doomed_at is not None:
            assert self.last_end <= self.doomed_at + SOON, f"went on until {self.last_end}"
        registry = self.registry_actor
        assert not registry.opening, f"still opening: {registry.opening}"
        assert not registry.waiting, f"still waiting for room: {registry.waiting}"
        ones = [ref.run_id for ref in registry.live.values() if not ref.request.is_resident]
        assert not ones, f"never ended: {ones}"
        notes = self.dispatcher.waits.lines()
        residents = {ref.run_id for ref in registry.live.values()}
        stale = [note for note in notes if note.partition(" ")[0] not in residents]
        assert not stale, f"still noted as waiting: {stale}"

    def check_closed(self) -> None:
        """Check that nothing is left of anything, and that each end was told once."""
        registry = self.registry_actor
        assert not self.monitor.violations, self.monitor.violations
        assert not self.oddities, self.oddities
        assert set(self.started) == set(self.ended), "a start without its end, or the reverse"
        assert len(self.started) == len(set(self.started))
        left = (registry.opening, registry.waiting, registry.live, registry.names)
        assert not any(left), f"the registry still holds {left}"
        assert not self.dispatcher.waits.lines()
        for reply in (*self.starts, *self.answers):
            assert reply.is_done
            assert isinstance(reply.error, (RetinueError, pykka.ActorDeadError, type(None)))
        for run in self.runs:
            assert run.id in self.started, f"{run.id} was handed out and never started"
            assert run.result.outcome() is self.ended[run.id]
        for actor in self.actors:
            check_gone(actor)
        closes = [driver.closes for provider in self.providers for driver in provider.drivers]
        assert set(closes) <= {1}, f"drivers were closed so often: {closes}"
        assert registry.quota.live == 0, f"{registry.quota.live} places were never given back"
        assert registry.quota.total == len(self.started)
        assert "[0 listening]" in repr(self.token), repr(self.token)
        assert threading.active_count() == self.threads, threading.enumerate()


def check_gone(actor: Any) -> None:
    """Check that the actor of a run has ended, holds nothing, and left a sound log."""
    ref = actor.ref
    assert actor.life.phase is Phase.ENDED, f"{ref.run_id} stands in {actor.life.phase}"
    assert ref.is_sealed
    assert ref.first_child is None, f"{ref.run_id} still has children"
    assert not actor.tickets, f"{ref.run_id} still has tickets"
    assert not actor.facts, f"{ref.run_id} has facts that nobody handled: {actor.facts}"
    assert ref.stuck == ()
    assert ref.release_error is None
    if actor.log is not None:
        assert violations(actor.log.events()) == ()
        assert actor.log.open_turn is None, f"{ref.run_id} ended inside a turn"
    quota = ref.quota
    while quota is not None:
        assert quota.live == 0, f"{ref.run_id}: its tree still counts {quota.live} as alive"
        quota = quota.outer


def try_faults(
    program: Program,
    faults: Mapping[int, Fault],
    seed: object = 0,
    limits: Limits | None = None,
) -> Trial:
    """
    Run one trial and check it.

    Raises:
        AssertionError: something does not hold; notes say how to get the same trial again.
    """
    trial = Trial(seed, limits)
    try:
        trial.run(program, faults)
    except BaseException as error:
        names = {number: fault.__name__ for number, fault in faults.items()}
        error.add_note(f"program {program.__name__}, faults {names}, seed {seed!r}")
        error.add_note("moved: " + ", ".join(trial.dispatcher.trace))
        raise
    return trial


def try_everywhere(
    program: Program, fault: Fault, seed: object = 0, limits: Limits | None = None
) -> int:
    """Inject *fault* before the first thing, the second, and so on; returns how many there were."""
    for number in count(1):
        if not try_faults(program, {number: fault}, seed, limits).injected:
            return number - 1
    raise AssertionError("a count without an end has ended")
