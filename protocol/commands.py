"""What is said to a run: commands, imperative. See ``messages`` for the whole vocabulary."""

from __future__ import annotations

from typing import Any

import attrs

from retinue.protocol import log
from retinue.protocol.content import Message
from retinue.protocol.delegation import StartRequest
from retinue.protocol.log import Cause


@attrs.frozen
class Seed:
    """Continue from *prefix*, the balanced completed turns of another run's log."""

    prefix: log.Seed


@attrs.frozen
class Begin:
    """Open the driver and, when published, start on what waits."""


@attrs.frozen
class Published:
    """The registry has entered the run and told everybody; turns may begin."""


@attrs.frozen
class Prompt:
    """
    Take *message* as one next turn, waking.

    With ``is_ask`` the answer comes when that turn ends, else when it is accepted.
    """

    message: Message
    sender: Any = None
    is_ask: bool = False


@attrs.frozen
class Steer:
    """Take *message* at the next step, waking. The answer says which step took it."""

    message: Message
    sender: Any = None


@attrs.frozen
class Inject:
    """Take *message* at the next step, without waking."""

    message: Message
    sender: Any = None


@attrs.frozen
class WrapUp:
    """Finish now with what there is; a return after it is completed."""


@attrs.frozen
class Interrupt:
    """Stop the current turn and keep the queue."""

    cause: Cause = Cause.USER


@attrs.frozen
class Cancel:
    """Stop the run and everything below it, whatever is still queued."""

    reason: str
    cause: Cause = Cause.USER
    grace: float | None = None
    is_marked: bool = False


@attrs.frozen
class Dispose:
    """Cancel what remains and answer at quiescence, or name what would not stop."""

    grace: float | None = None


@attrs.frozen
class Delegate:
    """Start a child of this run."""

    request: StartRequest
    ticket: Any
    turn: int = 0
    prefix: log.Seed | None = None


@attrs.frozen
class TakeOutput:
    """
    Take what an ended background child left into the conversation, once (H34).

    The answer is whether the run has not been given it before; its notice is then a line.
    """

    run_id: str


@attrs.frozen
class SetPolicy:
    """Set one policy of this run explicitly; later children inherit it (POL-1)."""

    name: str
    value: Any


@attrs.frozen
class Maintain:
    """Run *function*, which may block, while the run is idle; wakes wait for it (INB-18)."""

    function: Any


@attrs.frozen
class Describe:
    """Ask what the run is doing, for trees and lists."""


@attrs.frozen
class ReadLog:
    """Ask for the run's log."""
