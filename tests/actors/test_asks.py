"""Asks that could never be answered are refused at once; peers are found by name."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, Run, Runtime
from retinue.protocol.errors import AskCycle, DuplicateName, NoSuchRun, NotAllowed
from tests.actors.behaviours import WAYS, Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate


def waits(runtime: Runtime, waiter: Run, target: Run) -> bool:
    """Return whether one run is known to wait for another."""
    return any(row.run_id == waiter.id and target.id in row.waits_for for row in runtime.tree())


def test_a_child_that_asks_its_waiting_parent_is_refused(runtime: Runtime) -> None:
    """
    H52: at once, with the circle in the message; the parent's turn goes on.
    """
    parents: list[Run] = []

    def child(turn: Any) -> str:
        with pytest.raises(AskCycle) as caught:
            turn.ask(parents[0], "may I?")
        assert (turn.run.id, parents[0].id, turn.run.id) == caught.value.cycle
        assert f"{turn.run.id} → {parents[0].id} → {turn.run.id}" in str(caught.value)
        return "refused"

    def parent(turn: Any) -> str:
        parents.append(turn.run)
        return str(ended(turn.start("spawn", "go", agent=child)).text)

    assert "refused" == opened(runtime, parent).ask("go").get(timeout=PATIENCE).text


@pytest.mark.parametrize("make", ["blocking", "stepped", "awaited"])
def test_asks_in_a_circle_are_refused_to_the_last(runtime: Runtime, make: str) -> None:
    """
    H56: A asks B asks C asks A: the one that would close the circle is told so, the others
    have their answers.
    """
    ring: list[Run] = []

    def after(turn: Any) -> Run:
        ids = [run.id for run in ring]
        return ring[(ids.index(turn.run.id) + 1) % len(ring)]

    def blocking(turn: Any) -> str:
        try:
            return str(turn.ask(after(turn), "pass it on").text)
        except AskCycle as error:
            return str(error)

    def stepped(turn: Any) -> Steps:
        try:
            return (yield from turn.ask(after(turn), "pass it on")).text
        except AskCycle as error:
            return str(error)

    async def awaited(turn: Any) -> str:
        try:
            return str((await turn.ask(after(turn), "pass it on")).text)
        except AskCycle as error:
            return str(error)

    behaviour = {"blocking": blocking, "stepped": stepped, "awaited": awaited}[make]
    ring.extend(opened(runtime, behaviour) for _ in range(3))
    text = ring[0].ask("go").get(timeout=PATIENCE).text

    assert " → ".join(run.id for run in (ring[2], *ring)) in text


@pytest.mark.parametrize("asks_first", [True, False])
def test_waiting_for_a_result_counts_like_asking(runtime: Runtime, *, asks_first: bool) -> None:
    """
    H52: whoever closes the circle is refused, the child that asks or the parent that waits.
    """
    residents: list[Run] = []

    def child(turn: Any) -> str:
        while not asks_first and not waits(runtime, residents[0], turn.run):
            turn.step()
        try:
            return str(turn.ask(residents[0], "may I?").text)
        except AskCycle:
            return "refused"

    def parent(turn: Any) -> str:
        if turn.text == "may I?":
            return "yes"
        run = turn.start("spawn", "go", agent=child, background=True)
        while asks_first and not waits(runtime, run, turn.run):
            turn.step()
        try:
            return str(run.result.get(timeout=PATIENCE).text)
        except AskCycle:
            return "refused"

    residents.append(opened(runtime, parent))

    assert "refused" == residents[0].ask("go").get(timeout=PATIENCE).text


@pytest.mark.parametrize("make", WAYS)
def test_asking_oneself_is_refused(runtime: Runtime, make: Any) -> None:
    """
    The shortest circle there is.
    """

    def work(turn: Any) -> Any:
        return turn.run.ask("myself")

    def behaviour(turn: Any) -> str:
        reply = work(turn)
        assert isinstance(reply.error, AskCycle)
        return "refused"

    assert "refused" == opened(runtime, make(behaviour)).ask("go").get(timeout=PATIENCE).text


def test_peers_find_each_other_by_name(runtime: Runtime) -> None:
    """
    One that is declared open, and one's own child, and nobody else; unknown is told apart.
    """
    opened(runtime, Agent(echo, is_open=True), name="open")
    opened(runtime, echo, name="closed")

    def behaviour(turn: Any) -> list[str]:
        turn.open(echo, name="mine")
        answers = [turn.ask(turn.peer(name), "hello").text for name in ("open", "mine")]
        for name, error in (("closed", NotAllowed), ("nobody", NoSuchRun)):
            with pytest.raises(error):
                turn.peer(name)
        turn.peer("mine").dispose().get(timeout=PATIENCE)
        return answers

    assert ["hello", "hello"] == ended(started(runtime, behaviour)).unwrap()


def test_a_name_is_taken_until_its_run_is_gone(runtime: Runtime) -> None:
    """
    Two live runs cannot share one; afterwards it is free again.
    """
    first = opened(runtime, echo, name="Zoe")
    with pytest.raises(DuplicateName, match="Zoe"):
        opened(runtime, echo, name="Zoe")
    assert first.id == runtime.find("Zoe").get(timeout=PATIENCE).id

    first.dispose().get(timeout=PATIENCE)

    with pytest.raises(NoSuchRun):
        runtime.find("Zoe").get(timeout=PATIENCE)
    assert "Zoe" == opened(runtime, echo, name="Zoe").name


def test_a_turns_child_cannot_ask_whoever_has_that_turn_open(runtime: Runtime) -> None:
    """
    H52: they would answer in a later turn, and the child is over before that; so it is
    refused though nobody waits, and the way up is named.
    """
    told, runs, gate = list[AskCycle](), dict[int, Run](), Gate()

    def behaviour(turn: Any) -> None:
        runs[turn.depth] = turn.run
        if turn.depth < 2:
            turn.start("spawn", "go", agent=behaviour)
            gate.wait()
            return
        for depth in (0, 1):
            try:
                turn.ask(runs[depth], "may I?")
            except AskCycle as error:
                told.append(error)
        gate.open()

    root = opened(runtime, behaviour)
    root.ask("go").get(timeout=PATIENCE)

    ids = [runs[depth].id for depth in range(3)]
    assert [(ids[2], ids[1], ids[0], ids[2]), (ids[2], ids[1], ids[2])] == [
        error.cycle for error in told
    ]


def test_a_background_child_may_ask_a_parent_that_is_busy(runtime: Runtime) -> None:
    """
    It outlives the turn, and is answered in the next one.
    """
    gate, children = Gate(), list[Run]()

    def child(_: Any) -> str:
        asked = parent.ask("may I?")
        gate.open()
        return str(asked.get(timeout=PATIENCE).text)

    def behaviour(turn: Any) -> str:
        if turn.number == 1:
            children.append(turn.start("spawn", "go", agent=child, background=True))
            gate.wait()
        return f"yes, in turn {turn.number}"

    parent = opened(runtime, behaviour)
    parent.ask("go").get(timeout=PATIENCE)

    assert "yes, in turn 2" == ended(children[0]).text


def test_a_generator_hears_that_its_wait_would_close_a_circle(runtime: Runtime) -> None:
    """
    The refusal is thrown in where it waits, so that it can do something else instead.
    """
    residents: list[Run] = []

    def child(turn: Any) -> str:
        return str(turn.ask(residents[0], "may I?").text)

    def parent(turn: Any) -> Steps:
        if turn.text == "may I?":
            return "yes"
        run = yield from turn.start("spawn", "go", agent=child, background=True)
        while not waits(runtime, run, turn.run):
            yield
        try:
            yield from run.result
        except AskCycle:
            return "refused"

    residents.append(opened(runtime, parent))

    assert "refused" == residents[0].ask("go").get(timeout=PATIENCE).text
