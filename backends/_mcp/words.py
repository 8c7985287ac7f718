"""What an MCP server says, in words for a model, and its last ones before it fell silent."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, TextIO, cast

from retinue.protocol.errors import ToolFailed

# Bytes of a server's stderr that are told when it failed, and that are kept while it works.
_TOLD: Final = 600
_KEPT: Final = 1_000_000


class LastWords:
    """
    What a server wrote to stderr, in a file without a name.

    It is no output of the host's: it is shown where the server failed, and only then.
    """

    __slots__ = ("_file", "_said")

    def __init__(self) -> None:
        self._file: TextIO | None = None
        self._said = ""

    @property
    def file(self) -> TextIO:
        """Where the server's stderr goes."""
        assert self._file is not None
        return self._file

    @contextmanager
    def kept(self) -> Generator[None]:
        """Keep the file open, and what it says at the end."""
        with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
            number = file.fileno()
            # Appending, so that it can be cut while the server writes.
            fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_APPEND)
            self._file, self._said = file, ""
            try:
                yield
            finally:
                self._said = self._read()
                self._file = None

    def cut(self) -> None:
        """Throw away what has become too much."""
        if self._file is not None and os.fstat(self._file.fileno()).st_size > _KEPT:
            os.ftruncate(self._file.fileno(), 0)

    def _read(self) -> str:
        if self._file is None:
            return self._said
        number = self._file.fileno()
        size = os.fstat(number).st_size
        said = os.pread(number, _TOLD, max(0, size - _TOLD)).decode(errors="replace")
        return said.strip()

    def __str__(self) -> str:
        said = self._read()
        return f"; its last words: {said}" if said else ""


def reasons(error: BaseException) -> str:
    """Say what went wrong below the groups that the SDK's tasks wrap it in."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return "; ".join(dict.fromkeys(reasons(each) for each in inner))
    if isinstance(error, ToolFailed):
        return str(error)
    return f"{type(error).__name__}: {error}"


def result_text(result: Any) -> str:
    """Return a call's result as text; what is no text is named, and not shown."""
    parts = [_block_text(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return "\n".join(parts) or "done"


def _block_text(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "resource":
            inner = block.resource
            text = getattr(inner, "text", None)
            return str(text) if text is not None else f"[{inner.mime_type or 'data'}: {inner.uri}]"
        case "resource_link":
            return f"[{block.name}: {block.uri}]"
        case _:
            return f"[{block.type} of {block.mime_type}, which is not shown]"
