"""`retinue ask` as a process of its own: signals, terminals, pipes."""

from __future__ import annotations

import json
import os
import pty
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.actors.serve.processes import Command, finished, read_terminal

SCRIPT = {
    "": [
        {
            "text": "Let me look.",
            "calls": [
                {"name": "subagent", "arguments": {"description": "look up", "prompt": "Look."}}
            ],
        },
        "It is blue.",
    ],
    "0": [{"text": "One moment.", "calls": [{"name": "nap"}]}, "Blue."],
}
TOOLS = '''
import asyncio, os

async def nap() -> str:
    """Nap until somebody wakes it."""
    bell, woken = os.open("bell", os.O_RDWR | os.O_NONBLOCK), asyncio.Event()
    asyncio.get_running_loop().add_reader(bell, woken.set)
    try:
        await woken.wait()
    finally:
        asyncio.get_running_loop().remove_reader(bell)
        os.close(bell)
'''


@pytest.fixture(name="ask")
def make_ask(launch: Command, tmp_path: Path) -> Command:
    """Give what starts the command on a child that naps."""
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    (tmp_path / "naps.py").write_text(TOOLS)
    os.mkfifo(tmp_path / "bell")
    named = ("--model", "scripted:script.json", "--tools", "naps:nap")
    return partial(launch, "ask", "What colour?", *named)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_a_signal_cancels_the_tree_and_gives_what_there_is(
    ask: Command, number: signal.Signals, code: int
) -> None:
    """Ctrl-C reaches the child in the middle of its tool; the answer is marked partial."""
    process = ask("--json")
    assert process.stderr is not None
    assert b"has started" in process.stderr.readline()
    process.send_signal(number)

    came, out, err = finished(process)

    assert code == came
    assert f"retinue: cancelled by {number.name}\n" in err
    report = json.loads(out)
    assert (True, "aborted", "Let me look.") == (
        report["partial"],
        report["stop_reason"],
        report["text"],
    )
    assert ["aborted"] == [child["stop_reason"] for child in report["children"]]


def test_a_terminal_has_a_tree_and_a_pipe_the_text_alone(ask: Command, tmp_path: Path) -> None:
    """Stdout is piped, stderr is watched: nothing but the answer is in the pipe."""
    ours, theirs = pty.openpty()
    try:
        process = ask(stderr=theirs)
        read_terminal(ours, b"tool nap")
        (tmp_path / "bell").write_bytes(b"!")
        out, _ = process.communicate(timeout=30)
    finally:
        os.close(ours)
        os.close(theirs)

    assert (0, b"It is blue.\n") == (process.returncode, out)


def test_an_answer_streams_into_a_terminal(ask: Command) -> None:
    """What the agent says is there before its child has ended."""
    ours, theirs = pty.openpty()
    try:
        process = ask(stdout=theirs)
        read_terminal(ours, b"Let me look.\r\n")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        os.close(ours)
        os.close(theirs)

    assert 130 == process.returncode
    assert b"cancelled by SIGINT" in err
