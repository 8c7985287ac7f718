"""A fork goes on from its parent's completed turns, and answers its own task alone."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from retinue.actors import Agent, Run, Runtime
from retinue.protocol.content import Form, Kind
from retinue.protocol.invariants import violations
from retinue.protocol.log import SeedEnded, TurnFinished, TurnStarted
from retinue.protocol.result import ABORTED, COMPLETED
from tests.actors.behaviours import WAYS, Steps, ended, opened, started
from tests.doubles import PATIENCE, Gate


def heard(turn: Any) -> list[list[str]]:
    """Answer with the history and with the prompt's messages."""
    return [[m.text for m in turn.history], [m.text for m in turn.messages]]


def sealed(run: Run) -> list[Any]:
    """Return the sealed turns of a run's log, newest first."""
    turns, node = [], run.log.latest
    while node is not None:
        turns.append(node)
        node = node.previous
    return turns


class Forking:
    """A resident that says what it was told, and forks when it is told to."""

    def __init__(self) -> None:
        self.forks: list[Run] = []

    def turn(self, turn: Any) -> str:
        """Answer with the prompt, or with what a fork says."""
        if not turn.text.startswith("fork"):
            return f"answer to {turn.text}"
        self.forks.append(turn.start("fork", f"task of {turn.text}", agent=heard))
        return str(ended(self.forks[-1]).structured)


@pytest.fixture(name="forking")
def make_forking() -> Forking:
    """Give the state of a resident that forks."""
    return Forking()


@pytest.fixture(name="root")
def make_root(runtime: Runtime, forking: Forking) -> Run:
    """Give a resident of two completed turns that can fork."""
    run = opened(runtime, forking.turn)
    for text in ("one", "two"):
        run.ask(text).get(timeout=PATIENCE)
    return run


def test_a_fork_sees_completed_turns_and_then_its_task(root: Run, forking: Forking) -> None:
    """
    FRK-1, H44, H45: the turn that forks is not in the seed; after it the child is told that
    it is a child, and then its only task.
    """
    root.ask("fork").get(timeout=PATIENCE)
    fork = forking.forks[0]
    history, messages = ended(fork).unwrap()

    assert ["one", "answer to one", "two", "answer to two"] == history
    assert "task of fork" == messages[-1]
    assert 2 == len(messages)
    assert f"You are a child of {root.id}" in messages[0]
    notice = fork.log.own_messages()[0].source
    assert (Kind.RUNTIME, Form.NOTICE, root.id) == (notice.kind, notice.form, notice.sender)


def test_a_forks_log_goes_on_from_its_parents(root: Run, forking: Forking) -> None:
    """
    FRK-3, FRK-4, FRK-12: numbers go on, one marker says where the seed ends, and the
    parent's log holds nothing of it.
    """
    before = list(root.transcript())
    root.ask("fork").get(timeout=PATIENCE)
    fork = forking.forks[0]
    log = fork.log

    assert (2, 2, ended(fork).seed_turns) == (fork.seed_turns, log.seed_turns, 2)
    assert before[: log.seed_length] == list(log.events())[: log.seed_length]
    assert before == list(root.transcript())[: len(before)]
    assert 1 == len([event for event in log.events() if isinstance(event, SeedEnded)])
    assert isinstance(next(iter(fork.own_transcript())), SeedEnded)
    assert [1, 2, 3] == [e.turn for e in log.events() if isinstance(e, TurnStarted)]
    assert () == violations(log.events())


def test_a_fork_in_the_first_turn_is_a_fresh_child(runtime: Runtime) -> None:
    """
    FRK-2: there is nothing to seed it with, and it shows.
    """

    def parent(turn: Any) -> Any:
        run = turn.start("fork", "task", agent=heard)
        return [run.seed_turns, ended(run).seed_turns, *ended(run).unwrap()]

    assert [0, 0, [], ["task"]] == ended(started(runtime, parent)).unwrap()


def test_a_spawn_inherits_nothing(root: Run, runtime: Runtime) -> None:
    """
    REG-13: the two in-process providers differ in this one thing.
    """
    run = started(runtime, heard, "task", parent=root)

    assert ([[], ["task"]], 0) == (ended(run).unwrap(), run.seed_turns)


