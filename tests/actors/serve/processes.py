"""Processes of `retinue survey`, and reading what they write."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

# A process has to import the library, on a machine that may be busy.
PATIENT: Final = 30.0

Command = Callable[..., "subprocess.Popen[bytes]"]


def finished(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Wait for a process; return its exit code and what it wrote."""
    out, err = process.communicate(timeout=PATIENT)
    return process.returncode, (out or b"").decode(), (err or b"").decode()


def read_until(stream: IO[bytes] | None, line: bytes) -> None:
    """Read lines until one is *line*: the fact that a test waits for."""
    assert stream is not None
    while (read := stream.readline()) != line + b"\n":
        assert read, f"the process ended and never wrote {line!r}"


def output_of(*command: str | Path) -> bytes:
    """Return what another program counts."""
    return subprocess.run(command, check=True, capture_output=True).stdout


def read_terminal(terminal: int, fact: bytes) -> bytes:
    """Read what is drawn until *fact* is there."""
    drawn = b""
    deadline = time.monotonic() + PATIENT
    while fact not in drawn and fact not in re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", drawn):
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"{fact!r} was never drawn, but {drawn[-400:]!r}"
        drawn += os.read(terminal, 1 << 16)
    return drawn
