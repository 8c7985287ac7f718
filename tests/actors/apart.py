"""What forks of the test's process do."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from retinue.actors import Runtime
from tests.actors.behaviours import echo
from tests.doubles import PATIENCE


def shout(words: str) -> str:
    """Run one agent on a runtime of its own."""
    with Runtime() as runtime:
        run = runtime.start("spawn", words, agent=echo).get(timeout=PATIENCE)
        return run.result.get(timeout=PATIENCE).text.upper()


def in_a_fork(deed: Callable[[], Any]) -> str:
    """Do it in a fork of this process, and return what comes of it as text; bounded."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))  # a child that hangs is ended by it
        try:
            said = str(deed())
        except BaseException as error:  # noqa: BLE001 - said to the parent
            said = type(error).__name__
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said
