"""Sound logs, and what breaks the rules of one."""

from __future__ import annotations

from retinue.protocol.log import (
    Chunk,
    Described,
    Ending,
    Event,
    PolicySet,
    SeedEnded,
    StepFinished,
    StepStarted,
    Target,
    TurnFinished,
    TurnStarted,
)
from tests.protocol.logs import (
    T,
    answered,
    asked,
    called,
    claimed,
    decided,
    dropped,
    heard,
    inserted,
    message,
    returned,
    said,
    step,
    tool_call,
    turn,
)

OPEN_TURN: list[Event] = [TurnStarted(1, T)]


OPEN_STEP: list[Event] = [*OPEN_TURN, StepStarted(1, 1, T)]


PENDING_CALL: list[Event] = [*OPEN_STEP, called(1, 1)]


SECOND_STEP: list[Event] = [*PENDING_CALL, StepFinished(1, 1, T), StepStarted(1, 2, T)]


LEGAL: dict[str, list[Event]] = {
    "nothing at all": [],
    "a turn with no step (LOG-9)": turn(1),
    "a blocked turn that took its input (LOG-8)": [
        inserted(Target.NEXT_TURN, 0, message("q")),
        *turn(1, claimed(), ending=Ending.BLOCKED),
    ],
    "an answered turn": answered(1, "q", "a"),
    "input claimed inside the turn (LOG-7)": [
        inserted(Target.NEXT_TURN, 0, message("q")),
        TurnStarted(1, T),
        claimed(),
        heard("q"),
    ],
    "a call that two guards want approved, one after the other (POL-5)": [
        *PENDING_CALL,
        asked(1, 1),
        decided(1, 1),
        asked(1, 1),
        decided(1, 1, is_allowed=False),
        returned(1, 1),
        StepFinished(1, 1, T),
        turn(1)[-1],
    ],
    "several turns and steps": [
        *turn(1, *step(1, 1, said("a")), *step(1, 2, said("b"))),
        *turn(2, *step(2, 1, said("c"))),
    ],
    "overlapping tool calls": turn(
        1,
        *step(
            1,
            1,
            said(tool_call("c1"), tool_call("c2")),
            called(1, 1, "c1"),
            called(1, 1, "c2"),
            returned(1, 1, "c2"),
            returned(1, 1, "c1"),
        ),
    ),
    "an id again in a later step": turn(
        1, *step(1, 1, called(1, 1), returned(1, 1)), *step(1, 2, called(1, 2), returned(1, 2))
    ),
    "a call that an abort answered (LOG-14)": turn(
        1,
        *step(1, 1, said(tool_call()), called(1, 1), returned(1, 1, synthetic=True)),
        ending=Ending.ABORTED,
    ),
    "a crash repaired after its step": [
        *PENDING_CALL,
        StepFinished(1, 1, T),
        returned(1, 1, synthetic=True),
        TurnFinished(1, Ending.INTERRUPTED, None, None, T),
    ],
    "a crash repaired without an answer": [
        *PENDING_CALL,
        StepFinished(1, 1, T),
        TurnFinished(1, Ending.INTERRUPTED, None, None, T),
    ],
    "a result of a call that never started": [
        *OPEN_STEP,
        said(tool_call()),
        StepFinished(1, 1, T),
        returned(1, 1, synthetic=True),
    ],
    "marks anywhere": [
        heard("early"),
        SeedEnded(T),
        *OPEN_STEP,
        Described("d", T),
        PolicySet("p", 1, "user", T),
        SeedEnded(T),
        heard("late"),
    ],
    "work dropped and replaced": [
        inserted(Target.NEXT_TURN, 0, message("a"), message("b")),
        dropped(message("c")),
        dropped(removed=2),
    ],
}


