"""A provider whose drivers do what the test says, and when: every interleaving by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from retinue.actors import DeterministicDispatcher, Reply, Run, Runtime
from retinue.protocol import messages
from retinue.protocol.content import Message, Text
from retinue.protocol.delegation import ALL_CAPABILITIES
from retinue.protocol.events import LifecycleMonitor, RunEnded, RunStarted, Undelivered
from retinue.protocol.log import Cause, Ending
from retinue.protocol.provider import OpenOrder, TurnOrder


class HandDriver:
    """Keeps what it was told to do; the test reports what became of it."""

    def __init__(self, workplace: Any, *, closes: bool) -> None:
        self.workplace = workplace
        self.turns: list[TurnOrder] = []
        self.stops: list[Cause] = []
        self.closes = 0
        self._closes_at_once = closes

    def begin(self, order: TurnOrder) -> None:
        """Keep the order."""
        self.turns.append(order)

    def stop(self, cause: Cause) -> None:
        """Keep the cause."""
        self.stops.append(cause)

    def steer(self) -> None:
        """There are step edges, when the test says so."""

    def close(self) -> None:
        """Count, and be closed unless the test wants to say when."""
        self.closes += 1
        if self._closes_at_once:
            self.closed()

    # What the test does.

    @property
    def texts(self) -> list[str]:
        """What each turn was to answer."""
        return [" ".join(message.text for message in turn.messages) for turn in self.turns]

    def end(self, ending: Ending = Ending.COMPLETED, text: str = "done", **more: Any) -> None:
        """Report that the open turn has ended."""
        turn = self.turns[-1].turn
        self.workplace.report(messages.TurnEnded(turn, ending, (Text(text),), **more))

    def say(self, text: str) -> None:
        """Report words of the open turn."""
        self.workplace.report(messages.Said(self.turns[-1].turn, (Text(text),)))

    def step(self) -> Reply[Any]:
        """Stand at a step edge."""
        answer: Reply[Any] = self.workplace.ask(messages.StepEdge(self.turns[-1].turn))
        return answer

    def crash(self) -> None:
        """Report that the driver broke."""
        self.workplace.report(messages.Crashed(OSError("broken pipe")))

    def closed(self) -> None:
        """Report that nothing is left."""
        self.workplace.report(messages.Closed())


class ByHand:
    """
    Opens hand drivers.

    Args:
        name: what it is called.
        at_once: whether a run is open at once, or when the test resolves its one of ``doors``,
            which are kept by the run's prompt.
        closes: whether its drivers close at once.
    """

    capabilities = ALL_CAPABILITIES
    inherits_context = False
    accepts_seed = True
    steers = True

    def __init__(self, name: str = "hand", *, at_once: bool = True, closes: bool = True) -> None:
        self.name = name
        self.is_immediate = at_once
        self.drivers: list[HandDriver] = []
        self.doors: dict[str, Reply[None]] = {}
        self._closes = closes

    def open(self, order: OpenOrder, workplace: Any) -> HandDriver:
        """Open a driver, now or when the door is opened."""
        if not self.is_immediate:
            prompt = order.request.prompt
            door = Reply[None](workplace.ref.dispatcher.pump)
            self.doors["" if prompt is None else prompt.text] = door
            door.wait_for(None)  # unlike get(), it does not look whether the run is still wanted
        self.drivers.append(HandDriver(workplace, closes=self._closes))
        return self.drivers[-1]


class Stage:
    """A deterministic runtime with a provider by hand, and the events of its life."""

    def __init__(self, seed: object = 0, **options: Any) -> None:
        self.dispatcher = DeterministicDispatcher(seed, record=True)
        self.runtime = Runtime(dispatcher=self.dispatcher, **options)
        self.monitor = LifecycleMonitor()
        self.events: list[Any] = []
        self.runtime.subscribe(self.monitor)
        self.runtime.subscribe(self.events.append)
        self.hand = ByHand()
        self.runtime.register(self.hand).get()
        self.events.clear()

    def settle(self) -> None:
        """Let everything move that can."""
        self.dispatcher.run_until_idle()

    def start(self, prompt: str = "work", **options: Any) -> tuple[Run, HandDriver]:
        """Start a run by hand, whose first turn is open then."""
        run = self.runtime.start(self.hand.name, prompt, **options).get()
        self.settle()
        return run, self.hand.drivers[-1]

    def resident(self, *prompts: str) -> tuple[Run, HandDriver]:
        """Open a resident by hand and prompt it."""
        run = self.runtime.open(None, provider=self.hand.name).get()
        for prompt in prompts:
            run.tell(prompt)
        self.settle()
        return run, self.hand.drivers[-1]

    def ended(self, run: Run) -> RunEnded:
        """Return how a run has ended."""
        found = [e for e in self.events if isinstance(e, RunEnded) and e.run_id == run.id]
        assert 1 == len(found), found
        return found[0]

    @property
    def life(self) -> list[str]:
        """The starts and ends that were told, in order."""
        kinds = (RunStarted, RunEnded)
        return [type(event).__name__ for event in self.events if isinstance(event, kinds)]

    def quietly(self, name: str, *, at_once: bool = False) -> ByHand:
        """Register one more provider; by default it opens when the test opens its door."""
        provider = ByHand(name, at_once=at_once)
        self.runtime.register(provider).get()
        self.events.clear()
        return provider

    @property
    def undelivered(self) -> list[str]:
        """The texts that were handed back."""
        return [cast("Message", e.message).text for e in self.events if isinstance(e, Undelivered)]


@contextmanager
def stage(seed: object = 0, **options: Any) -> Iterator[Stage]:
    """Open a stage, close it, and insist that every start had its end."""
    made = Stage(seed, **options)
    with made.runtime:
        yield made
        registry: Any = made.runtime.registry
        actor = registry.actor
    assert [] == made.monitor.violations
    assert {} == made.monitor.open
    assert 0 == actor.quota.live
