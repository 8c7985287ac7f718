"""
Results that are longer than what a model is shown at once: the rest, page by page.

The whole text stands in a file of the run's own temporary folder, which is made when it is
first needed and goes with the run. Nothing is ever cut without saying so.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Final

from retinue.protocol.errors import ToolFailed
from retinue.protocol.framing import Span, page, spans_of
from retinue.protocol.tool import RESULT_LIMIT, Tool

NAME: Final = "read_result"

# Four bytes for each character, so that a page deep in a file is found without reading what
# stands before it.
_CODE: Final = "utf-32-le"
_WIDTH: Final = 4
_LOST: Final = "\n\n[Shown up to character {limit} of {length}. The rest could not be kept: {why}]"

_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "result_id": {"type": "string", "description": "as in the shown part"},
        "offset": {"type": "integer", "minimum": 0, "description": "characters"},
        "limit": {"type": "integer", "minimum": 1, "maximum": RESULT_LIMIT},
    },
    "required": ["result_id"],
    "additionalProperties": False,
}


class LongResults:
    """The long results of one run, on the runtime's loop."""

    __slots__ = ("__weakref__", "_folder", "_frames", "_lengths", "_remove", "_tool")

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._lengths: dict[str, int] = {}
        self._frames: dict[str, tuple[Span, ...]] = {}
        self._remove: Any = None
        self._tool: Tool | None = None

    @property
    def tool(self) -> Tool:
        """What a model reads on with; few runs need one."""
        if self._tool is None:
            what = "Read on in the result of a tool that was too long to be shown at once."
            self._tool = Tool(
                NAME,
                self._read,
                what,
                _PARAMETERS,
                is_concurrent=True,
                result_limit=2 * RESULT_LIMIT,  # a page and the line below it
            )
        return self._tool

    def __bool__(self) -> bool:
        return bool(self._lengths)

    def shown(self, text: str, limit: int) -> str:
        """Return *text*, or its head and where the rest is; writes it down on the loop."""
        if len(text) <= limit:
            return text
        result_id = f"r{len(self._lengths) + 1}"
        # Here and not on a thread, which could write after the folder is gone.
        try:
            self._path(result_id).write_bytes(text.encode(_CODE, "surrogatepass"))
        except OSError as error:  # the call was made all the same, and its model is told so
            why = error.strerror or type(error).__name__
            return text[:limit] + _LOST.format(limit=limit, length=len(text), why=why)
        self._lengths[result_id] = len(text)
        self._frames[result_id] = spans_of(text)
        head = page(text[:limit], 0, self._frames[result_id])
        return head + _more(result_id, limit, len(text), limit)

    def _path(self, result_id: str) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="retinue-results-"))
            # A run that is given up closes nothing; its folder goes with it all the same.
            self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder / result_id

    async def _read(self, result_id: str, offset: int = 0, limit: int = RESULT_LIMIT) -> str:
        length = self._lengths.get(result_id)
        if length is None:
            known = ", ".join(self._lengths) or "none"
            raise ToolFailed(
                f"no result {result_id!r} is kept; there are: {known}. Results are kept while"
                " their run lives; call the tool again"
            )
        if offset >= length:
            raise ToolFailed(
                f"result {result_id} has {length} characters: an offset is at most {length - 1}"
            )
        with self._path(result_id).open("rb") as file:
            file.seek(offset * _WIDTH)
            text = file.read(limit * _WIDTH).decode(_CODE, "surrogatepass")
        end = offset + len(text)
        # What another agent wrote is framed on each page of it (H67).
        text = page(text, offset, self._frames[result_id])
        return text if end >= length else text + _more(result_id, end, length, limit)

    def close(self) -> None:
        """Remove the folder; what was kept is gone."""
        self._lengths.clear()
        self._frames.clear()
        if self._remove is not None:
            self._remove()


def _more(result_id: str, end: int, length: int, limit: int) -> str:
    following = min(limit, RESULT_LIMIT)
    return (
        f"\n\n[Shown up to character {end} of {length}. To read on: {NAME}(result_id="
        f'"{result_id}", offset={end}, limit={following})]'
    )
