"""Pools of threads in a system that has no more of them."""

from __future__ import annotations

import resource
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from retinue.actors._threads import WorkerPool
from tests.doubles import PATIENCE, Gate

LARGE_STACK = 1 << 29
SLACK = 1 << 26


@contextmanager
def no_more_threads() -> Generator[None]:
    """Leave this process some memory, but not enough for the stack of another thread."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + SLACK, limits[1]))
    before = threading.stack_size(LARGE_STACK)
    try:
        yield
    finally:
        threading.stack_size(before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def test_a_bounded_pool_goes_on_with_the_threads_that_it_has() -> None:
    """
    What no thread can be started for waits until one is free.
    """
    pool, gate, second = WorkerPool(4, "pool"), Gate(), threading.Event()
    pool.run(gate.wait)
    assert gate.reached.wait(PATIENCE)

    with no_more_threads():
        pool.run(second.set)
    gate.open()

    assert second.wait(PATIENCE)
    assert [] == pool.close(PATIENCE)


@pytest.mark.parametrize("limit", [4, None])
def test_what_no_thread_will_ever_do_is_refused(limit: int | None) -> None:
    """
    A pool without a thread, or one whose threads may wait for each other, says so at once.
    """
    pool = WorkerPool(limit, "pool")
    done: list[int] = []

    with no_more_threads(), pytest.raises(RuntimeError, match="can't start new thread"):
        pool.run(lambda: done.append(1))

    pool.run(lambda: done.append(2))
    assert [] == pool.close(PATIENCE)
    assert [2] == done
