"""
How a run ended, and what it left.

Rule: the stop reason is an open type. Whatever is not ``completed`` is a failure,
a reason that nobody knows yet included (RES-1).
"""

from __future__ import annotations

from typing import Any, Final, NewType, TypeAlias

import attrs

from retinue.protocol.content import Content, text_of
from retinue.protocol.errors import RunFailed, printable

StopReason = NewType("StopReason", str)

COMPLETED: Final = StopReason("completed")
ABORTED: Final = StopReason("aborted")
ERROR: Final = StopReason("error")
MAX_TOKENS: Final = StopReason("max-tokens")
REFUSAL: Final = StopReason("refusal")
MAX_TURNS: Final = StopReason("max-turns")
TIMEOUT: Final = StopReason("timeout")
BUDGET: Final = StopReason("budget")
SCHEMA: Final = StopReason("schema")
HOST_GONE: Final = StopReason("host-gone")

_ADVICE: Final = "; wait for what a turn starts, or start(..., background=True)"

KNOWN_REASONS: Final = frozenset(
    (
        COMPLETED,
        ABORTED,
        ERROR,
        MAX_TOKENS,
        REFUSAL,
        MAX_TURNS,
        TIMEOUT,
        BUDGET,
        SCHEMA,
        HOST_GONE,
    )
)

# RES-14: the reference's bound, in UTF-8 bytes, the marker included.
DIAGNOSTIC_LIMIT: Final = 4096
TRUNCATED: Final = "\n[diagnostic truncated]"


def bounded_diagnostic(text: str) -> str:
    """
    Cut a diagnostic to 4096 UTF-8 bytes, marker included, between two characters.

    Characters that UTF-8 cannot hold (lone surrogates, as in file names) are escaped.
    """
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= DIAGNOSTIC_LIMIT:
        return raw.decode()
    room = DIAGNOSTIC_LIMIT - len(TRUNCATED.encode())
    return raw[:room].decode("utf-8", "ignore") + TRUNCATED


@attrs.frozen
class Usage:
    """What was spent; adds up."""

    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.requests + other.requests,
            self.cost + other.cost,
        )


NO_USAGE: Final = Usage()


@attrs.frozen
class TurnResult:
    """What one turn of a resident gave."""

    output: Content = ()
    structured: Any = None
    diagnostic: str | None = None
    stop_reason: StopReason = COMPLETED
    usage: Usage = NO_USAGE
    run_id: str = ""
    turn: int = 0
    abandoned: tuple[str, ...] = ()
    error: BaseException | None = attrs.field(default=None, eq=False, repr=printable)

    @property
    def text(self) -> str:
        """The text of the output."""
        return text_of(self.output)

    @property
    def is_success(self) -> bool:
        """Whether the work was done: the reason is ``completed``, and nothing else."""
        return self.stop_reason == COMPLETED

    def unwrap(self) -> Any:
        """
        Return the structured value where there is one, else the text.

        Raises:
            RunFailed: the turn did not complete.
        """
        if not self.is_success:
            raise failure(self.run_id, self.stop_reason, self.diagnostic, self.text) from self.error
        return self.text if self.structured is None else self.structured


@attrs.frozen
class RunResult:
    """
    What a run gave, once.

    ``abandoned`` names the children that the run's end cancelled: a run that left work
    behind does not unwrap, whatever its own turn said (H31). ``usage`` is the run's own;
    ``total_usage`` is that and all below it had spent by then, failed and cancelled runs
    included. What those spend that its end cancels is in the total of its RunEnded.
    """

    run_id: str
    stop_reason: StopReason
    output: Content = ()
    structured: Any = None
    diagnostic: str | None = None
    usage: Usage = NO_USAGE
    seed_turns: int = 0
    abandoned: tuple[str, ...] = ()
    error: BaseException | None = attrs.field(default=None, eq=False, repr=printable)
    total_usage: Usage = NO_USAGE

    @property
    def text(self) -> str:
        """The text of the output; partial when the run did not complete."""
        return text_of(self.output)

    @property
    def is_success(self) -> bool:
        """Whether the run completed and left nothing behind."""
        return self.stop_reason == COMPLETED and not self.abandoned

    def unwrap(self) -> Any:
        """
        Return the structured value where there is one, else the text.

        Raises:
            RunFailed: the run did not complete, or its end cancelled children.
        """
        if self.is_success:
            return self.text if self.structured is None else self.structured
        diagnostic = self.diagnostic
        if self.stop_reason == COMPLETED:
            diagnostic = "its end cancelled " + ", ".join(self.abandoned) + _ADVICE
        raise failure(self.run_id, self.stop_reason, diagnostic, self.text) from self.error


@attrs.frozen
class NotStarted:
    """What a wait says of a start that was refused; it reads like a result."""

    error: Exception = attrs.field(eq=False)
    run_id: str = ""
    stop_reason: StopReason = ERROR
    text: str = ""
    is_success: bool = False

    def unwrap(self) -> Any:
        """Raise what the start was refused with."""
        raise self.error


@attrs.frozen
class Unfinished:
    """What a wait says of a run that had not settled when the wait was over."""

    run_id: str
    waited: float | None = None
    stop_reason: StopReason = TIMEOUT
    text: str = ""
    is_success: bool = False

    def unwrap(self) -> Any:
        """
        Raise, since there is no result.

        Raises:
            RunFailed: always, with the reason ``timeout``.
        """
        raise failure(self.run_id, TIMEOUT, "it had not settled when the wait was over", "")


# What a wait gives for each run: all have run_id, stop_reason, text, is_success and unwrap.
Outcome: TypeAlias = RunResult | NotStarted | Unfinished


def failure(run_id: str, reason: StopReason, diagnostic: str | None, text: str) -> RunFailed:
    """Say how a run failed: reason first, then the diagnostic, then partial text (TOOL-6)."""
    parts = [f"{run_id}: ended {reason}"]
    if diagnostic:
        parts.append(diagnostic)
    if text:
        parts.append(f"partial output: {text}")
    return RunFailed("\n".join(parts), run_id, reason)
