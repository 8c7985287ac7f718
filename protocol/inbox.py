"""
The two lists of messages that wait inside a run: next step and next turn (INB-1).

Rule 1: every change is one log event, written before memory changes (INB-3).
Rule 2: a claim at a turn's start takes all next-step input and then one next-turn
message; between steps it takes next-step input alone (INB-5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retinue.protocol.content import Message
from retinue.protocol.log import Log, Spliced, Target


class Waiting:
    """
    One message that waits.

    Args:
        reply: who is to be told what became of it, or None.
        sender: where it goes back to when nobody takes it, or None.
        wakes: whether an idle run starts a turn for it.
        counts: whether it counts against the bound of the mailbox.
        lapses: whether it is meant for the turn that is open now and for no later one.
    """

    __slots__ = ("counts", "lapses", "message", "reply", "sender", "wakes")

    def __init__(
        self,
        message: Message,
        reply: Any,
        sender: Any,
        *,
        wakes: bool = True,
        lapses: bool = False,
        counts: bool = True,
    ) -> None:
        self.message = message
        self.reply = reply
        self.sender = sender
        self.wakes = wakes
        self.counts = counts
        self.lapses = lapses


class Inbox:
    """The next-step and next-turn lists of one run, bound to its log."""

    __slots__ = ("_log", "next_step", "next_turn")

    def __init__(self, log: Log) -> None:
        self._log = log
        # An empty list is the empty tuple: most runs wait with both empty.
        self.next_step: list[Waiting] | tuple[()] = ()
        self.next_turn: list[Waiting] | tuple[()] = ()

    def __len__(self) -> int:
        return len(self.next_step) + len(self.next_turn)

    @property
    def has_work(self) -> bool:
        """Whether an idle run has to start a turn."""
        return bool(self.next_turn) or self.has_waking_step

    @property
    def has_waking_step(self) -> bool:
        """Whether something waits for a step that a turn which would end goes on for."""
        return any(item.wakes for item in self.next_step)

    def add(self, target: Target, item: Waiting, time: float) -> None:
        """Append *item* to one list."""
        is_step = target is Target.NEXT_STEP
        waiting = self.next_step if is_step else self.next_turn
        self._log.append(Spliced(target, len(waiting), 0, (item.message,), False, time))
        if waiting:
            waiting.append(item)
        elif is_step:
            self.next_step = [item]
        else:
            self.next_turn = [item]

    def replace(self, at: int, item: Waiting, time: float) -> None:
        """Put *item* in the place of what waits for the next step there (INB-6)."""
        assert self.next_step
        self._log.append(Spliced(Target.NEXT_STEP, at, 1, (item.message,), True, time))
        self.next_step[at] = item

    def claim_step(self, time: float) -> Sequence[Waiting]:
        """Take all next-step input."""
        taken = self.next_step
        if taken:
            self._log.append(Spliced(Target.NEXT_STEP, 0, len(taken), (), False, time))
            self.next_step = ()
        return taken

    def claim_turn(self, time: float) -> Sequence[Waiting]:
        """Take all next-step input, then one next-turn message."""
        taken = self.claim_step(time)
        waiting = self.next_turn
        if waiting:
            self._log.append(Spliced(Target.NEXT_TURN, 0, 1, (), False, time))
            taken = (*taken, waiting.pop(0))
            if not waiting:
                self.next_turn = ()
        return taken

    def lapse(self, time: float) -> Sequence[Waiting]:
        """Drop the next-step input that was meant for the turn that ends now."""
        if not self.next_step:
            return ()
        lapsed = [item for item in self.next_step if item.lapses]
        for item in lapsed:
            at = self.next_step.index(item)
            self._log.append(Spliced(Target.NEXT_STEP, at, 1, (), True, time))
            del self.next_step[at]
        return lapsed

    def clear(self, time: float) -> list[Waiting]:
        """Drop everything, next-step first, each list as one logged cancellation (INB-10)."""
        dropped: list[Waiting] = []
        for target, waiting in (
            (Target.NEXT_STEP, self.next_step),
            (Target.NEXT_TURN, self.next_turn),
        ):
            if waiting:
                self._log.append(Spliced(target, 0, len(waiting), (), True, time))
                dropped.extend(waiting)
        self.next_step = ()
        self.next_turn = ()
        return dropped
