"""
The mailbox vocabulary: what runs, drivers, the registry and the clock say.

Commands are imperative, facts are past tense. No message holds a future: an asker's
Reply travels in the envelope. CONTROL overtakes everything else; the rest is FIFO.
"""

from __future__ import annotations

from typing import Final

from retinue.protocol.commands import (
    Begin,
    Cancel,
    Delegate,
    Describe,
    Dispose,
    Inject,
    Interrupt,
    Maintain,
    Prompt,
    Published,
    ReadLog,
    Seed,
    SetPolicy,
    Steer,
    TakeOutput,
    WrapUp,
)
from retinue.protocol.facts import (
    ApprovalDecided,
    AskApproval,
    CallsEnded,
    ChildEnded,
    ChildOpened,
    Closed,
    Crashed,
    DeadlinePassed,
    MaintenanceEnded,
    Notice,
    Opened,
    OpenFailed,
    Report,
    Reserve,
    Retried,
    Returned,
    Said,
    Stalled,
    StartRefused,
    StepEdge,
    Streamed,
    ToolUsed,
    TurnEnded,
    UsageRecorded,
)
from retinue.protocol.log import Cause
from retinue.protocol.registry_messages import (
    Admit,
    CancelStart,
    Drain,
    FindProvider,
    ForgetRun,
    GiveUp,
    ListChildren,
    ListDescendants,
    ListProviders,
    OpeningFailed,
    Publish,
    RegisterProvider,
    ResultOf,
    Route,
    RunOpened,
    RunReleased,
    RunSettled,
    Spend,
    Subscribe,
    Take,
    UnregisterProvider,
    Unsubscribe,
    Watch,
)

__all__ = [
    "BOUNDED",
    "CONTROL",
    "FOR_A_STEP",
    "REPORTED",
    "Admit",
    "ApprovalDecided",
    "AskApproval",
    "Begin",
    "CallsEnded",
    "Cancel",
    "CancelStart",
    "Cause",
    "ChildEnded",
    "ChildOpened",
    "Closed",
    "Crashed",
    "DeadlinePassed",
    "Delegate",
    "Describe",
    "Dispose",
    "Drain",
    "FindProvider",
    "ForgetRun",
    "GiveUp",
    "Inject",
    "Interrupt",
    "ListChildren",
    "ListDescendants",
    "ListProviders",
    "Maintain",
    "MaintenanceEnded",
    "Notice",
    "OpenFailed",
    "Opened",
    "OpeningFailed",
    "Prompt",
    "Publish",
    "Published",
    "ReadLog",
    "RegisterProvider",
    "Report",
    "Reserve",
    "ResultOf",
    "Retried",
    "Returned",
    "Route",
    "RunOpened",
    "RunReleased",
    "RunSettled",
    "Said",
    "Seed",
    "SetPolicy",
    "Spend",
    "Stalled",
    "StartRefused",
    "Steer",
    "StepEdge",
    "Streamed",
    "Subscribe",
    "Take",
    "TakeOutput",
    "ToolUsed",
    "TurnEnded",
    "UnregisterProvider",
    "Unsubscribe",
    "UsageRecorded",
    "Watch",
    "WrapUp",
]

CONTROL: Final = frozenset((Cancel, Dispose, Interrupt, DeadlinePassed, CancelStart, Drain))

# What counts against the bound of a mailbox: messages that senders of any kind can pile up.
BOUNDED: Final = frozenset((Prompt, Steer, Inject, Report))

# What the next step edge takes.
FOR_A_STEP: Final = frozenset((Steer, Inject, Report))

# What a driver may report of its work; whatever else it says is a mistake of it.
REPORTED: Final = frozenset(
    (
        Opened,
        Said,
        Streamed,
        Retried,
        StepEdge,
        ToolUsed,
        ApprovalDecided,
        TurnEnded,
        UsageRecorded,
        Crashed,
        CallsEnded,
        Closed,
        Stalled,
    )
)
