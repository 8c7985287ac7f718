"""
Content blocks, messages, and where a message comes from.

Rule 1: every message has a Source, and the runtime writes it; a sender cannot.
Rule 2: a form without the facts that it needs cannot be built.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import attrs

from retinue.protocol.errors import InvalidContent
from retinue.protocol.payload import check_payload

SUMMARY_LIMIT: Final = 120


@attrs.frozen
class Text:
    """A piece of text."""

    text: str = attrs.field(validator=attrs.validators.instance_of(str))


@attrs.frozen
class Reasoning:
    """What a model thought aloud; never part of streamed output (RES-11)."""

    text: str


@attrs.frozen
class Data:
    """A JSON value: what an agent returned that is no text."""

    value: Any


@attrs.frozen
class ToolCall:
    """A model's call of one tool."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]


@attrs.frozen
class ToolResult:
    """What a tool call gave back."""

    call_id: str
    text: str
    is_error: bool = False


Block: TypeAlias = Text | Reasoning | Data | ToolCall | ToolResult
Content: TypeAlias = tuple[Block, ...]
BLOCK_TYPES: Final = frozenset((Text, Reasoning, Data, ToolCall, ToolResult))


class Kind(enum.Enum):
    """Who speaks."""

    USER = "user"
    PARENT = "parent"
    PEER = "peer"
    CHILD = "child"
    RUNTIME = "runtime"
    SELF = "self"


class Form(enum.Enum):
    """What a message is."""

    PROMPT = "prompt"
    STEER = "steer"
    INJECT = "inject"
    RELAY = "relay"
    REPORT = "report"
    NOTICE = "notice"
    WARNING = "warning"
    ANSWER = "answer"
    TOOL_RESULTS = "tool-results"


_NEEDS_SENDER: Final = frozenset((Form.RELAY, Form.REPORT, Form.NOTICE))


def clip(text: str, limit: int = SUMMARY_LIMIT) -> str:
    """Collapse white space and cut to *limit* characters, the last an ellipsis (CON-59)."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


@attrs.frozen
class Source:
    """
    Who sent a message, as the runtime knows it.

    Args:
        kind: who speaks.
        form: what the message is.
        sender: the sender's run id; relay, report and notice need one.
        summary: one line of at most 120 characters; a notice needs one.

    Raises:
        InvalidContent: a form lacks a fact that it needs, or the summary is too long.
    """

    kind: Kind
    form: Form = Form.PROMPT
    sender: str | None = None
    summary: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.sender is None and self.form in _NEEDS_SENDER:
            raise InvalidContent(f"a {self.form.value} needs the id of its sender")
        if self.form is Form.NOTICE and not self.summary:
            raise InvalidContent("a notice needs a summary")
        if self.summary is not None and len(self.summary) > SUMMARY_LIMIT:
            raise InvalidContent(
                f"a summary has at most {SUMMARY_LIMIT} characters, not {len(self.summary)};"
                " clip() cuts it"
            )


USER_PROMPT: Final = Source(Kind.USER)


@attrs.frozen
class Message:
    """One message of a conversation: blocks, where they come from, and an id."""

    content: Content
    source: Source = USER_PROMPT
    message_id: str = ""

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by nothing."""
        return text_of(self.content)


def text_of(content: Sequence[Block]) -> str:
    """Join the text blocks of *content* by nothing (RUN-13)."""
    return "".join([block.text for block in content if type(block) is Text])


def as_content(value: object, what: str = "content") -> Content:
    """
    Turn what a caller gave into content.

    Text stays as it is, byte for byte (H26); an empty text is content too.

    Raises:
        InvalidContent: *value* is no text, block, message or sequence of blocks.
    """
    given = type(value).__name__
    if isinstance(value, str):
        return (Text(value),)
    if isinstance(value, Message):
        value = value.content  # may be anything: messages are made by the thousand, unchecked
    if type(value) in BLOCK_TYPES:
        value = (value,)
    if isinstance(value, (list, tuple)) and value:
        blocks: list[Block] = []
        for item in cast("Sequence[object]", value):
            if isinstance(item, str):
                blocks.append(Text(item))
            elif type(item) in BLOCK_TYPES:
                if isinstance(item, Data):
                    check_payload(item.value, what)
                blocks.append(cast("Block", item))
            else:
                raise InvalidContent(
                    f"{what}: a sequence holds text and blocks, not {type(item).__name__}"
                )
        return tuple(blocks)
    raise InvalidContent(f"{what}: expected text, a block or a sequence of blocks, got {given}")
