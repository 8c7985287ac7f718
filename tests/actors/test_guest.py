"""A guest in its host's process: it changes nothing there, and is gone when it is closed."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import warnings
from typing import Any

import loguru
import pykka
import pytest

from retinue.actors import Limits, Runtime
from retinue.protocol.errors import Closing, WouldBlock
from tests.actors.behaviours import WAYS, Steps, echo, ended, opened, started
from tests.actors.test_forgotten import python
from tests.checkout import ROOT
from tests.doubles import PATIENCE


def settings() -> dict[str, Any]:
    """Return what a guest could have changed in this process."""
    return {
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "actors": len(pykka.ActorRegistry.get_all()),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.get_debug()),
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "environment": dict(os.environ),
        "folder": str(ROOT.cwd()),
        "logging": (list(logging.getLogger().handlers), logging.getLogger().level),
        "pykka": (list(logging.getLogger("pykka").handlers), logging.getLogger("pykka").level),
        "loguru": repr(loguru.logger),
        "policy": asyncio.get_event_loop_policy(),
        "switch": sys.getswitchinterval(),
        "recursion": sys.getrecursionlimit(),
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook),
        "tracing": (sys.gettrace(), sys.getprofile(), threading.gettrace()),
        "warnings": list(warnings.filters),
    }


def test_a_closed_runtime_leaves_the_process_as_it_was() -> None:
    """
    Threads, collector, signals, environment, logging, loop policy, hooks: all as before.
    """
    before = settings()

    async def hosted() -> None:
        async with Runtime() as runtime:
            for way in WAYS:
                run = await runtime.start("spawn", "go", agent=way(echo))
                await run.result

    with Runtime(limits=Limits(total=100)) as runtime:
        for way in WAYS:
            opened(runtime, way(echo)).ask("go").get(timeout=PATIENCE)
    asyncio.run(hosted())

    assert before == settings()


def test_an_open_runtime_changes_nothing_but_its_threads() -> None:
    """
    They are daemons with names of ours, and are made when they are first needed.
    """
    before = settings()
    with Runtime() as runtime:
        idle = settings()
        ended(started(runtime, echo))
        during = settings()
        ours = [t for t in threading.enumerate() if t.name.startswith("retinue-")]

    assert before["threads"] == idle["threads"]
    assert ours
    assert all(thread.daemon for thread in ours)
    for what in ("threads", "actors"):
        for one in (before, idle, during):
            del one[what]
    assert before == idle == during


def test_importing_has_no_effects() -> None:
    """
    No thread, no handler, no loop; and no warning on the way.
    """
    done, _ = python(
        """
        import gc, logging, signal, sys, threading
        before = [signal.getsignal(n) for n in signal.valid_signals()], gc.get_threshold()
        import retinue.actors
        after = [signal.getsignal(n) for n in signal.valid_signals()], gc.get_threshold()
        assert before == after
        assert 1 == threading.active_count()
        assert not logging.getLogger().handlers
        heavy = {"jsonschema", "sqlalchemy", "cattrs", "msgspec", "cloudpickle"} & set(sys.modules)
        assert not heavy, heavy
        """,
        "-W",
        "error",
    )

    assert ("", 0) == (done.stderr, done.returncode)


def test_closing_twice_is_once() -> None:
    """
    From any thread; afterwards every operation says that it is closed.
    """
    runtime = Runtime()
    run = opened(runtime, echo)
    closers = [threading.Thread(target=runtime.close) for _ in range(5)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join(PATIENCE)
    runtime.close()

    assert ended(run).is_success
    with pytest.raises(Closing):
        started(runtime, echo)
    with pytest.raises(Closing), runtime:
        pass


def test_closing_from_inside_is_refused_and_does_no_harm() -> None:
    """
    A turn cannot wait for its own end; the runtime stays open.
    """
    errors: list[str] = []

    def closing(_: Any) -> Steps:
        try:
            runtime.close()
        except WouldBlock as error:
            errors.append(str(error))
        yield

    with Runtime() as runtime:
        ended(started(runtime, closing))
        assert "fine" == ended(started(runtime, echo, "fine")).text

    assert 1 == len(errors)