def test_a_fork_from_outside_is_seeded_with_what_was_completed(runtime: Runtime) -> None:
    """
    FRK-1: also while the parent is in the middle of a turn.
    """
    gate = Gate()
    busy = opened(runtime, lambda turn: gate.wait() if turn.text == "slow" else "quick")
    busy.ask("first").get(timeout=PATIENCE)
    busy.tell("slow").get(timeout=PATIENCE)
    assert gate.reached.wait(PATIENCE)

    fork = runtime.start("fork", "task", agent=heard, parent=busy).get(timeout=PATIENCE)
    gate.open()

    assert ["first", "quick"] == ended(fork).unwrap()[0]


def test_forks_share_the_chain(root: Run, forking: Forking) -> None:
    """
    FRK-5: ten forks, and forks of forks, hold the very turns that their ancestor sealed.
    """
    for number in range(3):
        root.ask(f"fork {number}").get(timeout=PATIENCE)
    turns = sealed(root)

    for number, fork in enumerate(forking.forks):
        own = sealed(fork)
        inherited = turns[-2 - number :]
        assert len(inherited) + 1 == len(own)
        assert all(mine is theirs for mine, theirs in zip(own[1:], inherited, strict=True))


def test_a_fork_of_a_fork_begins_where_that_one_was(runtime: Runtime) -> None:
    """
    FRK-5: the prefix is taken once; what an ancestor does later is none of it.
    """

    def leaf(turn: Any) -> list[str]:
        return [message.text for message in turn.history]

    def middle(turn: Any) -> Any:
        if turn.text == "fork":
            return ended(turn.start("fork", "leaf", agent=leaf)).structured
        return f"middle {turn.text}"

    top = opened(runtime, lambda turn: f"top {turn.text}")
    top.ask("a").get(timeout=PATIENCE)
    fork = runtime.open(middle, provider="fork", parent=top).get(timeout=PATIENCE)
    top.ask("b").get(timeout=PATIENCE)
    fork.ask("c").get(timeout=PATIENCE)
    texts = fork.ask("fork").get(timeout=PATIENCE).structured

    assert ["a", "top a"] == texts[:2]
    assert ["c", "middle c"] == texts[-2:]
    assert "b" not in texts


@pytest.mark.parametrize("make", WAYS)
def test_two_forks_of_one_batch_know_nothing_of_each_other(runtime: Runtime, make: Any) -> None:
    """
    H40: neither transcript holds the other's marker.
    """
    forks: list[Run] = []

    def work(turn: Any) -> str:
        forks.append(turn.run)
        return f"did {turn.text}"

    def parent(turn: Any) -> Steps:
        if turn.number == 1:
            return "first"
        tasks = ("MARKER-A", "MARKER-B")
        results = yield from turn.wait(
            [turn.start("fork", task, agent=make(work)) for task in tasks]
        )
        return [result.text for result in results]

    root = opened(runtime, parent)
    root.ask("one").get(timeout=PATIENCE)

    assert ["did MARKER-A", "did MARKER-B"] == root.ask("two").get(timeout=PATIENCE).unwrap()
    markers = [{m for m in ("A", "B") if f"MARKER-{m}" in str(f.transcript())} for f in forks]
    assert [{"A"}, {"B"}] == sorted(markers, key=min)


def test_an_empty_fork_has_no_output_of_its_own(runtime: Runtime) -> None:
    """
    RES-12, FRK-6: its parent's last answer is not read as its own.
    """
    root = opened(runtime, lambda _: "the parent's words")
    root.ask("go").get(timeout=PATIENCE)

    fork = runtime.start("fork", "task", agent=lambda _: None, parent=root).get(timeout=PATIENCE)

    assert (COMPLETED, ()) == (ended(fork).stop_reason, ended(fork).output)


def test_a_turn_that_was_stopped_is_balanced_before_it_is_forked(runtime: Runtime) -> None:
    """
    H46: an aborted turn is sealed like any other, and the next history is sound.
    """
    begun = threading.Event()

    async def behaviour(turn: Any) -> Any:
        if turn.text == "slow":
            turn.say("half")
            begun.set()
            await asyncio.Event().wait()
        return heard(turn)[0]

    root = opened(runtime, Agent(behaviour))
    slow = root.ask("slow")
    assert begun.wait(PATIENCE)
    root.interrupt().get(timeout=PATIENCE)
    assert ABORTED == slow.get(timeout=PATIENCE).stop_reason

    fork = runtime.start("fork", "task", agent=behaviour, parent=root).get(timeout=PATIENCE)

    assert ["slow", "half"] == ended(fork).unwrap()
    assert 2 == len([e for e in fork.transcript() if isinstance(e, TurnFinished)])
    assert () == violations(fork.transcript())
