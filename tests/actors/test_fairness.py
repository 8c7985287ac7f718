"""Nobody holds up the others: not by spinning, not by a row of answers, not by blocking."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from retinue.actors import Reply, Runtime, ThreadDispatcher
from retinue.protocol.events import RunStalled
from retinue.protocol.result import ABORTED, COMPLETED, ERROR
from tests.actors.behaviours import WAYS, Steps, echo, ended, started
from tests.doubles import PATIENCE, Gate, Probe


def test_a_generator_that_spins_can_be_cancelled(runtime: Runtime) -> None:
    """
    It yields nothing for ever; others get their turns, and a cancel gets through.
    """
    cleaned: list[str] = []

    def behaviour(_: Any) -> Steps:
        try:
            while True:
                yield
        finally:
            cleaned.append("up")

    run = started(runtime, behaviour)
    assert "beside" == ended(started(runtime, echo, "beside")).text

    run.cancel("enough").get(timeout=PATIENCE)

    assert ABORTED == ended(run).stop_reason
    assert ["up"] == cleaned


def test_a_coroutine_that_spins_can_be_cancelled(
    runtime: Runtime,
) -> None:
    """
    A step edge lets the others run, so a loop of steps is no wall.
    """

    async def spinning(turn: Any) -> None:
        while True:
            await turn.step()

    run = started(runtime, spinning)
    for way in WAYS:
        beside = started(runtime, way(echo), "beside")
        assert "beside" == ended(beside).text

    run.cancel("enough").get(timeout=PATIENCE)

    assert ABORTED == ended(run).stop_reason


def test_answers_that_are_there_already_hold_nobody_up(runtime: Runtime) -> None:
    """
    A generator that only ever yields what is answered goes on at once, but not for ever.
    """
    there: Reply[None] = Reply()
    there.resolve()

    def behaviour(_: Any) -> Steps:
        while True:
            yield there

    run = started(runtime, behaviour)
    assert "beside" == ended(started(runtime, echo, "beside")).text

    run.cancel("enough").get(timeout=PATIENCE)

    assert ABORTED == ended(run).stop_reason


def test_garbage_that_is_yielded_again_and_again_holds_nobody_up(runtime: Runtime) -> None:
    """
    The same for a generator that does not listen.
    """

    def behaviour(_: Any) -> Steps:
        while True:
            with suppress(TypeError):
                yield 1

    run = started(runtime, behaviour)
    assert "beside" == ended(started(runtime, echo, "beside")).text

    run.cancel("enough").get(timeout=PATIENCE)

    assert ABORTED == ended(run).stop_reason


def test_what_a_long_row_of_answers_gave_is_not_lost(runtime: Runtime) -> None:
    """
    Each answer comes where it was waited for, values and errors alike.
    """

    def behaviour(_: Any) -> Steps:
        taken: list[Any] = []
        for number in range(1000):
            reply: Reply[int] = Reply()
            if number % 3:
                reply.resolve(number)
            else:
                reply.fail(KeyError(number))
            try:
                taken.append((yield reply))
            except KeyError as error:
                taken.append(error.args[0])
        return taken

    assert list(range(1000)) == ended(started(runtime, behaviour)).unwrap()


def test_a_step_that_takes_long_is_reported() -> None:
    """
    H17: over 100 ms in one step is a stall, with the id of the run and for how long.
    """
    probe = Probe()
    with Runtime() as runtime:

        def hear(event: object) -> None:
            if isinstance(event, RunStalled):
                probe.tell(event)

        runtime.subscribe(hear)

        def behaviour(_: Any) -> Steps:
            threading.Event().wait(0.15)
            yield

        run = started(runtime, behaviour)
        stalled = probe.expect(RunStalled)

        assert COMPLETED == ended(run).stop_reason
        assert run.id == stalled.run_id
        assert 0.1 < stalled.seconds < PATIENCE


def test_a_step_that_never_returns_is_left_behind() -> None:
    """
    H17: its run ends with what is to be done instead, and everybody else goes on.
    """
    gate = Gate()
    with Runtime(dispatcher=ThreadDispatcher(evict_after=0.1)) as runtime:

        def behaviour(_: Any) -> Steps:
            gate.wait()
            yield

        run = started(runtime, behaviour)
        result = ended(run)
        for way in WAYS:
            assert "beside" == ended(started(runtime, way(echo), "beside")).text
        gate.open()

    assert ERROR == result.stop_reason
    assert "use turn.call()" in str(result.diagnostic)
