"""The ref of a run: its mailbox, its place in the tree, and the mark of a cancel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import attrs

from retinue.actors._mailbox import BOUND, PYKKA_MESSAGES, Mailbox
from retinue.protocol import messages
from retinue.protocol.content import BLOCK_TYPES, USER_PROMPT, Message, as_content
from retinue.protocol.errors import AskCycle, BadMessage, Closing, MailboxFull
from retinue.protocol.lifecycle import Phase
from retinue.protocol.result import NO_USAGE

if TYPE_CHECKING:
    from retinue.actors._dispatcher import Dispatcher

_VOCABULARY: Final = frozenset(
    value
    for name in messages.__all__
    if isinstance(value := getattr(messages, name), type) and attrs.has(value)
)
_KNOWN: Final = (_VOCABULARY | PYKKA_MESSAGES) - messages.BOUNDED


class RunRef(Mailbox):
    """
    The ref of a run.

    ``parent``, ``first_child`` and the siblings form the tree: a child is linked and
    unlinked in handlers only, both in O(1). ``mark`` is the reason of a cancel that is on
    its way; whoever works for the run sees it at the next step edge.
    """

    __slots__ = (
        "cap",
        "depth",
        "first_child",
        "has_mail",
        "is_settled",
        "mark",
        "next_sibling",
        "owner_turn",
        "parent",
        "previous_sibling",
        "quota",
        "release_error",
        "request",
        "spent",
        "started_at",
        "stuck",
    )

    def __init__(self, actor: Any, dispatcher: Dispatcher, number: int) -> None:
        super().__init__(actor, dispatcher, number)
        self.parent: RunRef | None = None
        self.first_child: RunRef | None = None
        self.next_sibling: RunRef | None = None
        self.previous_sibling: RunRef | None = None
        self.mark: str | None = None
        # The number of the parent's turn that owns this run; 0 for the parent's run.
        self.owner_turn = 0
        self.depth = 0
        # The deepest that this run or any below it may be, or None.
        self.cap: int | None = None
        self.is_settled = False
        self.has_mail = False
        self.request: Any = None
        self.quota: Any = None
        # What this run and everything below it have spent.
        self.spent = NO_USAGE
        self.started_at = 0.0
        self.stuck: tuple[str, ...] = ()
        self.release_error: str | None = None

    def __repr__(self) -> str:
        return f"<RunRef {self.run_id}>"

    def dead(self, message: Any = None) -> Exception:
        """Return the error for whoever comes too late; a start is refused in its own words."""
        if type(message) is messages.Delegate:
            return Closing(f"{self.run_id}: has ended and starts no more children")
        return super().dead(message)

    def accepts(self, message: Any) -> Any:
        """
        Take vocabulary as it is, and content as a prompt.

        Raises:
            BadMessage: *message* is neither.
            MailboxFull: as many messages wait as the mailbox takes.
        """
        kind: type[Any] = message.__class__
        content: object = message
        if kind in _KNOWN:
            return message
        if kind not in messages.BOUNDED:
            if not isinstance(message, (str, list, tuple, Message)) and kind not in BLOCK_TYPES:
                raise BadMessage(
                    f"{self.run_id}: a run takes content or a message of its vocabulary,"
                    f" not {kind.__name__}"
                )
            message = messages.Prompt(Message(as_content(content), USER_PROMPT), None, True)
        with self.dispatcher.lock:
            if self.load >= BOUND:
                raise MailboxFull(
                    f"{self.run_id}: {BOUND} messages wait already; send again when some are taken"
                )
            self.load += 1
            if kind in messages.FOR_A_STEP:
                # Seen at the next step edge even before the actor has come to the message.
                self.has_mail = True
        return message

    @property
    def is_idle(self) -> bool:
        """Whether the run waits for messages and has none: its end loses no work (H31)."""
        actor = self.actor
        return (
            actor is not None
            and actor.life.phase is Phase.IDLE
            and self.queue is None
            and not actor.has_waiting
            and self.first_child is None
        )

    def unload(self, count: int = 1) -> None:
        """Note that *count* bounded messages wait no more."""
        with self.dispatcher.lock:
            self.load -= count

    def link(self, child: RunRef) -> None:
        """Hang *child* in as the newest child."""
        first = self.first_child
        child.next_sibling = first
        if first is not None:
            first.previous_sibling = child
        self.first_child = child

    def unlink(self, child: RunRef) -> None:
        """Take *child* out."""
        before, after = child.previous_sibling, child.next_sibling
        if before is not None:
            before.next_sibling = after
        elif self.first_child is child:
            self.first_child = after
        if after is not None:
            after.previous_sibling = before
        child.next_sibling = child.previous_sibling = None

    def children(self) -> Iterator[RunRef]:
        """Iterate over the live children, newest first."""
        child = self.first_child
        while child is not None:
            following = child.next_sibling
            yield child
            child = following

    def subtree(self) -> list[RunRef]:
        """Return everything below, parents before children; iterative, any depth."""
        found: list[RunRef] = []
        to_visit = list(self.children())
        while to_visit:
            ref = to_visit.pop()
            found.append(ref)
            to_visit.extend(ref.children())
        return found

    def mark_subtree(self, reason: str) -> list[RunRef]:
        """
        Mark everything below that is not marked yet.

        Returns:
            The newly marked, leaves first, so that their owners end them in that order.
        """
        found: list[RunRef] = []
        to_visit = [ref for ref in self.children() if ref.mark is None]
        while to_visit:
            ref = to_visit.pop()
            ref.mark = reason
            found.append(ref)
            to_visit.extend(child for child in ref.children() if child.mark is None)
        found.reverse()
        return found


def check_no_cycle(sender: RunRef, target: RunRef) -> None:
    """Refuse an ask that could never be answered, before it is sent (H52, H56)."""
    sender.dispatcher.waits.check(sender, target)
    ref: RunRef = sender
    path = [sender.run_id]
    # A child of a turn is over before its parent's next turn, so it can never be answered
    # by the parent, nor by whom the parent in turn belongs to.
    while ref.parent is not None and ref.owner_turn:
        ref = ref.parent
        path.append(ref.run_id)
        if ref is target:
            cycle = [*path, sender.run_id]
            raise AskCycle(
                f"{sender.run_id}: asks {target.run_id}, whose open turn it is part of:"
                f" {' → '.join(cycle)}; report() to it, or return",
                cycle,
            )
