"""Runs as actors: the runtime, what its callers hold, and what behaviours are given."""

if __name__ != "retinue.actors":
    raise ImportError(f"import retinue.actors, not {__name__!r}")

from loguru import logger

from retinue.actors._clock import ManualClock, RealClock
from retinue.actors._deterministic import DeterministicDispatcher
from retinue.actors._reply import Reply
from retinue.actors._thread_dispatcher import ThreadDispatcher
from retinue.actors.handle import (
    Cancellation,
    Run,
    StepTaken,
    SupportsResume,
    SupportsSteer,
)
from retinue.actors.runtime import Runtime
from retinue.protocol.agent import Agent, Tool, ToolFilter, agent
from retinue.protocol.delegation import Capabilities, Limits
from retinue.protocol.result import NotStarted, RunResult, TurnResult, Unfinished

__all__ = [
    "Agent",
    "Cancellation",
    "Capabilities",
    "DeterministicDispatcher",
    "Limits",
    "ManualClock",
    "NotStarted",
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
    "ToolFilter",
    "TurnResult",
    "Unfinished",
    "agent",
]

# As a guest we are silent until the host says logger.enable("retinue").
logger.disable("retinue")
