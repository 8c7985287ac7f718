"""Providers and drivers that break their contract: the run ends, and nothing else does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from retinue.actors import Runtime
from retinue.protocol.content import Text
from retinue.protocol.errors import (
    BadMessage,
    ProviderFault,
    StartFailed,
)
from retinue.protocol.log import Cause, Ending
from retinue.protocol.messages import Closed, Crashed, Opened, Said, Streamed, TurnEnded
from retinue.protocol.provider import TurnOrder
from retinue.protocol.result import ABORTED, COMPLETED, ERROR, RunResult
from tests.actors.behaviours import echo, ended, started
from tests.actors.odd import Odd, Sound
from tests.doubles import PATIENCE


@pytest.fixture(name="use")
def make_use() -> Iterator[Callable[[Any], Runtime]]:
    """Give what makes a runtime with one odd provider, and see that it still works after."""
    made: list[Runtime] = []

    def use(make: Any, *, is_immediate: bool = True) -> Runtime:
        made.append(Runtime([Odd(make, is_immediate=is_immediate)], grace=0.1))
        return made[-1]

    yield use
    for runtime in made:
        assert "still here" == ended(started(runtime, echo, "still here")).text
        runtime.close()


def result_of(runtime: Runtime) -> RunResult:
    """Start a run on the odd provider, see it end, and let it go."""
    run = runtime.start("odd", "go").get(timeout=PATIENCE)
    result = ended(run)
    assert run.dispose().get(timeout=PATIENCE)
    return result


@pytest.mark.parametrize("is_immediate", [True, False])
@pytest.mark.parametrize("made", [None, object(), 5, "driver"])
def test_what_is_no_driver_is_no_start(use: Any, made: Any, *, is_immediate: bool) -> None:
    """
    A method that is missing is named, and no run ever was.
    """
    runtime = use(lambda _: made, is_immediate=is_immediate)

    with pytest.raises(StartFailed, match=r"lacks begin\(\), stop\(\), close\(\)"):
        runtime.start("odd", "go").get(timeout=PATIENCE)
    assert 0 == len(runtime.tree())


@pytest.mark.parametrize("is_immediate", [True, False])
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
def test_an_open_may_raise_anything(use: Any, error: Any, *, is_immediate: bool) -> None:
    """
    The start is refused with it, in the actor and on a thread.
    """

    def make(_: Any) -> None:
        raise error

    runtime = use(make, is_immediate=is_immediate)

    with pytest.raises(StartFailed, match=error.__name__):
        runtime.start("odd", "go").get(timeout=PATIENCE)


@pytest.mark.parametrize("error", [ProviderFault("down"), ValueError("x"), SystemExit()])
def test_a_begin_that_raises_ends_the_run(use: Any, error: BaseException) -> None:
    """
    One of our own errors is no refusal of a message: nobody would end the turn.
    """

    class Driver(Sound):
        def begin(self, order: TurnOrder) -> None:
            raise error

    runtime = use(Driver)

    assert ERROR == result_of(runtime).stop_reason
    resident = runtime.open(None, provider="odd").get(timeout=PATIENCE)
    with pytest.raises(Exception, match="ended before the turn did"):
        resident.ask("go").get(timeout=PATIENCE)
    assert ERROR == ended(resident).stop_reason


@pytest.mark.parametrize("error", [ProviderFault("deaf"), ValueError("x"), SystemExit()])
def test_a_stop_that_raises_ends_the_run(use: Any, error: BaseException) -> None:
    """
    Whoever cancels is answered, and the cancel owns the outcome.
    """

    class Driver(Sound):
        def begin(self, order: TurnOrder) -> None:
            del order

        def stop(self, cause: Cause) -> None:
            raise error

    run = use(Driver).start("odd", "go").get(timeout=PATIENCE)

    assert run.cancel("enough").get(timeout=PATIENCE)
    assert ABORTED == ended(run).stop_reason
    assert run.dispose().get(timeout=PATIENCE)


@pytest.mark.parametrize("fact", ["text", None, object(), Text("words"), 5])
def test_what_is_no_fact_is_refused_to_the_driver(use: Any, fact: object) -> None:
    """
    In its own call, where its author sees it; inside of a begin the run has crashed by it.
    """
    refused = threading.Event()

    class Driver(Sound):
        def begin(self, order: TurnOrder) -> None:
            if order.messages[-1].text != "apart":
                self.workplace.report(fact)
                return
            with pytest.raises(BadMessage):
                self.workplace.after(0.0, fact)
            refused.set()
            super().begin(order)

    runtime = use(Driver)

    assert "BadMessage" in str(result_of(runtime).diagnostic)
    assert "sound" == ended(runtime.start("odd", "apart").get(timeout=PATIENCE)).text
    assert refused.is_set()


@pytest.mark.parametrize("is_apart", [True, False])
def test_a_driver_that_closes_itself_ends_the_run(use: Any, *, is_apart: bool) -> None:
    """
    In the middle of a turn, which would never end; from a thread of its own as well.
    """

    class Driver(Sound):
        def begin(self, order: TurnOrder) -> None:
            del order
            if is_apart:
                threading.Thread(target=self.close).start()
            else:
                self.close()

    result = result_of(use(Driver))

    assert ERROR == result.stop_reason
    assert isinstance(result.error, ProviderFault)


def test_facts_of_other_turns_and_second_ends_are_ignored(use: Any) -> None:
    """
    Promise 2: one result, the first; late facts from another thread find nobody.
    """
    late = list[threading.Thread]()

    class Driver(Sound):
        def begin(self, order: TurnOrder) -> None:
            self.workplace.report(Said(order.turn + 7, (Text("wrong"),)))
            self.workplace.report(Opened(self))
            super().begin(order)
            self.workplace.report(TurnEnded(order.turn, Ending.ERROR))
            self.workplace.report(TurnEnded(order.turn + 1, Ending.ERROR))

        def close(self) -> None:
            super().close()
            super().close()
            late.append(threading.Thread(target=self.speak_up))
            late[-1].start()

        def speak_up(self) -> None:
            for fact in (
                TurnEnded(1, Ending.ERROR),
                Crashed(OSError()),
                Streamed(1, "x"),
                Closed(),
            ):
                self.workplace.report(fact)

    result = result_of(use(Driver))
    for thread in late:
        thread.join(PATIENCE)

    assert (COMPLETED, "sound") == (result.stop_reason, result.text)
