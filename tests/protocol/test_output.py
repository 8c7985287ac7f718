"""What a run gave: its output and its usage."""

from __future__ import annotations

import pytest

from retinue.protocol.accounting import (
    accounting_turn,
    select_output,
    stop_reason_one_shot,
    stop_reason_resident,
    usage_of,
)
from retinue.protocol.content import Content, Reasoning, Text
from retinue.protocol.log import (
    Chunk,
    Ending,
    Event,
    Log,
    PolicySet,
)
from retinue.protocol.result import NO_USAGE, Usage
from tests.protocol.logs import (
    T,
    called,
    claimed,
    log_of,
    log_with,
    returned,
    said,
    step,
    tool_call,
    turn,
)

OUTPUTS: list[tuple[str, list[Event], Content]] = [
    ("nothing said (RES-9)", turn(1), ()),
    ("one answer (RES-9)", [said("a")], (Text("a"),)),
    ("the last answer (RES-9)", [said("a"), said("b")], (Text("b"),)),
    ("reasoning alone counts (RES-9)", [said("a"), said(Reasoning("r"))], (Reasoning("r"),)),
    ("a call alone counts (RES-9)", [said("a"), said(tool_call())], (tool_call(),)),
    ("an empty text is a block (RES-9)", [said("a"), said("")], (Text(""),)),
    ("usage only keeps text (RES-10)", [said("a"), said(usage=Usage(1))], (Text("a"),)),
    ("usage only keeps chunks (RES-10)", [Chunk("a", T), said(usage=Usage(1))], (Text("a"),)),
    ("chunks are one text (RES-9)", [Chunk("a", T), Chunk("b", T)], (Text("ab"),)),
    (
        "empty chunks are ignored (RES-11)",
        [Chunk("", T), Chunk("a", T), Chunk("", T)],
        (Text("a"),),
    ),
    ("only empty chunks are nothing (RES-11)", [Chunk("", T)], ()),
    ("later chunks replace no answer (RES-11)", [said("a"), Chunk("b", T)], (Text("a"),)),
    (
        "tool results are no output (RES-11)",
        turn(1, *step(1, 1, Chunk("a", T), called(1, 1), returned(1, 1))),
        (Text("a"),),
    ),
    (
        "what was interrupted is output (LOG-22)",
        [said("a"), said("half", interrupted=True)],
        (Text("half"),),
    ),
    ("marks are no output", [said("a"), PolicySet("p", 1, "user", T)], (Text("a"),)),
]


@pytest.mark.parametrize(
    ("events", "output"), [row[1:] for row in OUTPUTS], ids=[row[0] for row in OUTPUTS]
)
def test_what_a_run_gave(events: list[Event], output: Content) -> None:
    """
    RES-9, RES-10, RES-11: the last message with a block, else the streamed text, else
    nothing.
    """
    assert output == select_output(events)


def test_a_fork_that_said_nothing_gave_nothing() -> None:
    """
    RES-12, FRK-6: the parent's last answer is never the child's.
    """
    child = Log(log_with(2).seed(), T)

    assert () == select_output(child.own())
    assert None is accounting_turn(child.own())
    assert NO_USAGE == usage_of(child.own())
    log_of(*turn(3, claimed(), ending=Ending.BLOCKED), log=child)
    assert () == select_output(child.own())
    assert "refusal" == stop_reason_one_shot(child.own(), cancelled=False)


def test_an_epoch_without_a_turn_has_no_output() -> None:
    """
    RES-13: a resumed epoch is read from its own start, and not from an earlier answer.
    """
    log = log_with(2)
    start = len(log)
    log.append(PolicySet("p", 1, "user", T))

    epoch = list(log.own())[start:]

    assert () == select_output(epoch)
    assert "completed" == stop_reason_resident(epoch, cancelled=False)


def test_usage_is_counted_once_per_message() -> None:
    """
    Usage is the sum over all messages, empty ones and those without usage included.
    """
    events = [said("a", usage=Usage(1, 2, 1)), said("b"), said(usage=Usage(10, 20, 1, 0.5))]

    assert Usage(11, 22, 2, 0.5) == usage_of(events)
