"""
The calls of delegation tools: starting children, and looking after those in the background.

A background child has its run id and nothing else; that it ended is told by the runtime's
own notice. All this runs on the runtime's loop, so that nothing here needs a lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from retinue.actors import _tools_words as words
from retinue.protocol import messages
from retinue.protocol.content import clip
from retinue.protocol.errors import LimitReached, NoSuchRun, NotAllowed, RetinueError, ToolFailed

if TYPE_CHECKING:
    from retinue.actors._workplace import ActorWorkplace
    from retinue.actors.handle import Run
    from retinue.protocol.result import RunResult
    from retinue.protocol.tool import Tool

# How long a cancelled run may take before its caller is told that it is still ending.
STOP_SECONDS: Final = 5.0


@attrs.define(eq=False)
class Child:
    """One background child; once it has ended, its result is all that is kept of it (H60)."""

    label: str
    run: Run | None
    result: RunResult | None = None
    problem: str | None = None

    def let_go(self) -> None:
        """Keep no more than the result of a run that has released everything."""
        run = self.run
        if run is not None and not self.is_alive and not (run.ref.stuck or run.ref.release_error):
            self.run, self.result = None, run.result.value

    @property
    def is_alive(self) -> bool:
        """Whether the run has not ended, or not let go yet."""
        return self.run is not None and not self.run.ref.is_sealed


@attrs.define(eq=False)
class Ledger:
    """What one run has started in the background, whichever tool did it."""

    children: dict[str, Child] = attrs.field(factory=dict[str, Child])
    starting: int = 0
    _offered: dict[str, tuple[Hashable, tuple[Tool, ...]]] = attrs.field(
        factory=dict[str, "tuple[Hashable, tuple[Tool, ...]]"]
    )

    def offered(
        self, key: tuple[str, Hashable, Hashable, bool], make: Callable[[], tuple[Tool, ...]]
    ) -> tuple[Tool, ...]:
        """Return the tools made for *key*, a name and a situation; made anew when that changes."""
        known = self._offered.get(key[0])
        if known is None or known[0] != key:
            known = self._offered[key[0]] = (key, make())
        return known[1]

    def alive(self) -> int:
        """Return how many are under way, those included that are being stopped (JOB-1)."""
        for child in self.children.values():
            child.let_go()
        return self.starting + sum(child.is_alive for child in self.children.values())


class Ledgers:
    """The ledgers of one runtime, by run id."""

    def __init__(self) -> None:
        self._by_run: dict[str, Ledger] = {}

    def of(self, run_id: str) -> Ledger:
        """Return a run's ledger."""
        return self._by_run.setdefault(run_id, Ledger())

    def forget(self, run_id: str) -> None:
        """Let go of a run's ledger; done once or more often."""
        self._by_run.pop(run_id, None)


@attrs.frozen
class Order:
    """How one tool starts its children."""

    names: words.Names
    provider: str
    options: Mapping[str, Any]
    background: bool
    most: int