ILLEGAL: list[tuple[str, list[Event], Event, str]] = [
    ("a turn in a turn", OPEN_TURN, TurnStarted(2, T), "turn 2 starts inside turn 1"),
    ("turns begin with 1", [], TurnStarted(2, T), "turn 2 follows turn 0"),
    ("turns leave no gap", turn(1), TurnStarted(3, T), "turn 3 follows turn 1"),
    ("turns do not repeat", turn(1), TurnStarted(1, T), "turn 1 follows turn 1"),
    ("an end without a turn", [], turn(1)[-1], "turn 1 ends and is not open"),
    ("an end of another turn", OPEN_TURN, turn(2)[-1], "turn 2 ends and is not open"),
    ("an end inside a step", OPEN_STEP, turn(1)[-1], "turn 1 ends inside its step 1"),
    (
        "an abort without a cause (LOG-5, INB-20)",
        OPEN_TURN,
        TurnFinished(1, Ending.ABORTED, None, None, T),
        "names no cause",
    ),
    (
        "an unanswered call (LOG-14, H46)",
        [*PENDING_CALL, called(1, 1, "c2"), StepFinished(1, 1, T)],
        turn(1)[-1],
        "without an answer to c1, c2",
    ),
    ("a step outside a turn", [], StepStarted(1, 1, T), "outside that turn"),
    ("a step of another turn", OPEN_TURN, StepStarted(2, 1, T), "outside that turn"),
    ("a step in a step", OPEN_STEP, StepStarted(1, 2, T), "step 2 starts inside step 1"),
    ("steps begin with 1", OPEN_TURN, StepStarted(1, 2, T), "step 2 follows step 0"),
    (
        "steps begin with 1 in each turn",
        [*turn(1, *step(1, 1)), TurnStarted(2, T)],
        StepStarted(2, 2, T),
        "step 2 follows step 0",
    ),
    ("steps do not repeat", [*OPEN_TURN, *step(1, 1)], StepStarted(1, 1, T), "step 1 follows"),
    ("an end without a step", OPEN_TURN, StepFinished(1, 1, T), "ends and is not open"),
    ("an end of another step", OPEN_STEP, StepFinished(1, 2, T), "ends and is not open"),
    ("an end of another turn's step", OPEN_STEP, StepFinished(2, 1, T), "ends and is not open"),
    ("a chunk outside a step", OPEN_TURN, Chunk("a", T), "Chunk outside a step"),
    ("an answer outside a step", OPEN_TURN, said("a"), "AssistantMessage outside a step"),
    ("a call outside a step", OPEN_TURN, called(1, 1), "tool call c1 outside step 1"),
    ("a call of another step", OPEN_STEP, called(1, 2), "tool call c1 outside step 2"),
    ("a call of another turn", OPEN_STEP, called(2, 1), "outside step 1 of turn 2"),
    ("a call twice", PENDING_CALL, called(1, 1), "tool call c1 is pending already"),
    ("a result without a call", OPEN_STEP, returned(1, 1), "not pending in step 1"),
    ("a result of another call", PENDING_CALL, returned(1, 1, "c2"), "not pending"),
    ("a second result", [*PENDING_CALL, returned(1, 1)], returned(1, 1), "not pending"),
    (
        "a result after its step",
        [*PENDING_CALL, StepFinished(1, 1, T)],
        returned(1, 1),
        "outside step 1",
    ),
    (
        "a result in the next step",
        [*PENDING_CALL, StepFinished(1, 1, T), StepStarted(1, 2, T)],
        returned(1, 2),
        "not pending in step 2",
    ),
    (
        "a synthetic result outside a turn",
        [],
        returned(1, 1, synthetic=True),
        "outside turn 1",
    ),
    (
        "a synthetic result of another turn",
        OPEN_TURN,
        returned(2, 1, synthetic=True),
        "outside turn 2",
    ),
    ("approval of no call", OPEN_STEP, asked(1, 1), "approval is asked for c1, which is not"),
    ("approval of a call of before", SECOND_STEP, asked(1, 2), "which is not pending"),
    ("a decision on nothing", PENDING_CALL, decided(1, 1), "is given for c1, and was not asked"),
    (
        "an undecided question (POL-5)",
        [*PENDING_CALL, asked(1, 1), returned(1, 1), StepFinished(1, 1, T)],
        turn(1)[-1],
        "without a decision on c1",
    ),
    ("a splice that does not fit (INB-19)", [], claimed(), "does not fit into next-turn"),
    ("a splice of nothing (INB-4)", [], inserted(Target.NEXT_STEP, 0), "changes nothing"),
]
