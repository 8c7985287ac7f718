"""
The scripted provider: runs that do what a script says, and nothing else. A shipped double.

It is a real provider, and the same contract holds for it as for every other. Without a
script it answers every prompt with that prompt:

    >>> from retinue.actors import Runtime
    >>> with Runtime() as runtime:
    ...     runtime.start("scripted", "hello").get().result.get().text
    'hello'

A list of items is the script of one run. Turns play it in order, each up to the item that
ends it:

    >>> provider = Scripted([Delta("thin"), Delta("king"), Say("42"), Spend(Usage(requests=1))])
    >>> with Runtime([provider]) as runtime:
    ...     runtime.start("scripted", "6 * 7?").get().result.get().text
    '42'

A run that goes on where its script has ended fails loudly: a double that improvises hides
bugs.

    >>> with Runtime([Scripted([])]) as runtime:
    ...     print(runtime.start("scripted", "more").get().result.get().diagnostic)
    scripted raised AssertionError('the script has ended, and turn 1 wants more of it')

A list of lists has one script per run, in the order in which they are opened, and a
function makes the script of each run from its order, for any number of runs:

    >>> provider = Scripted([[Return("one")], [Return({"n": 2})]])
    >>> with Runtime([provider]) as runtime:
    ...     runs = [runtime.start("scripted", "go").get() for _ in range(2)]
    ...     [run.result.get().unwrap() for run in runs]
    ['one', {'n': 2}]

    >>> def script(order):
    ...     return [Raise(ValueError("odd"))] if order.depth else [Return("root")]
    >>> with Runtime([Scripted(script)]) as runtime:
    ...     runtime.start("scripted", "go").get().result.get().text
    'root'

A hold parks its turn until the test says so:

    >>> hold = Hold()
    >>> with Runtime([Scripted([hold, Say("late")])]) as runtime:
    ...     run = runtime.start("scripted", "wait").get()
    ...     _ = hold.reached.wait(5)  # it *is* parked now; no guessing
    ...     hold.release()
    ...     run.result.get().text
    'late'
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import TypeAlias, assert_never, cast

from retinue.backends._script import (
    AtTheFront,
    CloseFails,
    Crash,
    Delta,
    Echo,
    End,
    FailOpen,
    Hold,
    InATurn,
    Item,
    NeverClose,
    NeverOpen,
    Raise,
    Refuse,
    Return,
    Say,
    Spend,
    StepEdge,
    Use,
)
from retinue.backends._script_player import ScriptedDriver, SteerableScriptedDriver
from retinue.protocol.delegation import ALL_CAPABILITIES, Capabilities
from retinue.protocol.provider import OpenOrder, Workplace
from retinue.protocol.result import Usage

__all__ = [
    "CloseFails",
    "Crash",
    "Delta",
    "Echo",
    "End",
    "FailOpen",
    "Hold",
    "Item",
    "NeverClose",
    "NeverOpen",
    "Raise",
    "Refuse",
    "Return",
    "Say",
    "Script",
    "Scripted",
    "ScriptedDriver",
    "Spend",
    "SteerableScriptedDriver",
    "StepEdge",
    "Usage",
    "Use",
    "scripted",
]

PerRun: TypeAlias = Callable[[OpenOrder], Iterable[Item]]
Script: TypeAlias = Sequence[Item] | Sequence[Sequence[Item]] | PerRun


def echo(_: OpenOrder) -> Iterable[Item]:
    """Script every turn to answer with its prompt."""
    return repeat(Echo())


class Scripted:
    """
    Runs that play a script.

    Args:
        script: one run's items, a list of those, one per run, or a function that makes
            them from a run's order. With ``is_immediate=False`` runs that are started at
            once are opened in any order, so that they need a function.
        name: the name to register it under.
        capabilities: what of a start request it says it honours.
        accepts_seed: whether a run can be opened on a seed; without it none has ``resume``.
        inherits_context: whether children begin with their parent's completed turns.
        is_immediate: whether a run is opened in its actor, and not on a thread.
        steers: whether a run has ``steer``.
    """

    def __init__(
        self,
        script: Script = echo,
        *,
        name: str = "scripted",
        capabilities: Capabilities = ALL_CAPABILITIES,
        accepts_seed: bool = True,
        inherits_context: bool = False,
        is_immediate: bool = True,
        steers: bool = True,
    ) -> None:
        self._script = script if callable(script) else _handed_out(script)
        self.name = name
        self.capabilities = capabilities
        self.accepts_seed = accepts_seed
        self.inherits_context = inherits_context
        self.is_immediate = is_immediate
        self.steers = steers

    def __repr__(self) -> str:
        return f"<provider {self.name}, scripted>"

    def open(self, order: OpenOrder, workplace: Workplace) -> ScriptedDriver:
        """
        Make the driver of one run.

        Raises:
            AssertionError: no script is left for it, or NeverOpen has no thread to hold.
            BaseException: the script says FailOpen.
        """
        items = iter(self._script(order))
        cls = SteerableScriptedDriver if self.steers else ScriptedDriver
        driver = cls(self.name, order, workplace)
        for item in items:
            if not isinstance(item, AtTheFront):
                items = chain((item,), items)
                break
            self._prepare(driver, item, workplace)
        driver.script = cast("Iterator[InATurn]", items)
        return driver

    def _prepare(self, driver: ScriptedDriver, item: AtTheFront, workplace: Workplace) -> None:
        match item:
            case NeverOpen():
                if self.is_immediate:
                    raise AssertionError("NeverOpen needs a provider with is_immediate=False")
                released = workplace.promise()
                item.park(released.resolve)
                released.get()
            case FailOpen(error):
                raise error
            case CloseFails() | NeverClose():
                driver.at_close = item
            case _ as never:
                assert_never(never)


def _handed_out(script: Sequence[Item] | Sequence[Sequence[Item]]) -> PerRun:
    """Hand out each script of a list once, in order; a single one is a list of one."""
    is_one = all(isinstance(item, Item) for item in script)
    scripts = deque(_checked(items) for items in ([script] if is_one else script))
    written = len(scripts)

    def next_script(order: OpenOrder) -> Iterable[Item]:
        if not scripts:
            raise AssertionError(
                f"{order.run_id}: has no script; {written} were written, all are handed out"
            )
        return scripts.popleft()

    return next_script


def _checked(items: object) -> Sequence[Item]:
    if not isinstance(items, Sequence):
        raise TypeError(f"a script is a list of items, not {type(items).__name__}")
    for item in cast("Sequence[object]", items):
        if not isinstance(item, Item):
            raise TypeError(f"{item!r} is no item of a script")
    return cast("Sequence[Item]", items)


def scripted() -> Scripted:
    """Return the provider ``scripted``: it answers every prompt with that prompt."""
    return Scripted()
