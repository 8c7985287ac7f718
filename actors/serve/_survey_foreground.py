"""A survey in the foreground, and the best that can be made of what came of it."""

from __future__ import annotations

import attrs

from retinue.actors import Cancellation, NotStarted, Reply, Run, RunResult, Runtime
from retinue.actors.serve._foreground import FAILED, Came, Foreground, View
from retinue.actors.serve._survey_progress import Progress
from retinue.actors.serve._survey_tally import Tally, from_json
from retinue.actors.serve.survey import Plan, start_survey
from retinue.protocol.errors import StartCancelled


@attrs.frozen
class Order:
    """What is to be surveyed, and how long."""

    path: str
    plan: Plan = attrs.field(factory=Plan)
    max_live: int | None = None
    cancel_after: float | None = None


@attrs.frozen
class Ending:
    """What came of a survey: the tally, the exit code, and what there is to say about it."""

    tally: Tally
    code: int = 0
    notes: tuple[str, ...] = ()


def survey_in_foreground(order: Order, view: View[Progress]) -> Ending:
    """
    Survey a directory and show the progress; call this on the main thread.

    Raises:
        RetinueError: the survey could not be started.
    """

    def begin(runtime: Runtime, cancellation: Cancellation) -> Reply[Run]:
        return start_survey(
            runtime, order.path, order.plan, max_live=order.max_live, cancel=cancellation
        )

    progress = Progress()
    came = Foreground(begin, progress, view, order.cancel_after).run()
    return _ending(came, progress.total, order.plan.provider)


def _ending(came: Came, pieces: Tally, provider: str) -> Ending:
    """Make the best of what came: the root's own tally, or else the sum of the pieces."""
    outcome: RunResult | NotStarted = came.outcome
    code, notes = came.code, list(came.notes)
    if isinstance(outcome, NotStarted):
        if not (code and isinstance(outcome.error, StartCancelled)):
            raise outcome.error
    else:
        try:
            tally = from_json(outcome.structured)
        except ValueError:
            if not code:
                why = outcome.diagnostic or "what it returned is no tally"
                notes.append(f"provider {provider!r} did not survey it: {why}")
        else:
            if outcome.is_success and not tally.is_partial:
                return Ending(tally, code, tuple(notes))
    return Ending(attrs.evolve(pieces, is_partial=True), code or FAILED, tuple(notes))
