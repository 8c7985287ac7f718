"""Forks, pickles, and Ctrl-C."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable
from typing import Any

import pykka
import pytest

from retinue.actors import Reply, Run, Runtime, ThreadDispatcher
from retinue.protocol.result import ABORTED
from tests.actors.apart import in_a_fork, shout
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


@needs_fork
@pytest.mark.parametrize(
    ("deed", "said"),
    [
        (lambda _, run: run.ask("there?").get(timeout=PATIENCE), "DeadRun"),
        (lambda _, run: run.result.get(timeout=PATIENCE), "Closing"),
        (lambda it, _: it.start("spawn", "go", agent=echo).get(timeout=PATIENCE), "Closing"),
        (lambda it, _: it.tree(), "Closing"),
        (lambda it, _: it.close(), "None"),
        (lambda _, run: shout(run.id.rpartition("-")[2]), "1"),
    ],
)
def test_a_fork_has_no_part_in_its_parents_runtime(
    runtime: Runtime, deed: Callable[[Runtime, Run], Any], said: str
) -> None:
    """
    There the threads that served it do not exist: everything is refused at once, a new
    runtime works, and the parent's takes no notice.
    """
    run = opened(runtime, echo)
    assert "before" == run.ask("before").get(timeout=PATIENCE).text

    assert said == in_a_fork(lambda: deed(runtime, run))

    assert "after" == run.ask("after").get(timeout=PATIENCE).text


@needs_fork
def test_a_fork_may_come_while_somebody_holds_a_lock() -> None:
    """
    Whoever would release it is not there; the child does not wait for that.
    """
    dispatcher = ThreadDispatcher()
    with Runtime(dispatcher=dispatcher) as runtime:
        run = opened(runtime, echo)
        with dispatcher.lock:
            assert "DeadRun" == in_a_fork(lambda: run.tell("there?").get(timeout=PATIENCE))


def test_what_lives_in_a_process_does_not_leave_it(runtime: Runtime) -> None:
    """
    A copy of a pending Reply would be one that nobody resolves: refused, with what to send.
    """
    run = opened(runtime, echo)

    for living in (run, run.ref, Reply(), run.result):
        with pytest.raises(TypeError, match="lives in its process"):
            pickle.dumps(living)
    with pytest.raises(TypeError):
        pickle.dumps(runtime)


def test_what_is_a_value_does(runtime: Runtime) -> None:
    """
    Results and trees come back as they were.
    """
    run = started(runtime, echo, "a value")
    result = ended(run)
    assert run.dispose().get(timeout=PATIENCE)

    for value in (result, runtime.tree()):
        assert value == pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


def struck(reached: threading.Event, action: Callable[[], Any]) -> None:
    """Do it, and have Ctrl-C end it once something was reached."""
    main = threading.main_thread().ident
    inside = threading.Event()
    assert main is not None

    def strike() -> None:
        assert inside.wait(PATIENCE)
        assert reached.wait(PATIENCE)
        signal.pthread_kill(main, signal.SIGINT)

    def do() -> None:
        inside.set()
        action()

    thread = threading.Thread(target=strike)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        do()
    thread.join(PATIENCE)


def test_ctrl_c_ends_a_wait_and_nothing_else(runtime: Runtime) -> None:
    """
    The run goes on, and may be waited for again.
    """
    gate = Gate()

    def behaviour(_: Any) -> str:
        gate.wait()
        return "done"

    run = started(runtime, behaviour)
    # Shorter than the gate holds: a signal in the instant before the wait is seen behind it.
    struck(gate.reached, lambda: run.result.get(timeout=PATIENCE / 2))
    gate.open()

    assert "done" == ended(run).text


def test_ctrl_c_in_a_close_lets_everything_go_at_once() -> None:
    """
    Nothing is waited for any more; a later close finds nothing to do.
    """
    gate, runtime = Gate(), Runtime()
    begun, cleaned = threading.Event(), threading.Event()

    def deaf(_: Any) -> None:
        gate.wait()

    def tidy(turn: Any) -> Steps:
        try:
            yield turn.sleep(86_400)
        finally:
            cleaned.set()
            begun.set()  # the close is under way

    run = started(runtime, deaf)
    other = started(runtime, tidy)
    assert gate.reached.wait(PATIENCE)
    struck(begun, runtime.close)

    assert cleaned.is_set()
    assert [ABORTED, ABORTED] == [ended(run).stop_reason, ended(other).stop_reason]
    assert [] == pykka.ActorRegistry.get_all()
    runtime.close()
    gate.open()
