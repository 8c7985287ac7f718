"""A conversation with a shared beginning reads like one tuple of messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.content import Message, Text
from retinue.protocol.conversation import Conversation
from tests.protocol.logs import message

MANY = st.lists(st.text(max_size=3).map(message), max_size=5).map(tuple)


@given(head=MANY, tail=MANY, at=st.integers(-12, 12), to=st.integers(-12, 12))
def test_it_reads_like_a_tuple(
    head: tuple[Message, ...], tail: tuple[Message, ...], at: int, to: int
) -> None:
    """
    Length, order, indices from both ends, slices and equality are those of the two joined.
    """
    plain = (*head, *tail)
    conversation = Conversation(head, list(tail))

    assert len(plain) == len(conversation)
    assert plain == tuple(conversation)
    assert conversation == plain
    assert plain[at:to] == conversation[at:to]
    if -len(plain) <= at < len(plain):
        assert plain[at] == conversation[at]
    else:
        with pytest.raises(IndexError, match=f"message {at} of {len(plain)}"):
            conversation[at]


def test_each_message_is_shown_when_it_is_read() -> None:
    """
    How it is shown holds for iteration, indices and slices alike; the log's own stays.
    """
    stored = message("raw")

    def framed(given: Message) -> Message:
        """Put it into brackets."""
        return Message((Text(f"[{given.text}]"),))

    conversation = Conversation((stored,), [stored], framed)

    assert ["[raw]", "[raw]"] == [one.text for one in conversation]
    assert ("[raw]", "[raw]") == (conversation[-1].text, conversation[:1][0].text)
    assert "raw" == stored.text


def test_what_is_added_later_is_in_no_earlier_request() -> None:
    """
    The tail is copied when the request is made.
    """
    tail = [message("a")]
    conversation = Conversation((), tail)

    tail.append(message("b"))

    assert 1 == len(conversation)
    assert hash(conversation) == hash(Conversation((message("a"),)))
    assert conversation != "a"
