"""A runtime that nobody closed warns, and never holds up the end of the interpreter."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from typing import Any, Final

import pytest

from retinue.actors import Runtime
from tests.actors.behaviours import echo, ended, opened
from tests.doubles import PATIENCE

# A machine under load needs its time to start Python; a hang would be for ever.
PROCESS_SECONDS: Final = 30.0
HEADER: Final = """
import asyncio, threading, warnings
from retinue.actors import Runtime, agent

def blocking(turn):
    begun.set()
    threading.Event().wait()

def stepped(turn):
    begun.set()
    while True:
        yield turn.sleep(0.01)

async def awaited(turn):
    begun.set()
    await asyncio.Event().wait()

begun = threading.Event()
runtime = Runtime()
"""


def python(program: str, *options: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a program in a process of its own; return what came of it, and how long it took."""
    command = [sys.executable, *options, "-c", textwrap.dedent(program)]
    before = time.monotonic()
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=PROCESS_SECONDS
    )
    return done, time.monotonic() - before


@pytest.mark.parametrize("behaviour", ["blocking", "stepped", "awaited"])
def test_a_forgotten_close_warns_and_holds_up_nobody(behaviour: str) -> None:
    """
    The interpreter exits at once, whatever still runs; only whoever asks for it is warned.
    """
    program = f"""{HEADER}
run = runtime.start("spawn", "go", agent={behaviour}).get()
assert begun.wait(20)
print("the end")
"""
    done, seconds = python(program, "-W", "always::ResourceWarning")

    assert ("the end\n", 0) == (done.stdout, done.returncode)
    assert "ResourceWarning: <Runtime" in done.stderr
    assert "was never closed" in done.stderr
    assert "Traceback" not in done.stderr
    assert seconds < PROCESS_SECONDS / 2


def test_a_forgotten_close_says_nothing_by_default() -> None:
    """
    A program that ends by an error, or in the middle of a wait, ends like any other.
    """
    program = f"""{HEADER}
run = runtime.start("spawn", "go", agent=awaited).get()
assert begun.wait(20)
raise SystemExit(3)
"""
    done, _ = python(program)

    assert ("", "", 3) == (done.stdout, done.stderr, done.returncode)


def test_a_runtime_that_nobody_holds_is_stopped() -> None:
    """
    When it is collected it warns, and its runs and threads end.
    """

    def forget() -> Any:
        runtime = Runtime()
        return opened(runtime, echo)

    before = {thread.name for thread in threading.enumerate()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = forget()
        gc.collect()

    assert ended(run).is_success
    assert any("was never closed" in str(one.message) for one in caught)
    for thread in threading.enumerate():
        if thread.name not in before:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_a_wait_for_a_signal_is_ended_by_it() -> None:
    """
    A program that waits in `get` for a run hears Ctrl-C like any other.
    """
    program = f"""{HEADER}
import os, signal
threading.Thread(
    target=lambda: (begun.wait(20), os.kill(os.getpid(), signal.SIGINT))
).start()
with runtime:
    run = runtime.start("spawn", "go", agent=stepped).get()
    try:
        run.result.get()
    except KeyboardInterrupt:
        print("interrupted")
    run.cancel().get()
    print(run.result.get().stop_reason)
"""
    done, _ = python(program)

    assert ("interrupted\naborted\n", "", 0) == (done.stdout, done.stderr, done.returncode)
