"""Runs as actors: the runtime, what its callers hold, and what behaviours are given."""

if __name__ != "retinue.actors":
    raise ImportError(f"import retinue.actors, not {__name__!r}")

from loguru import logger

from retinue.actors._clock import ManualClock, RealClock
from retinue.actors._deterministic import DeterministicDispatcher
from retinue.actors._reply import Reply
from retinue.actors._thread_dispatcher import ThreadDispatcher
from retinue.actors.ask_user import ask_user
from retinue.actors.handle import (
    Cancellation,
    Run,
    StepTaken,
    SupportsResume,
    SupportsSteer,
)
from retinue.actors.runtime import Runtime
from retinue.actors.turns import AnyTurn, BlockingTurn, Turn
from retinue.protocol.agent import Agent, Guard, Tool, ToolFilter, agent, tool
from retinue.protocol.approval import Question
from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.delegation import Capabilities, Limits
from retinue.protocol.errors import ToolFailed
from retinue.protocol.result import NotStarted, RunResult, TurnResult, Unfinished
from retinue.protocol.tool import Ask, Conclude

__all__ = [
    "Agent",
    "AnyTurn",
    "Ask",
    "BlockingTurn",
    "Cancellation",
    "Capabilities",
    "Conclude",
    "DeterministicDispatcher",
    "Guard",
    "Limits",
    "ManualClock",
    "NotStarted",
    "Question",
    "RealClock",
    "Reply",
    "Run",
    "RunResult",
    "Runtime",
    "StepTaken",
    "SupportsResume",
    "SupportsSteer",
    "ThreadDispatcher",
    "Tool",
    "ToolCall",
    "ToolFailed",
    "ToolFilter",
    "ToolResult",
    "Turn",
    "TurnResult",
    "Unfinished",
    "agent",
    "ask_user",
    "tool",
]

# As a guest we are silent until the host says logger.enable("retinue").
logger.disable("retinue")
