"""The contract of every provider: steering, injecting and resuming, where it can be done."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Run, Runtime, StepTaken, SupportsResume, SupportsSteer
from retinue.backends.scripted import Echo, Hold, Item, Raise, Return, Scripted, StepEdge
from retinue.protocol import messages
from retinue.protocol.content import Kind, Message, Source, Text
from retinue.protocol.errors import DeadRun, NotDelivered, NotResident, UnsupportedCapability
from retinue.protocol.log import StepStarted, UserMessage
from tests.backends.contract import (
    CASES,
    Case,
    barrier,
    cancelled_at,
    overheard,
    result_of,
    script_of_options,
    standstill,
    started,
)
from tests.doubles import PATIENCE


def held(runtime: Runtime, case: Case, hold: Hold, *script: Item) -> Any:
    """Start a run that stands at *hold* and then plays *script*."""
    run = started(runtime, case, hold, *script)
    assert hold.reached.wait(PATIENCE)
    return run


def test_what_is_steered_is_taken_at_the_next_step_edge(case: Case, runtime: Runtime) -> None:
    """
    The receipt names the step, and the step has the words, from the user and in order.
    """
    hold = Hold()
    run = held(runtime, case, hold, StepEdge())
    receipts = [run.steer(text) for text in ("leave blanks out", "and be quick")]
    barrier(run)

    hold.release()

    assert [StepTaken(run.id, 1, 2)] * 2 == [reply.get(timeout=PATIENCE) for reply in receipts]
    assert "and be quick" == result_of(run).text
    heard = [event.message for event in run.transcript() if isinstance(event, UserMessage)]
    assert ["go", "leave blanks out", "and be quick"] == [message.text for message in heard]
    assert {Kind.USER} == {message.source.kind for message in heard}


def test_what_no_step_takes_is_not_delivered(case: Case, runtime: Runtime) -> None:
    """
    H25: accepted just before the turn's last step, and never silence nor a further turn.
    """
    hold = Hold()
    run = held(runtime, case, hold, Return("done"))
    receipt = run.steer("one more thing")
    barrier(run)

    hold.release()

    with pytest.raises(NotDelivered, match=run.id):
        receipt.get(timeout=PATIENCE)
    assert "done" == result_of(run).text


def test_what_was_steered_is_not_delivered_to_a_run_that_fails(
    case: Case, runtime: Runtime
) -> None:
    """
    H25: a turn that raises, and one that is cancelled, answer their receipts as well.
    """
    holds = Hold(), Hold()
    failing = held(runtime, case, holds[0], Raise(ValueError("odd")))
    cancelled = held(runtime, case, holds[1], StepEdge())
    receipts = failing.steer("to one"), cancelled.steer("to the other")
    barrier(failing)

    holds[0].release()
    cancelled_at(holds[1], cancelled)

    for receipt in receipts:
        with pytest.raises(NotDelivered):
            receipt.get(timeout=PATIENCE)


@pytest.mark.parametrize("case", [case for case in CASES if case.works_elsewhere], ids=str)
def test_a_step_edge_that_a_cancel_overtakes_takes_nothing(case: Case, runtime: Runtime) -> None:
    """
    H25: the turn was stopped while it stood at the edge, and the receipt says so.
    """
    hold = Hold()
    case, ear = overheard(runtime, case)
    run = held(runtime, case, hold, StepEdge())
    receipt = run.steer("one more thing")
    barrier(run)

    with standstill(runtime):
        hold.release()
        ear.wait_for(messages.StepEdge)
        run.cancel()

    with pytest.raises(NotDelivered):
        receipt.get(timeout=PATIENCE)
    result_of(run)
    assert ["go"] == [
        event.message.text for event in run.transcript() if isinstance(event, UserMessage)
    ]


def test_a_run_that_has_ended_cannot_be_steered(case: Case, runtime: Runtime) -> None:
    """
    H25, H27: what comes too late is refused, with an error of its own.
    """
    run: Any = started(runtime, case, Echo())
    run.dispose().get(timeout=PATIENCE)

    with pytest.raises(DeadRun, match=run.id):
        run.steer("anybody there?").get(timeout=PATIENCE)


def test_what_is_injected_comes_with_the_next_step(case: Case, runtime: Runtime) -> None:
    """
    It does not wake anybody, and is there when a step looks.
    """
    hold = Hold()
    run = held(runtime, case, hold, StepEdge())

    assert run.inject("by the way").get(timeout=PATIENCE)
    hold.release()
    result_of(run)
    edges = [event for event in run.transcript() if isinstance(event, StepStarted)]

    assert edges
    assert "by the way" in [
        event.message.text for event in run.transcript() if isinstance(event, UserMessage)
    ]


def test_a_one_shot_takes_no_further_prompt(case: Case, runtime: Runtime) -> None:
    """
    It has one prompt and one result: the second prompt is refused, and the run goes on.
    """
    hold = Hold()
    run = held(runtime, case, hold, Return("done"))

    for verb in (run.tell, run.ask):
        with pytest.raises(NotResident, match=run.id):
            verb("and then?").get(timeout=PATIENCE)
    hold.release()

    assert "done" == result_of(run).text


def test_a_resident_takes_one_turn_per_prompt_in_order(case: Case, runtime: Runtime) -> None:
    """
    Each answer belongs to its own prompt, and the turns are numbered through.
    """
    run = case.open(runtime, [Echo(), Echo(), Return("three")]).get(timeout=PATIENCE)

    with standstill(runtime):
        asked = [run.ask(text) for text in ("one", "two", "else")]
    answers = [reply.get(timeout=PATIENCE) for reply in asked]

    assert [("one", 1), ("two", 2), ("three", 3)] == [(a.text, a.turn) for a in answers]


def test_a_resident_lives_on_after_a_turn_that_failed(case: Case, runtime: Runtime) -> None:
    """
    One bad turn is that turn's result.
    """
    run = case.open(runtime, [Raise(ValueError("odd")), Echo()]).get(timeout=PATIENCE)

    assert "error" == run.ask("first").get(timeout=PATIENCE).stop_reason
    assert "second" == run.ask("second").get(timeout=PATIENCE).unwrap()


def test_steering_an_idle_resident_wakes_it(case: Case, runtime: Runtime) -> None:
    """
    The receipt names the first step of the turn that it woke.
    """
    run: Any = case.open(runtime, [Echo()]).get(timeout=PATIENCE)

    assert StepTaken(run.id, 1, 1) == run.steer("wake up").get(timeout=PATIENCE)


def test_a_settled_run_can_be_gone_on_from(case: Case, runtime: Runtime) -> None:
    """
    The new run begins with the whole of the old one's log, and answers for itself alone.
    """
    run: Any = started(runtime, case, Return("first answer"), prompt="first")
    result_of(run)

    script = {"script": iter([Return(None)])}
    again: Run = run.resume("second", options=script).get(timeout=PATIENCE)
    result = result_of(again)

    assert (1, ()) == (result.seed_turns, result.output)
    assert 1 == again.seed_turns
    assert ["first", "first answer", "second"] == [message.text for message in again.log.messages()]


def test_a_run_with_a_turn_open_cannot_be_gone_on_from(case: Case, runtime: Runtime) -> None:
    """
    Its history is not balanced yet.
    """
    run = held(runtime, case, Hold())

    with pytest.raises(DeadRun, match="turn open"):
        run.resume("and?").get(timeout=PATIENCE)


@pytest.mark.parametrize("steers", [True, False])
@pytest.mark.parametrize("accepts_seed", [True, False])
def test_a_run_has_the_methods_that_its_provider_can_honour(
    runtime: Runtime, *, steers: bool, accepts_seed: bool
) -> None:
    """
    REG-21: the presence of a method is the capability, on the run and on its driver.
    """
    provider = Scripted(name="lacking", steers=steers, accepts_seed=accepts_seed)
    runtime.register(provider).get(timeout=PATIENCE)

    run = runtime.start("lacking", "hello").get(timeout=PATIENCE)

    assert steers is isinstance(run, SupportsSteer)
    assert accepts_seed is isinstance(run, SupportsResume)
    assert (steers, accepts_seed) == (hasattr(run, "steer"), hasattr(run, "resume"))


def test_steering_past_a_missing_method_is_refused(runtime: Runtime) -> None:
    """
    Refused loudly or honoured: the message itself is turned down where it cannot be taken.
    """
    hold = Hold()
    provider = Scripted(script_of_options, name="stiff", steers=False)
    runtime.register(provider).get(timeout=PATIENCE)
    run = held(runtime, Case("stiff", provider), hold, StepEdge())

    with pytest.raises(UnsupportedCapability, match="stiff"):
        run.ref.ask(messages.Steer(Message((Text("psst"),), Source(Kind.USER))), timeout=PATIENCE)
