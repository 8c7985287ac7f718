"""What pydantic-ai raises, as what the turn loop can act on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from pydantic_ai import exceptions as theirs

from retinue.protocol.errors import ContextOverflow, ModelFailed, ModelRefused, Transient

_PASSING: Final = (
    theirs.ModelRateLimitError,
    theirs.ModelUnavailableError,
    theirs.ModelServerError,
    theirs.ModelConnectionError,
    theirs.ModelRequestTimeout,
)
# Timeout, conflict and "too early": what these say of a request is not about the request.
_PASSING_CODES: Final = frozenset((408, 409, 425))
_REFUSALS: Final = ("content_filter", "content_policy_violation", "responsible_ai")
# How servers word it that give no code of their own for it.
_TOO_LONG: Final = (
    "prompt is too long",
    "maximum context length",
    "context window",
    "too many tokens",
)


@contextmanager
def translated(name: str) -> Generator[None]:
    """
    Translate whatever the model behind *name* raises.

    Raises:
        Transient: it may pass; with the seconds that the server asks to wait.
        ContextOverflow: the conversation is too long.
        ModelRefused: a filter stopped the request.
        ModelFailed: anything else.
    """
    try:
        yield
    except ModelFailed:
        raise
    except Exception as error:  # the vendors' own errors come through here and there
        raise failure_of(error, name) from error


def failure_of(error: Exception, name: str) -> ModelFailed:
    """Translate one error."""
    kind = type(error).__name__
    if not isinstance(error, (theirs.AgentRunError, theirs.UserError)):
        return ModelFailed(f"{name}: {kind}: {error}")
    said = f"{name}: {str(error) or kind}"
    if isinstance(error, theirs.ContentFilterError):
        return ModelRefused(said)
    if not isinstance(error, theirs.ModelAPIError):
        return ModelFailed(said)
    code = error.status_code if isinstance(error, theirs.ModelHTTPError) else None
    if isinstance(error, theirs.ModelQuotaExceededError):
        return ModelFailed(said)
    if isinstance(error, _PASSING) or code in _PASSING_CODES:
        return Transient(said, error.retry_after)
    if isinstance(error, theirs.ModelContextWindowExceededError) or _is_too_long(error):
        return ContextOverflow(said)
    if _is_refusal(error):
        return ModelRefused(said)
    return ModelFailed(said)


def _is_refusal(error: theirs.ModelAPIError) -> bool:
    codes = f"{error.provider_error_code} {error.provider_error_type}".lower()
    return any(word in codes for word in _REFUSALS)


def _is_too_long(error: theirs.ModelAPIError) -> bool:
    if not isinstance(error, theirs.ModelRequestRejectedError):
        return False
    said = str(error).lower()
    return any(words in said for words in _TOO_LONG)
