"""Foreign code that raises, wherever the runtime calls it: it costs nobody else anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from retinue.actors import Cancellation, Reply, Runtime, agent
from retinue.protocol.errors import InvalidSchema, NoProvider, StartFailed
from retinue.protocol.result import COMPLETED, ERROR, REFUSAL
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.actors.providers import Keeping
from tests.doubles import PATIENCE, Gate, Probe


class Evil(BaseException):
    """An error that nobody expects, and that cannot even be printed."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


def evil(*_: object) -> Any:
    """Raise that."""
    raise Evil


def still_works(runtime: Runtime) -> bool:
    """Start one more run, and see how it ends."""
    return "still here" == ended(started(runtime, echo, "still here")).text


def test_a_callback_of_a_reply_may_raise(runtime: Runtime) -> None:
    """
    Of a result, of an answer, of a wait whose time is over: the other callbacks are called,
    and the thread that resolves goes on.
    """
    gate, heard = Gate(), Probe()

    def behaviour(turn: Any) -> str:
        gate.wait()
        return str(turn.text)

    run = opened(runtime, behaviour)
    replies: list[Reply[Any]] = [run.result, run.ask("one"), runtime.wait([run], timeout=0.01)]
    for reply in replies:
        reply.on_done(evil)
        reply.on_done(heard.tell)
    gate.open()
    replies[1].get(timeout=PATIENCE)
    run.cancel("enough").get(timeout=PATIENCE)

    assert set(replies) == {heard.expect(Reply) for _ in replies}
    assert still_works(runtime)


def test_a_callback_that_is_called_at_once_may_raise_as_well() -> None:
    """
    Whether the answer was there already is a race, and makes no difference.
    """
    reply: Reply[str] = Reply()
    reply.resolve("there")

    reply.on_done(evil)

    assert "there" == reply.get(timeout=0)


def test_a_mapped_function_may_raise(runtime: Runtime) -> None:
    """
    What it raises is the answer, an ordinary error where somebody waits elsewhere (H85).
    """
    run = opened(runtime, echo)

    (outcome,) = runtime.wait([run.ask("x").map(evil)]).get(timeout=PATIENCE)

    assert not outcome.is_success
    with pytest.raises(RuntimeError, match="cannot be printed"):
        outcome.unwrap()
    assert "here" == run.ask("here").get(timeout=PATIENCE).text


def test_a_generator_gets_what_a_mapped_function_raised(runtime: Runtime) -> None:
    """
    And may go on from there.
    """
    run = opened(runtime, echo)

    def behaviour(_: Any) -> Steps:
        try:
            yield from run.ask("x").map(evil)
        except BaseException as error:  # noqa: BLE001 - what else could be caught
            return type(error).__name__

    assert ended(started(runtime, behaviour)).text in {"Evil", "RuntimeError"}
    assert still_works(runtime)


def test_a_listener_of_a_token_may_raise(runtime: Runtime) -> None:
    """
    The runs that were started with it are cancelled all the same.
    """
    token = Cancellation()
    token.listen(evil)

    def endless(turn: Any) -> Steps:
        yield turn.sleep(86_400)

    run = started(runtime, endless, cancel=token)

    assert token.cancel("enough")
    assert not ended(run).is_success
    token.listen(evil)


@pytest.mark.parametrize("reason", [None, "", 5])
def test_a_token_is_tripped_whatever_the_reason(runtime: Runtime, reason: Any) -> None:
    """
    The reason is text, or becomes it.
    """
    token = Cancellation()
    run = started(runtime, lambda turn: turn.sleep(86_400), cancel=token)

    assert token.cancel(reason)

    assert token.cancelled
    assert str(reason) == token.reason
    assert not ended(run).is_success


def test_a_gate_that_raises_declines(runtime: Runtime) -> None:
    """
    Whatever it raises, or answers with: the turn is refused, and the resident goes on.
    """

    class NoText:
        __str__ = evil

    answers: Iterator[Callable[[], Any]] = iter([evil, NoText, lambda: None])

    @agent(gate=lambda _: next(answers)())
    def behaviour(turn: Any) -> str:
        return str(turn.text)

    run = opened(runtime, behaviour)
    results = [run.ask(word).get(timeout=PATIENCE) for word in ("one", "two", "three")]

    assert [REFUSAL, REFUSAL, COMPLETED] == [result.stop_reason for result in results]


def test_a_veto_may_be_of_any_kind(runtime: Runtime) -> None:
    """
    REG-5: it takes the registration back, and the registry goes on.
    """
    runtime.subscribe(evil)

    with pytest.raises(RuntimeError):
        runtime.register(Keeping("vetoed")).get(timeout=PATIENCE)

    with pytest.raises(NoProvider):
        runtime.start("vetoed", "go").get(timeout=PATIENCE)
    assert still_works(runtime)


class Unreadable:
    """A type that cannot say what its instances look like."""

    @staticmethod
    def model_json_schema() -> Any:
        """Raise."""
        raise SystemExit


def test_a_schema_that_raises_costs_its_asker_the_start(runtime: Runtime) -> None:
    """
    Both a caller outside and a turn are told; the turn's run is released.
    """

    def parent(turn: Any) -> None:
        turn.start("spawn", "go", agent=echo, output_schema=Unreadable)

    run = started(runtime, parent)
    reply = runtime.start("spawn", "go", agent=echo, output_schema=Unreadable)

    with pytest.raises(RuntimeError, match="SystemExit"):
        reply.get(timeout=PATIENCE)
    assert ERROR == ended(run).stop_reason
    assert run.dispose().get(timeout=PATIENCE)
    assert still_works(runtime)


def test_an_open_that_refuses_is_quoted_in_lines(runtime: Runtime) -> None:
    """
    Our own errors are told as they read, lists of violations included, and not as a repr.
    """

    class Refusing(Keeping):
        def open(self, order: Any, workplace: Any) -> Any:
            raise InvalidSchema("no JSON Schema", ["/type: wrong"])

    runtime.register(Refusing("refusing")).get(timeout=PATIENCE)

    with pytest.raises(StartFailed, match=r"run: InvalidSchema: no JSON Schema\n  - /type: wrong$"):
        runtime.start("refusing", "go").get(timeout=PATIENCE)


def test_an_open_may_raise_what_cannot_be_printed(runtime: Runtime) -> None:
    """
    The start fails, and says that.
    """

    class Broken(Keeping):
        def open(self, order: Any, workplace: Any) -> Any:
            raise Evil

    runtime.register(Broken("broken")).get(timeout=PATIENCE)

    with pytest.raises(StartFailed, match="cannot be printed"):
        runtime.start("broken", "go").get(timeout=PATIENCE)
    assert still_works(runtime)
