"""A behaviour that fails costs its own run, says why, and costs nobody else anything."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any, Final

import pykka
import pytest

from retinue.actors import Run, Runtime
from retinue.backends.inprocess import InProcess
from retinue.protocol import messages
from retinue.protocol.errors import InvalidContent, RunFailed
from retinue.protocol.log import Cause, Ending
from retinue.protocol.provider import OpenOrder, TurnOrder, Workplace
from retinue.protocol.result import COMPLETED, ERROR
from tests.actors.behaviours import WAYS, Steps, echo, ended, generator, opened, started
from tests.doubles import PATIENCE

KINDS = pytest.mark.parametrize("make", WAYS)
ENDINGS: Final[list[BaseException]] = [
    ValueError("odd"),
    RuntimeError("generator raised StopIteration"),
    SystemExit(3),
    KeyboardInterrupt("ctrl-c"),
    asyncio.CancelledError("from somewhere"),
    GeneratorExit("closed"),
]


class Unprintable(Exception):
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no repr")

    __str__ = __repr__


def raising(error: BaseException) -> Any:
    """Return work that raises."""

    def work(_: Any) -> Any:
        raise error

    return work


@pytest.fixture(name="neighbour")
def make_neighbour(runtime: Runtime) -> Iterator[Run]:
    """Give a resident that answers before the test, and has to answer after it."""
    run = opened(runtime, echo)
    yield run
    assert "still here" == run.ask("still here").get(timeout=PATIENCE).text
    for way in WAYS:
        fresh = started(runtime, way(echo), "me too")
        assert "me too" == ended(fresh).text


class PykkaNeighbour(pykka.ThreadingActor):
    """An actor of the host's own."""

    def on_receive(self, message: Any) -> Any:
        """Answer."""
        return message


@KINDS
@pytest.mark.parametrize("error", ENDINGS, ids=lambda error: type(error).__name__)
@pytest.mark.usefixtures("neighbour")
def test_what_a_behaviour_raises_is_its_runs_error(
    runtime: Runtime, make: Any, error: BaseException
) -> None:
    """
    H85: whatever it is derived from, it ends one run, and no actor of the process beside;
    the result carries it as an ordinary exception.
    """
    host = PykkaNeighbour.start()
    run = started(runtime, make(raising(error)))

    result = ended(run)

    assert ERROR == result.stop_reason
    assert repr(error) in str(result.diagnostic)
    assert isinstance(result.error, Exception)
    assert error in {result.error, result.error.__cause__}
    assert "hello" == host.ask("hello", timeout=PATIENCE)
    host.stop()


@KINDS
@pytest.mark.usefixtures("neighbour")
def test_an_error_that_cannot_be_printed_is_an_error_all_the_same(
    runtime: Runtime, make: Any
) -> None:
    """
    The diagnostic says so in its stead.
    """
    run = started(runtime, make(raising(Unprintable())))

    result = ended(run)

    assert ERROR == result.stop_reason
    assert "cannot be printed" in str(result.diagnostic)


@KINDS
def test_a_failure_unwraps_with_its_cause(runtime: Runtime, make: Any) -> None:
    """
    RUN-3: the result never raises; unwrapping it does, from what the behaviour raised.
    """
    run = started(runtime, make(raising(ValueError("odd"))))

    with pytest.raises(RunFailed, match=r"raised ValueError\('odd'\)") as caught:
        ended(run).unwrap()
    assert isinstance(caught.value.__cause__, ValueError)


@KINDS
def test_a_resident_survives_the_failure_of_a_turn(runtime: Runtime, make: Any) -> None:
    """
    INF-1: what waits behind the turn that failed is worked on without another wake.
    """

    def work(turn: Any) -> str:
        if turn.text == "fail":
            raise ValueError("odd")
        return str(turn.text)

    run = opened(runtime, make(work))
    replies = [run.ask(text) for text in ("fail", "one", "fail", "two")]

    results = [reply.get(timeout=PATIENCE) for reply in replies]

    assert [ERROR, COMPLETED, ERROR, COMPLETED] == [result.stop_reason for result in results]
    assert ["", "one", "", "two"] == [result.text for result in results]


class Opaque:
    """Is no JSON."""


async def _never() -> None:
    """Be made and not awaited."""


def _steps() -> Steps:
    yield


@KINDS
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Opaque, "returned Opaque"),
        (_never, "returned a coroutine; make the behaviour itself one"),
        (_steps, "returned a generator; make the behaviour itself one"),
        (lambda: float("nan"), "returned float"),
        (lambda: {1: "a"}, "returned dict"),
        (lambda: b"bytes", "returned bytes"),
        (lambda: {"a"}, "returned set"),
        (lambda: (_ for _ in ()), "returned a generator"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_garbage_is_refused_by_name(runtime: Runtime, make: Any, value: Any, words: str) -> None:
    """
    A value that is neither text, content, JSON nor None is an error and no empty answer;
    a coroutine that nobody awaits leaves no warning behind.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = started(runtime, make(lambda _: value()))
        result = ended(run)

    assert ERROR == result.stop_reason
    assert words in str(result.diagnostic)
    assert isinstance(result.error, InvalidContent)


def test_one_of_five_that_fails_costs_one_result(runtime: Runtime) -> None:
    """
    H09: four results and one error, in the order of the starts.
    """

    def work(turn: Any) -> str:
        if turn.text == "2":
            raise ValueError("odd")
        return str(turn.text)

    runs = [runtime.start("spawn", str(n), agent=generator(work)) for n in range(5)]
    results = runtime.wait(runs).get(timeout=PATIENCE)

    reasons = [result.stop_reason for result in results]
    assert [COMPLETED, COMPLETED, ERROR, COMPLETED, COMPLETED] == reasons
    assert ["0", "1", "", "3", "4"] == [result.text for result in results]


class GarbledDriver:
    """Reports a piece of text that is none."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    def begin(self, order: TurnOrder) -> None:
        """Report, and complete."""
        self._workplace.report(messages.Streamed(order.turn, 5))  # type: ignore[arg-type]
        self._workplace.report(messages.TurnEnded(order.turn, Ending.COMPLETED))

    def stop(self, cause: Cause) -> None:
        """Have nothing to stop."""

    def close(self) -> None:
        """Have nothing to close."""
        self._workplace.report(messages.Closed())


class Garbled(InProcess):
    """A provider of such drivers."""

    def open(self, order: OpenOrder, workplace: Workplace) -> Any:
        """Make one."""
        del order
        return GarbledDriver(workplace)


@pytest.mark.usefixtures("neighbour")
def test_a_run_whose_log_cannot_be_read_has_an_end(runtime: Runtime) -> None:
    """
    Promise 2: exactly one result, whatever a driver reported; disposing works.
    """
    runtime.register(Garbled("garbled")).get(timeout=PATIENCE)
    run = runtime.start("garbled", "go").get(timeout=PATIENCE)

    result = ended(run)

    assert ERROR == result.stop_reason
    assert "its log cannot be read" in str(result.diagnostic)
    assert run.dispose().get(timeout=PATIENCE)
