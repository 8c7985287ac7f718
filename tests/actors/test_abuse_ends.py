"""A close that meets starts, and a runtime that nobody closes."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from retinue.actors import Run, Runtime, ThreadDispatcher
from retinue.protocol.errors import Closing, StartFailed
from retinue.protocol.result import ABORTED
from tests.actors.behaviours import Steps, echo, ended, started
from tests.doubles import PATIENCE


def test_starts_on_many_threads_meet_a_close() -> None:
    """
    Each start is honoured or refused; no thread waits for ever.
    """
    runtime, threads = Runtime(), 8
    begun = threading.Barrier(threads + 1)

    def start_many() -> None:
        begun.wait(PATIENCE)
        while True:
            try:
                run: Run = runtime.start("spawn", "go", agent=echo).get(timeout=PATIENCE)
            except (Closing, StartFailed):
                return
            ended(run)

    with ThreadPoolExecutor(threads) as pool:
        starting = [pool.submit(start_many) for _ in range(threads)]
        begun.wait(PATIENCE)
        runtime.close()
        for future in starting:
            future.result(PATIENCE)


def test_a_forgotten_runtime_ends_where_the_collector_finds_it() -> None:
    """
    Also on a thread that holds the dispatcher's own lock.
    """
    cleaned, begun = threading.Event(), threading.Event()

    def tidy(turn: Any) -> Steps:
        try:
            begun.set()
            yield turn.sleep(86_400)
        finally:
            cleaned.set()

    dispatcher = ThreadDispatcher()
    kept = [Runtime(dispatcher=dispatcher)]
    run = started(kept[0], tidy)
    assert begun.wait(PATIENCE)
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("retinue")]

    def forget() -> None:
        with dispatcher.lock:
            kept.clear()
            gc.collect()

    with pytest.warns(ResourceWarning, match="never closed"):
        forget()

    assert cleaned.wait(PATIENCE)
    assert ABORTED == ended(run).stop_reason
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
