"""Closing: twice, at once, from inside, without patience, and everything after it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from retinue.actors import ManualClock, Reply, Runtime
from retinue.protocol.errors import (
    Closing,
    DeadRun,
    InvalidLimit,
    NotQuiescent,
    WouldBlock,
)
from retinue.protocol.result import ABORTED
from tests.actors.behaviours import WAYS, Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate


def test_closes_on_several_threads_wait_for_the_first() -> None:
    """
    None returns before nothing is left (promise 4).
    """
    gate, runtime = Gate(), Runtime()
    left: list[int] = []

    def busy(_: Any) -> None:
        gate.wait()

    started(runtime, busy)
    assert gate.reached.wait(PATIENCE)

    def close() -> None:
        runtime.close()
        left.append(sum(thread.name.startswith("retinue") for thread in threading.enumerate()))

    closers = [threading.Thread(target=close) for _ in range(3)]
    for closer in closers:
        closer.start()
    assert [] == left
    gate.open()
    for closer in closers:
        closer.join(PATIENCE)

    assert [0, 0, 0] == left
    runtime.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_run_cannot_close_its_own_runtime(runtime: Runtime, way: Callable[[Any], Any]) -> None:
    """
    It would wait for itself: refused at once, and the runtime goes on.
    """
    result = ended(started(runtime, way(lambda _: runtime.close())))

    assert isinstance(result.error, WouldBlock)
    assert "still here" == ended(started(runtime, echo, "still here")).text


def test_a_coroutine_cannot_aclose_its_own_runtime(runtime: Runtime) -> None:
    """
    Nor by awaiting.
    """

    async def behaviour(_: Any) -> None:
        await runtime.aclose()

    assert isinstance(ended(started(runtime, behaviour)).error, WouldBlock)


def test_observers_and_callbacks_cannot_close(runtime: Runtime) -> None:
    """
    They run on the dispatcher, which a close waits for.
    """
    errors: list[BaseException] = []

    def close(_: object) -> None:
        try:
            runtime.close()
        except WouldBlock as error:
            errors.append(error)

    run = opened(runtime, echo)
    runtime.subscribe(close)
    run.result.on_done(close)
    run.cancel("enough").get(timeout=PATIENCE)

    ended(run)
    assert run.dispose().get(timeout=PATIENCE)
    runtime.tree()
    assert 2 == len(errors)


def test_a_run_may_close_a_runtime_of_its_own(runtime: Runtime) -> None:
    """
    What it made it may end; when it is cancelled on the way the other is ended all the same.
    """

    def behaviour(turn: Any) -> str:
        with Runtime() as inner:
            return ended(started(inner, echo, turn.text)).text

    assert "inner" == ended(started(runtime, behaviour, "inner")).text


def test_a_close_without_patience_leaves_nobody_waiting() -> None:
    """
    What can end at once does; of the rest everybody who waits is told, and it is named.
    """
    gate = Gate()
    runtime = Runtime(clock=ManualClock())

    def deaf(_: Any) -> None:
        gate.wait()

    cleaned = threading.Event()

    def tidy(turn: Any) -> Steps:
        try:
            yield turn.sleep(86_400)
        finally:
            cleaned.set()

    resident = opened(runtime, deaf)
    first, second = resident.ask("one"), resident.ask("two")
    other = started(runtime, tidy)
    assert gate.reached.wait(PATIENCE)
    disposed = resident.dispose()
    wait: Reply[Any] = runtime.wait([Reply()], timeout=86_400)

    with pytest.raises(NotQuiescent, match=resident.id):
        runtime.close(timeout=0)

    assert cleaned.is_set()
    assert ABORTED == ended(other).stop_reason
    for reply in (first, second, disposed, resident.result):
        reply.wait_for(PATIENCE)
        assert reply.is_done
    assert not wait.get(timeout=PATIENCE)[0].is_success
    gate.open()


@pytest.mark.parametrize("timeout", ["x", None, float("nan"), -1, []])
def test_a_close_has_a_time_or_none_at_all(runtime: Runtime, timeout: Any) -> None:
    """
    One that makes no sense is refused, and the runtime stays open.
    """
    with pytest.raises(InvalidLimit):
        runtime.close(timeout)
    assert "still here" == ended(started(runtime, echo, "still here")).text


def test_everything_is_refused_after_a_close() -> None:
    """
    Nothing hangs, nothing is taken, and what was known stays known.
    """
    with Runtime() as runtime:
        run, done = opened(runtime, echo), started(runtime, echo, "done")
        ended(done)

    asks: list[Callable[[], Any]] = [
        lambda: runtime.start("spawn", "go", agent=echo).get(timeout=PATIENCE),
        lambda: runtime.open(echo).get(timeout=PATIENCE),
        lambda: runtime.find(run.id).get(timeout=PATIENCE),
        lambda: runtime.register(object()).get(timeout=PATIENCE),  # type: ignore[arg-type]
        lambda: done.resume("go on").get(timeout=PATIENCE),  # type: ignore[attr-defined]
        runtime.tree,
        runtime.children,
        runtime.descendants,
        runtime.providers,
        lambda: runtime.provider("spawn"),
        lambda: runtime.result_of(done.id),
        lambda: runtime.subscribe(print),
        lambda: runtime.watch(run, print),
        runtime.__enter__,
    ]
    for ask in asks:
        with pytest.raises(Closing):
            ask()
    for verb in ("tell", "ask", "inject", "steer"):
        with pytest.raises(DeadRun):
            getattr(run, verb)("go").get(timeout=PATIENCE)
    assert [False] * 3 == [
        getattr(run, verb)().get(timeout=PATIENCE) for verb in ("cancel", "interrupt", "wrap_up")
    ]
    assert run.dispose().get(timeout=PATIENCE)
    assert [ended(run), ended(done)] == runtime.wait([run, done]).get(timeout=PATIENCE)
    assert not runtime.wait([Reply()], timeout=86_400).get(timeout=PATIENCE)[0].is_success
    runtime.close()
