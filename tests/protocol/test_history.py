"""The conversation of a log: what a model may be shown."""

from __future__ import annotations

from retinue.protocol.content import Form, Kind, Message, Reasoning, Text, ToolCall, ToolResult
from retinue.protocol.history import ANSWER, TOOL_RESULTS, derived
from retinue.protocol.log import Chunk, Described, Ending, PolicySet, SeedEnded, Target
from retinue.protocol.result import Usage
from tests.protocol.logs import (
    T,
    called,
    claimed,
    heard,
    inserted,
    message,
    returned,
    said,
    step,
    tool_call,
    turn,
)


def unanswered(messages: list[Message]) -> list[str]:
    """List the calls that the next message does not answer."""
    found: list[str] = []
    for this, after in zip(messages, [*messages[1:], Message(())], strict=True):
        answers = {block.call_id for block in after.content if isinstance(block, ToolResult)}
        calls = [block.call_id for block in this.content if isinstance(block, ToolCall)]
        found += [call for call in calls if call not in answers]
    return found


def test_a_conversation_is_what_was_heard_and_said() -> None:
    """
    Prompts and answers stand in their order; splices, chunks and marks do not appear.
    """
    events = [
        SeedEnded(T),
        Described("anything", T),
        PolicySet("sandbox", "on", "user", T),
        inserted(Target.NEXT_TURN, 0, message("q")),
        *turn(1, claimed(), heard("q"), *step(1, 1, Chunk("a", T), said("a"))),
    ]

    assert [message("q"), Message((Text("a"),), ANSWER)] == derived(events)


def test_what_an_agent_said_names_itself_as_its_source() -> None:
    """
    A reader tells answers and tool results from prompts by kind and form.
    """
    events = turn(1, heard("q"), *step(1, 1, said(tool_call()), called(1, 1), returned(1, 1)))

    assert [
        (Kind.USER, Form.PROMPT),
        (Kind.SELF, Form.ANSWER),
        (Kind.RUNTIME, Form.TOOL_RESULTS),
    ] == [(m.source.kind, m.source.form) for m in derived(events)]


def test_results_follow_their_calls() -> None:
    """
    H46: all results of an answer come right after it, also when a steer was logged between.
    """
    events = turn(
        1,
        *step(
            1,
            1,
            said("look", tool_call("c1"), tool_call("c2")),
            called(1, 1, "c1"),
            heard("and hurry"),
            called(1, 1, "c2"),
            returned(1, 1, "c2"),
            returned(1, 1, "c1"),
        ),
        *step(1, 2, said("done")),
    )

    messages = derived(events)

    assert ["look", "", "and hurry", "done"] == [m.text for m in messages]
    assert TOOL_RESULTS == messages[1].source
    assert ["c1", "c2"] == [b.call_id for b in messages[1].content if isinstance(b, ToolResult)]
    assert [] == unanswered(messages)


def test_a_call_that_nobody_answered_is_left_out() -> None:
    """
    H46: a turn cut off between call and result leaves a history that can be sent.
    """
    events = turn(
        1,
        *step(1, 1, said("look", tool_call("c1"), tool_call("c2")), called(1, 1), returned(1, 1)),
        *step(1, 2, said(tool_call("c3"))),
        ending=Ending.INTERRUPTED,
    )

    messages = derived(events)

    assert [] == unanswered(messages)
    assert [(Text("look"), tool_call("c1"))] == [m.content for m in messages if m.source == ANSWER]


def test_call_ids_repeat_across_steps() -> None:
    """
    STR-4: the same id in a later step is another call, with a result of its own.
    """
    events = turn(
        1,
        *step(1, 1, said(tool_call("c1")), called(1, 1), returned(1, 1)),
        *step(1, 2, said(tool_call("c1"))),
        *step(1, 3, said(tool_call("c1")), called(1, 3), returned(1, 3)),
    )

    messages = derived(events)

    assert 4 == len(messages)
    assert [] == unanswered(messages)


def test_a_repeated_id_in_one_answer_is_answered_once() -> None:
    """
    A result answers one call; a second call with its id counts as unanswered.
    """
    events = turn(1, *step(1, 1, said(tool_call(), tool_call()), called(1, 1), returned(1, 1)))

    assert [] == unanswered(derived(events))
    assert [1, 1] == [len(m.content) for m in derived(events)]


def test_a_synthetic_result_answers_its_call() -> None:
    """
    LOG-14: a call that never ran is in history with the answer that the runtime wrote.
    """
    events = turn(
        1,
        *step(1, 1, said(tool_call())),
        returned(1, 1, synthetic=True),
        ending=Ending.INTERRUPTED,
    )

    assert 2 == len(derived(events))


def test_an_answer_without_content_is_no_message() -> None:
    """
    RES-10: a message that only recorded usage is not part of the conversation.
    """
    assert [] == derived(turn(1, *step(1, 1, said(usage=Usage(5, 5)))))


def test_reasoning_is_kept() -> None:
    """
    What a model thought stays in its own history.
    """
    events = turn(1, *step(1, 1, said(Reasoning("hm"), "a")))

    assert (Reasoning("hm"), Text("a")) == derived(events)[0].content
