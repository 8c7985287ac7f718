"""Content: what a caller may give, and what a source must say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.content import (
    BLOCK_TYPES,
    SUMMARY_LIMIT,
    Block,
    Data,
    Form,
    Kind,
    Message,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolResult,
    as_content,
    clip,
    text_of,
)
from retinue.protocol.errors import InvalidContent

BLOCKS: list[Block] = [
    Text("a"),
    Reasoning("b"),
    Data({"c": 1}),
    ToolCall("c1", "read", {"path": "x"}),
    ToolResult("c1", "text"),
]


@given(st.text())
def test_text_stays_as_it_is(text: str) -> None:
    """
    H26: a prompt reaches the child as it was given, the empty one included.
    """
    assert (Text(text),) == as_content(text)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_a_block_is_content(block: Block) -> None:
    """
    Each kind of block is content alone, and in a sequence.
    """
    assert (block,) == as_content(block)
    assert (block, Text("and")) == as_content([block, "and"])


def test_every_kind_of_block_is_tried_here() -> None:
    """
    A new kind of block has to be added to the blocks above.
    """
    assert BLOCK_TYPES == {type(block) for block in BLOCKS}


def test_a_message_gives_its_content() -> None:
    """
    A message that is passed on keeps its blocks and loses its source.
    """
    source = Source(Kind.CHILD, Form.REPORT, sender="a-1")

    assert (Text("done"),) == as_content(Message((Text("done"),), source))


@pytest.mark.parametrize("value", [None, 3, b"bytes", {}, [], (), [3], ["a", None], object()])
def test_what_is_no_content_is_refused(value: object) -> None:
    """
    H26: nothing is turned into text that was none, and an absent prompt is no prompt.
    """
    with pytest.raises(InvalidContent, match=r"^prompt: "):
        as_content(value, "prompt")


def test_text_blocks_are_joined_by_nothing() -> None:
    """
    RUN-13: the text of content is its text blocks, joined by nothing.
    """
    content = (Text("a"), Reasoning("no"), Text("b"), Data("no"))

    assert "ab" == text_of(content)
    assert "ab" == Message(content).text


@pytest.mark.parametrize("form", Form)
def test_a_form_says_who_sent_it_where_that_matters(form: Form) -> None:
    """
    A relay, a report or a notice without the id of its sender cannot be built.
    """
    needs_sender = form in {Form.RELAY, Form.REPORT, Form.NOTICE}
    facts: dict[str, Any] = {"summary": "it ended"} if form is Form.NOTICE else {}

    if needs_sender:
        with pytest.raises(InvalidContent, match="id of its sender"):
            Source(Kind.CHILD, form, **facts)
    else:
        assert Source(Kind.CHILD, form).sender is None
    assert "a-1" == Source(Kind.CHILD, form, sender="a-1", **facts).sender


@pytest.mark.parametrize("summary", [None, ""])
def test_a_notice_has_a_summary(summary: str | None) -> None:
    """
    A notice without a summary cannot be built.
    """
    with pytest.raises(InvalidContent, match="summary"):
        Source(Kind.RUNTIME, Form.NOTICE, sender="a-1", summary=summary)


@pytest.mark.parametrize(("length", "fits"), [(SUMMARY_LIMIT, True), (SUMMARY_LIMIT + 1, False)])
def test_a_summary_is_one_short_line(length: int, *, fits: bool) -> None:
    """
    A summary of 120 characters is taken, one of 121 is refused.
    """
    if fits:
        Source(Kind.USER, summary="x" * length)
    else:
        with pytest.raises(InvalidContent, match="not 121"):
            Source(Kind.USER, summary="x" * length)


@given(st.text(), st.integers(1, 200))
def test_what_was_clipped_fits(text: str, limit: int) -> None:
    """
    CON-59: a clipped text is one line within its limit, and ends in an ellipsis if cut.
    """
    line = " ".join(text.split())

    clipped = clip(text, limit)

    if len(line) <= limit:
        assert line == clipped
    else:
        assert limit == len(clipped)
        assert line[: limit - 1] + "…" == clipped


def test_white_space_is_collapsed_before_it_is_counted() -> None:
    """
    CON-59: a text that is long only by its white space is not cut.
    """
    assert "a b" == clip("a" + " \n" * 200 + "b", 3)
