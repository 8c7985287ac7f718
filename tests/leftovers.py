"""What a test left behind: actors, threads, processes, descriptors and temporary files."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pykka


class Leftovers:
    """
    A snapshot of what this process holds, to compare with what it holds later.

    What needs a moment to end is given *patience* seconds, once for all of it.
    """

    def __init__(self, *, patience: float) -> None:
        self._patience = patience
        self._actors = set(pykka.ActorRegistry.get_all())
        self._threads = set(threading.enumerate())
        self._children = _children()
        self._descriptors = _descriptors()
        self._files = _files()

    def found(self) -> list[str]:
        """
        Name everything that came since the snapshot and is still here.

        Actors are stopped, processes killed and files deleted, so that the next test does
        not inherit them. Actors come first, since they own threads; descriptors come last,
        since ended threads and processes release theirs.
        """
        deadline = time.monotonic() + self._patience
        return [
            *self._actors_left(deadline),
            *self._threads_left(deadline),
            *self._children_left(deadline),
            *self._files_left(),
            *self._descriptors_left(),
        ]

    def _actors_left(self, deadline: float) -> list[str]:
        left = [ref for ref in pykka.ActorRegistry.get_all() if ref not in self._actors]
        for ref in left:
            try:
                ref.stop(timeout=_remaining(deadline))
            except pykka.Timeout:
                continue
        return [f"actor {ref} was not stopped" for ref in left]

    def _threads_left(self, deadline: float) -> list[str]:
        left: list[str] = []
        for thread in set(threading.enumerate()) - self._threads:
            thread.join(timeout=_remaining(deadline))
            if thread.is_alive():
                left.append(f"thread {thread.name} still runs")
        return sorted(left)

    def _children_left(self, deadline: float) -> list[str]:
        new = _children() - self._children
        left = [
            f"process {child.pid} has ended, and nobody waited for it"
            for child in new
            if _is_zombie(child)
        ]
        _, alive = psutil.wait_procs(new, timeout=_remaining(deadline))
        for child in alive:
            left.append(f"process {child.pid} still runs: {_command_line(child)}")
            child.kill()
        psutil.wait_procs(alive, timeout=self._patience)
        return sorted(left)

    def _files_left(self) -> list[str]:
        left = sorted(_files() - self._files)
        for path in left:
            _delete(path)
        return [f"{path} was not deleted" for path in left]

    def _descriptors_left(self) -> list[str]:
        if _descriptors() - self._descriptors:
            gc.collect()  # a cycle may hold what nobody can reach any more
        new = _descriptors() - self._descriptors
        return [f"descriptor {number} is open: {target}" for number, target in sorted(new)]


def _remaining(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _children() -> set[psutil.Process]:
    try:
        # Says in one system call that there is no child at all, which is so nearly always;
        # psutil reads all of /proc. WNOWAIT leaves ended children to those who own them.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return set()
    return set(psutil.Process().children(recursive=True))


def _is_zombie(child: psutil.Process) -> bool:
    try:
        return psutil.STATUS_ZOMBIE == child.status()
    except psutil.NoSuchProcess:
        return False


def _command_line(child: psutil.Process) -> str:
    try:
        return " ".join(child.cmdline())
    except psutil.Error:
        return "gone while it was looked at"


def _descriptors() -> set[tuple[int, str]]:
    found: set[tuple[int, str]] = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add((int(entry.name), str(entry.readlink())))
        except FileNotFoundError:  # the one that listed the folder
            continue
    return found


def _files() -> set[Path]:
    return set(Path(tempfile.gettempdir()).iterdir())


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for inner in path.iterdir():
            _delete(inner)
        path.rmdir()
    else:
        path.unlink()
