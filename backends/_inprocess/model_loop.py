"""
The turn loop of agents that a model works for.

A step is one request to the model and the tool calls of its answer. The loop runs on the
runtime's loop as one task; stopping the turn cancels that task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from retinue.backends._inprocess.asking import Asking, tries_of
from retinue.backends._inprocess.batch import Batch, Called
from retinue.backends._inprocess.calling import Calling
from retinue.backends._inprocess.capture import capture
from retinue.backends._inprocess.prompt import instructions, shown
from retinue.backends._inprocess.structured import NAME, NUDGE, Captured, Structured
from retinue.backends._inprocess.toolbox import Toolbox
from retinue.backends._inprocess.turn import Turn
from retinue.protocol import messages
from retinue.protocol.content import (
    Block,
    Content,
    Data,
    Form,
    Kind,
    Message,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from retinue.protocol.conversation import Conversation
from retinue.protocol.history import ANSWER, TOOL_RESULTS
from retinue.protocol.log import Ending
from retinue.protocol.messages import TurnEnded
from retinue.protocol.model import Answer, Finish, Model, ModelRequest
from retinue.protocol.provider import Workplace
from retinue.protocol.result import SCHEMA
from retinue.protocol.tool import Conclude, Tool

WRAP_UP: Final = "Finish now with what you have: no tool runs any more. Give your result."
_NOT_RUN: Final = "not run: the turn is to finish with what it has"
_AFTER_CAPTURE: Final = "not run: the result was given already, and {name} comes after it"


class ModelLoop:
    """One turn of a model."""

    def __init__(
        self,
        turn: Turn,
        model: Model,
        toolbox: Toolbox,
        calling: Calling,
        schema: Any,
        workplace: Workplace,
    ) -> None:
        agent = turn.agent
        assert agent is not None
        self._agent = agent
        self._turn = turn
        self._workplace = workplace
        self._model = model
        self._toolbox = toolbox
        self._calling = calling
        self._structured = None if schema is None else Structured(schema)
        self._asking = Asking(model, turn.number, workplace, tries_of(turn.options))
        self._history: tuple[Message, ...] = turn.history
        self._conversation: list[Message] = list(turn.messages)
        self._step = 1
        self._hit_ceiling = False
        self._has_wrapped_up = False
        self._concluded: Conclude | None = None

    @property
    def captured(self) -> Any:
        """The structured value that was captured, or None (RES-16)."""
        captured = self._captured
        return None if captured is None else captured.instance

    @property
    def _captured(self) -> Captured | None:
        return None if self._structured is None else self._structured.captured

    async def run(self) -> TurnEnded:
        """Work until the model has nothing more to do, and say how the turn ended."""
        while True:
            tools = await self._offered()
            answer = self._said(await self._asking.answer(self._request(tools)))
            if answer.finish is Finish.REFUSAL:
                return TurnEnded(self._turn.number, Ending.BLOCKED, (), None, _words(answer))
            calls = [block for block in answer.content if type(block) is ToolCall]
            if calls:
                await self._call(calls, tools)
            settled = self._settled()
            if settled is not None:
                return settled
            is_last = not calls or self._concluded is not None or self._has_wrapped_up
            if not await self._edge(is_last=is_last):
                end = self._end()
                if end is not None:
                    return end
                await self._nudge()

    async def _offered(self) -> dict[str, Tool]:
        """Return the tools of the next request by name, in an order that stays the same."""
        tools = {} if self._has_wrapped_up else await self._toolbox.offered(self._turn)
        if self._structured is not None:
            tools[NAME] = self._structured.tool
        return tools

    def _request(self, tools: dict[str, Tool]) -> ModelRequest:
        self._turn.check()  # LOG-23: whoever cancelled inside an observer gets no request
        return ModelRequest(
            Conversation(self._history, self._conversation, shown),
            instructions(
                self._turn, self._toolbox.sections, is_structured=self._structured is not None
            ),
            tuple([self._toolbox.spec(tool) for tool in tools.values()]),
            self._toolbox.model_options(self._turn.options),
            self._workplace.run_id,
            self._workplace.path,
            self._turn.number,
            self._step,
        )

    def _said(self, answer: Answer) -> Answer:
        """Log an answer and take it into the conversation."""
        content = answer.content
        if answer.finish is Finish.LENGTH:
            self._hit_ceiling = True  # RES-7: it sticks, whatever comes after it
            # LOG-15: the last call may be cut off, so that none of them is made.
            content = tuple([block for block in content if type(block) is not ToolCall])
        answer = attrs.evolve(answer, content=_with_own_ids(content))
        self._workplace.report(messages.Said(self._turn.number, answer.content, answer.usage))
        if answer.content:
            self._conversation.append(Message(answer.content, ANSWER))
        return answer

    async def _call(self, calls: Sequence[ToolCall], tools: dict[str, Tool]) -> None:
        batch = Batch(self._turn.number, self._workplace, tools, self._execute, self._turn.check)
        results: list[ToolResult] = [called.result for called in await batch.run(calls)]
        self._conversation.append(Message(tuple(results), TOOL_RESULTS))

    async def _execute(self, tool: Tool | None, call: ToolCall) -> Called:
        structured = self._structured
        if self._captured is not None:
            # STR-7: after every other hook, so that none can bring a call back.
            return _denied(call, _AFTER_CAPTURE.format(name=call.name))
        if self._turn.wrapping_up and call.name != NAME:
            return _denied(call, _NOT_RUN)
        if tool is None:
            others = () if structured is None else (NAME,)
            return _denied(call, self._toolbox.unknown(call.name, *others))
        called = await self._calling.execute(tool, call)
        if structured is not None and call.name == NAME:
            structured.note(called.result.text, called.conclude)
        self._concluded = called.conclude or self._concluded
        return called

    async def _edge(self, *, is_last: bool) -> bool:
        """Stand between two steps; False when nothing is left to go on for."""
        add: tuple[Message, ...] = ()
        if self._turn.wrapping_up and not self._has_wrapped_up and not is_last:
            self._has_wrapped_up = True
            add = (_from_runtime(WRAP_UP, "finish with what there is"),)
        is_end = is_last and not add
        if is_end and not self._turn.has_mail and not self._workplace.has_children:
            return False  # nothing was sent and nobody is waited for: there is nothing to ask
        taken = await self._turn.edge(
            is_last=is_end, add=add, is_patient=is_end and self._is_patient
        )
        if taken is None:
            return False
        self._concluded = None
        self._conversation.extend(taken)
        self._step += 1
        return True

    @property
    def _is_patient(self) -> bool:
        """
        Whether a turn that would end waits for background children first (H29).

        A resident hears of them in turns to come; a turn that has its result is over.
        """
        has_result = self._concluded is not None
        return not (self._turn.is_resident or has_result or self._hit_ceiling)

    def _end(self) -> TurnEnded | None:
        """Say how the turn ended; None when the model is to be nudged."""
        turn, structured = self._turn.number, self._structured
        if self._hit_ceiling:
            text = "the model came to the limit of its tokens"
            return TurnEnded(turn, Ending.MAX_TOKENS, (), self.captured, text)
        if structured is not None:
            if structured.captured is not None:
                given = structured.captured
                return TurnEnded(turn, Ending.COMPLETED, (Data(given.value),), given.instance)
            return None if structured.nudges < self._agent.nudges else self._short_of_schema()
        if self._concluded is not None and self._concluded.output is not None:
            said = capture(self._concluded.output, None, self._agent.name)
            return TurnEnded(turn, Ending.COMPLETED, said.output, said.structured)
        return TurnEnded(turn, Ending.COMPLETED)

    def _settled(self) -> TurnEnded | None:
        """
        Say how the turn ended where its result is decided: captured, or given up.

        A capture spends no further request: steering that waits is told that nobody took it
        (STR-2, STR-22, RUN-20).
        """
        structured = self._structured
        if structured is None:
            return None
        if structured.captured is not None:
            return self._end()
        is_out_of_tries = structured.bad_tries >= self._agent.schema_tries
        return self._short_of_schema() if is_out_of_tries else None

    def _short_of_schema(self) -> TurnEnded:
        assert self._structured is not None
        said = self._structured.shortfall()
        return TurnEnded(self._turn.number, Ending.ERROR, (), None, said, None, SCHEMA)

    async def _nudge(self) -> None:
        """
        Tell the model once more; the run's actor refuses it where the turn was stopped.

        The look at the cancel and the new step are one handler of the actor (STR-17).
        """
        assert self._structured is not None
        self._structured.nudges += 1
        self._concluded = None  # it goes on, and what ended a step before ends none after it
        note = _from_runtime(NUDGE, f"asked again for a structured result ({NAME})")
        taken = await self._turn.edge(add=(note,))
        self._conversation.extend(taken)
        self._step += 1


def _from_runtime(text: str, summary: str) -> Message:
    return Message((Text(text),), Source(Kind.RUNTIME, Form.INJECT, None, summary))


def _denied(call: ToolCall, text: str) -> Called:
    return Called(ToolResult(call.call_id, text, is_error=True))


def _words(answer: Answer) -> str:
    said = "".join([block.text for block in answer.content if type(block) is Text])
    return said or "the model declined to answer"


def _with_own_ids(content: Content) -> Content:
    """Give calls that share an id within one answer ids of their own."""
    seen: set[str] = set()
    blocks: list[Block] = []
    for block in content:
        if type(block) is not ToolCall:
            blocks.append(block)
            continue
        call_id, number = block.call_id, 2
        while call_id in seen:
            call_id, number = f"{block.call_id}-{number}", number + 1
        seen.add(call_id)
        blocks.append(attrs.evolve(block, call_id=call_id))
    return tuple(blocks)
