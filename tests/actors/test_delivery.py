"""Every message is taken, or its sender is told (promise 5)."""

from __future__ import annotations

from typing import Any

import pykka
import pytest

from retinue.actors import Run, Runtime
from retinue.actors._mailbox import BOUND
from retinue.protocol.errors import (
    DeadRun,
    MailboxFull,
    NoSuchRun,
    NotAllowed,
    NotResident,
    RetinueError,
)
from retinue.protocol.events import Undelivered
from retinue.protocol.result import ABORTED
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate, Probe


class Gated:
    """Holds its first turn at a gate, and echoes the others."""

    def __init__(self) -> None:
        self.gate = Gate()

    def __call__(self, turn: Any) -> str:
        """Answer with the prompt."""
        if turn.number == 1:
            self.gate.wait()
        return str(turn.text)


@pytest.fixture(name="gated")
def make_gated() -> Gated:
    """Give a behaviour with a gate."""
    return Gated()


@pytest.fixture(name="busy")
def make_busy(runtime: Runtime, gated: Gated) -> Run:
    """Give a resident whose first turn is held at the gate."""
    run = opened(runtime, gated)
    run.tell("first").get(timeout=PATIENCE)
    assert gated.gate.reached.wait(PATIENCE)
    return run


def heard(runtime: Runtime) -> Probe:
    """Return a probe that hears of what was not delivered."""
    probe = Probe()

    def hear(event: object) -> None:
        if isinstance(event, Undelivered):
            probe.tell(event)

    runtime.subscribe(hear)
    return probe


def test_each_wrong_target_has_its_own_error(runtime: Runtime, busy: Run, gated: Gated) -> None:
    """
    H27: unknown, closed, foreign, one-shot and full; and none of them is only logged.
    """
    closed = opened(runtime, echo)
    closed.dispose().get(timeout=PATIENCE)
    one_shot = started(runtime, gated, "not a resident")
    opened(runtime, echo, name="private")

    def asking(turn: Any) -> Steps:
        yield from turn.peer("private")

    for _ in range(BOUND):
        busy.ref.tell("more")
    wrong: list[tuple[Any, type[RetinueError]]] = [
        (lambda: runtime.find("nobody").get(timeout=PATIENCE), NoSuchRun),
        (lambda: runtime.find(f"{runtime.id}-999").get(timeout=PATIENCE), NoSuchRun),
        (lambda: closed.tell("late").get(timeout=PATIENCE), DeadRun),
        (lambda: closed.ask("late").get(timeout=PATIENCE), DeadRun),
        (lambda: one_shot.ask("again").get(timeout=PATIENCE), NotResident),
        (lambda: busy.tell("one too many").get(timeout=PATIENCE), MailboxFull),
        (lambda: busy.ref.tell("one too many"), MailboxFull),
    ]
    for send, error in wrong:
        with pytest.raises(error):
            send()
    assert isinstance(ended(started(runtime, asking)).error, NotAllowed)
    with pytest.raises(pykka.ActorDeadError):
        closed.ref.tell("late")
    one_shot.cancel().get(timeout=PATIENCE)
    busy.cancel().get(timeout=PATIENCE)
    gated.gate.open()


def test_a_full_mailbox_takes_more_when_some_is_taken(
    runtime: Runtime, busy: Run, gated: Gated
) -> None:
    """
    INB-1: the bound counts what waits, of every kind, and a refused message does not count.
    """
    for _ in range(BOUND - 1):
        busy.ref.tell("more")
    busy.inject("the last").get(timeout=PATIENCE)
    for _ in range(3):
        with pytest.raises(MailboxFull):
            busy.tell("one too many").get(timeout=PATIENCE)
    gated.gate.open()

    while (reply := busy.tell("is there room?")).error is not None:
        runtime.tree()
    assert reply.get(timeout=PATIENCE)
    busy.cancel().get(timeout=PATIENCE)


def test_a_dead_run_does_not_fill_up(runtime: Runtime) -> None:
    """
    What is refused in a handler waits no more: a one-shot refuses any number of prompts.
    """
    gated = Gated()
    run = started(runtime, gated, "one-shot")
    assert gated.gate.reached.wait(PATIENCE)

    for _ in range(BOUND // 1000 + 1):
        for _ in range(1000):
            run.ref.tell("again")
        with pytest.raises(NotResident):
            run.tell("and behind them").get(timeout=PATIENCE)
    gated.gate.open()
    assert ended(run).is_success


def test_what_waited_when_a_run_ended_is_handed_back(
    runtime: Runtime, busy: Run, gated: Gated
) -> None:
    """
    H25, H59: a told prompt becomes an Undelivered, an ask fails, and nothing is silent.
    """
    probe = heard(runtime)
    busy.tell("told").get(timeout=PATIENCE)
    busy.inject("injected").get(timeout=PATIENCE)
    asked = [busy.ask("asked") for _ in range(100)]
    runtime.tree()

    busy.cancel("enough").get(timeout=PATIENCE)
    gated.gate.open()

    for reply in asked:
        with pytest.raises(RetinueError):
            reply.get(timeout=PATIENCE)
    texts = {probe.expect(Undelivered).message.text for _ in range(2)}  # type: ignore[attr-defined]
    assert {"told", "injected"} == texts
    assert ABORTED == ended(busy).stop_reason
