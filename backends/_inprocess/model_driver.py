"""The driver of runs that a model works for."""

from __future__ import annotations

from itertools import count
from typing import Any

from retinue.backends._inprocess.asking import tries_of
from retinue.backends._inprocess.calling import Calling
from retinue.backends._inprocess.driver import BehaviourDriver
from retinue.backends._inprocess.model_loop import ModelLoop
from retinue.backends._inprocess.toolbox import Toolbox
from retinue.backends._inprocess.turn import Turn
from retinue.backends._inprocess.view import TurnView
from retinue.backends.models.naming import as_model
from retinue.protocol import messages
from retinue.protocol.agent import Kind
from retinue.protocol.errors import (
    BudgetSpent,
    InvalidAgent,
    ModelRefused,
    RetinueError,
)
from retinue.protocol.log import Ending
from retinue.protocol.model import Model
from retinue.protocol.provider import OpenOrder, Outcome, Workplace


class ModelDriver(BehaviourDriver):
    """Runs the turns of one agent that has a model; see BehaviourDriver for the threads."""

    __slots__ = ("_loop", "_model", "_releases", "_toolbox")

    def __init__(self, opened: OpenOrder, workplace: Workplace) -> None:
        super().__init__(opened, workplace)
        assert opened.agent is not None
        tries_of(opened.options)  # a start that could not work is refused
        named = opened.options.get("model")
        self._model: Model | None = None if named is None else as_model(named, workplace)
        self._toolbox = Toolbox(opened.agent, opened.tool_filter)
        self._loop: ModelLoop | None = None
        self._releases = count()

    async def _await(self, view: TurnView) -> Any:
        assert isinstance(view, Turn)
        if self._model is None:
            raise InvalidAgent(
                f"{view.agent_name} has neither behaviour nor model: give it"
                " Agent(model='openai:gpt-5'), or its parent, or options={'model': ...}"
            )
        calling = Calling(view, self._workplace, self._toolbox.long)
        self._loop = ModelLoop(
            view, self._model, self._toolbox, calling, self._open.schema, self._workplace
        )
        return await self._loop.run()

    def outcome(self, view: TurnView, outcome: Outcome, *, is_stopped: bool) -> messages.TurnEnded:
        """Say how a turn ended: the loop says it itself, or something was raised."""
        if outcome.error is None:
            ended: messages.TurnEnded = outcome.value
            return ended
        error, turn = outcome.error, view.number
        captured = None if self._loop is None else self._loop.captured
        if is_stopped or self._workplace.stop_reason is not None:
            return messages.TurnEnded(turn, Ending.ABORTED, (), captured)
        if isinstance(error, ModelRefused):
            return messages.TurnEnded(turn, Ending.BLOCKED, (), None, str(error))
        if isinstance(error, BudgetSpent):
            return messages.TurnEnded(
                turn, Ending.ERROR, (), captured, str(error), error, error.reason
            )
        if isinstance(error, RetinueError):
            return messages.TurnEnded(turn, Ending.ERROR, (), captured, str(error), error)
        return super().outcome(view, outcome, is_stopped=is_stopped)

    def _released(self) -> None:
        """Have the sources let go first; then the driver holds nothing any more."""
        # The loop and the actor may both come here; one operation tells who was first, or the
        # second would report closed while the first one's sources are still closing.
        if next(self._releases):
            return
        self._toolbox.long.close()

        def done(outcome: Outcome) -> None:
            self._workplace.report(messages.Closed(outcome.error))

        if self._toolbox.has_sources:
            self._workplace.on_loop(self._toolbox.aclose(self._workplace.run_id), done, 0)
        else:
            done(Outcome())


def driver_of(opened: OpenOrder, workplace: Workplace) -> BehaviourDriver:
    """
    Make the driver that an agent's kind needs.

    Raises:
        InvalidAgent: the start names no agent.
        MissingExtra: its model needs a package that is not installed.
    """
    if opened.agent is not None and opened.agent.kind is Kind.MODEL:
        return ModelDriver(opened, workplace)
    return BehaviourDriver(opened, workplace)