class Calls:
    """What the tools of one instance do in one turn."""

    __slots__ = ("_ledger", "_order", "_turn", "_workplace")

    def __init__(self, order: Order, turn: Any, workplace: ActorWorkplace, ledger: Ledger) -> None:
        self._order = order
        self._turn = turn
        self._workplace = workplace
        self._ledger = ledger

    async def start(
        self, description: str, prompt: str, *, run_in_background: bool = False, **others: object
    ) -> str:
        """Start a child, and return what it left or the id of its run."""
        name = self._order.names.start
        if others:
            raise ToolFailed(f"INVALID_ARGS: {name} takes no {', '.join(others)}")
        label = clip(description) or clip(prompt)
        if not run_in_background:
            return await self._foreground(label, prompt)
        if not self._order.background:
            raise ToolFailed(
                f"{name} runs nothing in the background, and nothing was started: call it"
                " without run_in_background"
            )
        return await self._background(label, prompt)

    async def _foreground(self, label: str, prompt: str) -> str:
        run: Run = await self._begin(label, prompt, background=False)
        try:
            result = await run.result
            problem = await _released(run)
        except asyncio.CancelledError:
            run.cancel(f"the call of {self._order.names.start} was cancelled")  # TOOL-9
            raise
        text = words.outcome(result, label, problem)
        if problem is not None or not result.is_success:
            raise ToolFailed(text)
        return text

    async def _background(self, label: str, prompt: str) -> str:
        ledger, most = self._ledger, self._order.most
        if ledger.alive() >= most:  # before anything can start
            raise LimitReached(
                f"{most} background runs of yours are under way, as many as may be; wait for one"
                f" with {self._order.names.wait}, or stop one with {self._order.names.cancel}"
            )
        ledger.starting += 1
        try:
            run: Run = await self._begin(label, prompt, background=True)
        finally:
            ledger.starting -= 1
        ledger.children[run.id] = Child(label, run)
        return words.started(run.id, label, self._order.names)

    def _begin(self, label: str, prompt: str, *, background: bool) -> Any:
        options = dict(self._order.options)
        options.setdefault("agent", self._turn.agent)
        return self._turn.start(
            self._order.provider, prompt, label=label, background=background, **options
        )

    async def output(self, run_id: str, seconds: float = 0.0) -> str:
        """Return how a child stands; what it left, as often as it is asked (JOB-5)."""
        child = await self._own(run_id)
        await self._wait([child], seconds, "all")
        return await self._account(run_id, child, again=True)

    async def cancel(self, run_id: str, reason: str = "") -> str:
        """Stop a child, and return what it left; one that has ended is left as it is."""
        child = await self._own(run_id)
        if child.run is not None:
            await child.run.cancel(clip(reason) or f"{self._workplace.run_id} has no need of it")
            await self._wait([child], STOP_SECONDS, "all")
        return await self._account(run_id, child)

    async def wait(
        self, run_ids: Sequence[str], mode: str = "all", seconds: float = words.WAIT_SECONDS
    ) -> str:
        """Wait for children; return for each how it stands, in the order of their ids."""
        wanted = dict.fromkeys(run_ids)
        children = {run_id: await self._own(run_id) for run_id in wanted}
        await self._wait(list(children.values()), seconds, "first" if mode == "any" else "all")
        told = [await self._account(run_id, child) for run_id, child in children.items()]
        return "\n\n".join(told)

    async def _wait(self, children: Sequence[Child], seconds: float, when: str) -> None:
        live = [child.run for child in children if child.run is not None]
        if live and not (when == "first" and len(live) < len(children)):
            await self._turn.wait(live, min(seconds, words.LONGEST_WAIT), when)
        for child in children:
            if child.run is not None and child.run.result.is_done:
                child.result = await child.run.result
                child.problem = await _released(child.run)  # RUN-13: ended is let go of
                child.run = None

    async def _account(self, run_id: str, child: Child, *, again: bool = False) -> str:
        if child.result is None:
            return words.still_running(run_id, child.label)
        # Whether it is new is decided where its notice is made, so that a text comes once.
        is_new = await self._workplace.ask(messages.TakeOutput(run_id))
        if is_new or again:
            return words.outcome(child.result, child.label, child.problem)
        return words.told_already(child.result, child.label, self._order.names)

    async def _own(self, run_id: str) -> Child:
        """
        Return a background child of the caller (JOB-2).

        Raises:
            NotAllowed: it is a run of somebody else, or none in the background.
            NoSuchRun: no run is known by that id.
        """
        known = self._ledger.children.get(run_id)
        if known is not None:
            return known
        service, ref = self._workplace.service, self._workplace.ref
        try:
            run: Run = await service.route(run_id, ref)
        except NotAllowed:
            raise NotAllowed(f"{run_id}: {_FOREIGN}") from None
        except NoSuchRun:
            await self._known(run_id)
            raise NotAllowed(f"{run_id}: {_FOREIGN}") from None
        if run.ref.parent is not ref or not run.ref.request.is_background:
            raise NotAllowed(f"{run_id}: {_FOREIGN}")
        # Started by other means, as by a tool of the user's: the caller's own all the same.
        child = self._ledger.children[run_id] = Child(run.label or run.provider, run)
        return child

    async def _known(self, run_id: str) -> None:
        try:
            await self._workplace.service.ask_registry(messages.ResultOf(run_id))
        except NoSuchRun:
            mine = ", ".join(self._ledger.children) or "none"
            raise NoSuchRun(f"no run {run_id!r} is known; your background runs: {mine}") from None


_FOREIGN: Final = "is no background run of yours; only those that you started yourself can be used"


async def _released(run: Run) -> str | None:
    """Wait until a settled run has let go; returns what it did not let go of, or None."""
    try:
        await run.dispose()
    except RetinueError as error:
        return str(error)
    return None
