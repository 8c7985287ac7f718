"""Writing to standard streams, which may be closed, broken, full or of a narrow encoding."""

from __future__ import annotations

import os
from typing import TextIO


def write(stream: TextIO | None, text: str) -> None:
    """
    Write *text* and flush; a reader that has left is no error, and gets nothing more.

    What the stream's encoding cannot say is escaped.

    Raises:
        OSError: the stream takes nothing, as on a full disk.
    """
    if stream is None:  # closed before this process began
        return
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except OSError:
        _silence(stream)
        raise


def _silence(stream: TextIO) -> None:
    """Have the interpreter's own last flush succeed: what is still buffered goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
