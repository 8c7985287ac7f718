"""The leak check sees what it is there to see."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pykka

from tests.doubles import PATIENCE, Gate
from tests.leftovers import Leftovers

AT_ONCE = 0.01


class Idle(pykka.ThreadingActor):
    """An actor that does nothing."""


def test_a_tidy_test_leaves_nothing() -> None:
    """
    Without a change nothing is found.
    """
    assert [] == Leftovers(patience=AT_ONCE).found()


def test_a_running_thread_is_named() -> None:
    """
    A thread that has not ended within the patience is a leftover.
    """
    before, gate = Leftovers(patience=AT_ONCE), Gate()
    thread = threading.Thread(target=gate.wait, name="straggler")
    thread.start()

    assert ["thread straggler still runs"] == before.found()

    gate.open()
    thread.join(PATIENCE)


def test_a_thread_that_ends_in_time_is_no_leftover() -> None:
    """
    A thread on its way out is waited for.
    """
    before, gate = Leftovers(patience=PATIENCE), Gate()
    threading.Thread(target=gate.wait).start()
    gate.open()

    assert [] == before.found()


def test_a_live_actor_is_named_and_stopped() -> None:
    """
    An actor that the test did not stop is a leftover, and does not reach the next test.
    """
    before = Leftovers(patience=PATIENCE)
    ref: pykka.ActorRef[Any] = Idle.start()

    found = before.found()

    assert [f"actor {ref} was not stopped"] == found
    assert not ref.is_alive()


def test_a_running_process_is_named_and_killed() -> None:
    """
    A child process that still runs is a leftover, and does not reach the next test.
    """
    before = Leftovers(patience=AT_ONCE)
    command = [sys.executable, "-c", "import threading; threading.Event().wait()"]

    with subprocess.Popen(command) as child:
        [found] = before.found()

    assert found.startswith(f"process {child.pid} still runs")
    assert [] == before.found()


def test_a_process_that_nobody_waited_for_is_named() -> None:
    """
    A child that has ended is a leftover until its status is collected.
    """
    before = Leftovers(patience=AT_ONCE)

    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        found = before.found()

    assert [f"process {child.pid} has ended, and nobody waited for it"] == found


def test_an_open_descriptor_is_named() -> None:
    """
    A descriptor that was not closed is a leftover, with what it points at.
    """
    before = Leftovers(patience=AT_ONCE)

    with Path(os.devnull).open() as held:
        expected = [f"descriptor {held.fileno()} is open: {os.devnull}"]
        found = before.found()

    assert expected == found


def test_a_temporary_file_is_named_and_deleted() -> None:
    """
    A file in the temporary folder that was not deleted is a leftover.
    """
    before = Leftovers(patience=AT_ONCE)
    folder = Path(tempfile.mkdtemp())
    (folder / "inner").touch()

    assert [f"{folder} was not deleted"] == before.found()
    assert not folder.exists()
