"""One request to a model, sent until it is answered, refused or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final

import attrs

from retinue.backends._inprocess.gate import Gate
from retinue.protocol import messages
from retinue.protocol.content import Block, Content, Reasoning, Text, ToolCall
from retinue.protocol.errors import ModelFailed, Transient
from retinue.protocol.model import (
    Answer,
    Model,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    check_answer,
)
from retinue.protocol.provider import Workplace
from retinue.protocol.result import Usage

# Requests for one answer, the first included; the reference runtime's number.
TRIES: Final = 6

_ONE_REQUEST: Final = Usage(requests=1)


def tries_of(options: Mapping[str, Any]) -> int:
    """
    Return how many requests one answer may take: the option ``tries``, 6 without it.

    Raises:
        ModelFailed: it is no whole number from 1.
    """
    tries = options.get("tries", TRIES)
    if isinstance(tries, bool) or not isinstance(tries, int) or tries < 1:
        raise ModelFailed(
            f"option tries: expected a whole number from 1, the first request included;"
            f" got {tries!r}"
        )
    return tries


@attrs.define
class Streaming:
    """What has come of an answer that is under way."""

    text: list[str] = attrs.field(factory=list[str])
    reasoning: list[str] = attrs.field(factory=list[str])
    answer: Answer | None = None

    @property
    def usage(self) -> Usage:
        """What it has cost by now, as far as that is known."""
        return _ONE_REQUEST if self.answer is None else self.answer.usage

    def visible(self) -> Content:
        """Return what was said by now; calls are not in it, since none of them is made."""
        if self.answer is not None:
            return tuple([block for block in self.answer.content if type(block) is not ToolCall])
        blocks: list[Block] = []
        if self.reasoning:
            blocks.append(Reasoning("".join(self.reasoning)))
        if self.text:
            blocks.append(Text("".join(self.text)))
        return tuple(blocks)


class Asking:
    """Sends the requests of one turn."""

    __slots__ = ("_gate", "_model", "_tries", "_turn", "_workplace")

    def __init__(self, model: Model, turn: int, workplace: Workplace, tries: int = TRIES) -> None:
        self._model = model
        self._turn = turn
        self._workplace = workplace
        self._tries = tries
        self._gate: Gate = workplace.shared(("gate", model.name), Gate)

    async def answer(self, request: ModelRequest) -> Answer:
        """
        Send *request*, again while that may help, and return the answer.

        Raises:
            BudgetSpent: a limit forbids one more request.
            ModelFailed: there is no answer.
            CancelledError: the turn was stopped; what was visible is in the log (LOG-22).
        """
        attempt = 0
        while True:
            await self._gate.passed(self._workplace)
            if self._workplace.is_metered:
                await self._workplace.ask(messages.Reserve(self._turn))
            try:
                return await self._stream(request)
            except Transient as problem:
                attempt += 1
                self._gate.close(problem, attempt, self._workplace)
                self._spent()
                if attempt >= self._tries:
                    raise ModelFailed(
                        f"{self._model.name}: no answer after {attempt} requests: {problem}"
                    ) from problem
                self._workplace.report(messages.Retried(self._turn, str(problem)))
            except asyncio.CancelledError:
                raise  # counted with what was visible
            except BaseException:
                self._spent()
                raise

    def _spent(self) -> None:
        """Count a request that brought nothing: it was sent all the same (H80)."""
        self._workplace.report(messages.UsageRecorded(self._turn, _ONE_REQUEST))

    async def _stream(self, request: ModelRequest) -> Answer:
        seen = Streaming()
        try:
            async with aclosing(self._opened(request)) as stream:
                async for piece in stream:
                    self._take(piece, seen)
        except asyncio.CancelledError:
            self._workplace.report(
                messages.Said(self._turn, seen.visible(), seen.usage, is_interrupted=True)
            )
            raise
        if seen.answer is None:
            raise ModelFailed(f"{self._model.name}: its stream ended without an answer")
        return seen.answer

    def _opened(self, request: ModelRequest) -> Any:
        stream: Any = self._model.stream(request)
        if hasattr(stream, "__anext__") and hasattr(stream, "aclose"):
            return stream
        if asyncio.iscoroutine(stream):
            stream.close()
        raise ModelFailed(
            f"{self._model.name}: stream() is to be an async generator function; it returned"
            f" {type(stream).__name__}"
        )

    def _take(self, piece: object, seen: Streaming) -> None:
        match piece:
            case TextDelta(text):
                seen.text.append(text)
                self._workplace.report(messages.Streamed(self._turn, text))
            case ReasoningDelta(text):
                seen.reasoning.append(text)
            case Answer() if seen.answer is None:
                seen.answer = check_answer(piece, self._model.name)
            case _:
                raise ModelFailed(
                    f"{self._model.name}: streamed {type(piece).__name__}; expected TextDelta or"
                    " ReasoningDelta, and one Answer at the end"
                )
