"""A pykka actor as the parent of runs: what it is told, and what stays as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import attrs
import pykka
import pytest

from retinue.actors import Limits, RunResult, Runtime
from retinue.protocol.content import Form, Message
from retinue.protocol.errors import InvalidRequest, LimitReached, NoSuchRun
from retinue.protocol.events import Undelivered
from retinue.protocol.log import UserMessage
from retinue.protocol.result import ABORTED, COMPLETED, ERROR
from tests.actors.behaviours import Steps, echo
from tests.actors.hosts import Host, hosting, within
from tests.doubles import PATIENCE, Gate, Probe

HostRef = pykka.ActorRef[Host]


@attrs.frozen
class Songs:
    """An answer that has a class."""

    titles: list[str]


@pytest.fixture(name="heard")
def make_heard() -> Probe:
    """Give the probe that hears what the host hears."""
    return Probe()


@pytest.fixture(name="host")
def make_host(heard: Probe) -> Iterator[HostRef]:
    """Give a host that closes its runtime when it stops."""
    with hosting(heard) as host:
        yield host


def test_a_result_comes_to_the_method_that_was_named(host: HostRef, heard: Probe) -> None:
    """
    ``on=`` delivers by ProxyCall; with an output schema the value is an instance.
    """

    def finder(_: Any) -> Songs:
        return Songs(["Suzanne"])

    within(
        host,
        lambda it: it.rt.start("spawn", "go", agent=finder, output_schema=Songs, on="found"),
    )

    name, result = heard.expect(tuple)
    assert "found" == name
    assert Songs(["Suzanne"]) == result.unwrap()


def test_without_a_method_the_result_is_told(host: HostRef, heard: Probe) -> None:
    """
    The RunResult comes as it is, once.
    """
    within(host, lambda it: it.rt.start("spawn", "la la", agent=echo))

    assert "la la" == heard.expect(RunResult).text
    within(host, lambda _: None)
    assert [] == heard.unread()


@pytest.mark.parametrize("on", [None, "found"])
def test_a_refused_start_is_told_too(host: HostRef, heard: Probe, on: str | None) -> None:
    """
    A host need not look at the Reply: the refusal comes as a result without a run.
    """
    within(host, lambda it: it.rt.start("nowhere", "go", on=on))

    result = heard.expect(RunResult) if on is None else heard.expect(tuple)[1]
    assert (ERROR, "") == (result.stop_reason, result.run_id)
    assert "nowhere" in str(result.diagnostic)


@pytest.mark.parametrize("on", [5, "no such", "", "nothing", "rt"])
def test_a_method_that_the_host_lacks_is_refused(host: HostRef, heard: Probe, on: Any) -> None:
    """
    Nothing is started, the host is told, and it does not die of a result that comes later.
    """
    reply = within(host, lambda it: it.rt.start("spawn", "go", agent=echo, on=on))

    with pytest.raises(InvalidRequest, match="on: "):
        reply.get(timeout=PATIENCE)
    assert "on: " in str(heard.expect(RunResult).diagnostic)
    assert 1 == len(within(host, lambda it: it.rt.tree()))


def test_the_end_of_a_resident_is_told(host: HostRef, heard: Probe) -> None:
    """
    `open` takes ``on`` as well; what comes is the result of the whole run.
    """
    run = within(host, lambda it: it.rt.open(echo, on="found").get())
    assert "one" == run.ask("one").get(timeout=PATIENCE).text
    run.cancel("enough")

    result = heard.expect(tuple)[1]
    assert (run.id, "one", COMPLETED) == (result.run_id, result.text, result.stop_reason)


def test_reports_and_notices_are_told(host: HostRef, heard: Probe) -> None:
    """
    A child's own words, and the account of how a background child ended, come as messages.
    """

    def child(turn: Any) -> Steps:
        yield from turn.report("half way")

    within(host, lambda it: it.rt.start("spawn", "go", agent=child, background=True))

    letters = [heard.expect(object) for _ in range(3)]
    forms = [letter.source.form for letter in letters if isinstance(letter, Message)]
    assert [Form.REPORT, Form.NOTICE] == forms
    assert "half way" == next(letter.text for letter in letters if isinstance(letter, Message))
    assert COMPLETED == next(x.stop_reason for x in letters if isinstance(x, RunResult))


def test_every_end_is_told_however_many_come_in_a_row(host: HostRef, heard: Probe) -> None:
    """
    H21: a host has been written to hear of its children; nothing is held back from it.
    """
    for _ in range(5):
        within(host, lambda it: it.rt.start("spawn", "go", agent=echo, background=True))

        letters = [heard.expect(object) for _ in range(2)]
        assert [Form.NOTICE] == [x.source.form for x in letters if isinstance(x, Message)]


def test_what_was_not_delivered_is_told(host: HostRef, heard: Probe) -> None:
    """
    Promise 5: a prompt that the host sent and that no turn took comes back to it.
    """
    gate = Gate()

    def busy(_: Any) -> None:
        gate.wait()

    run = within(host, lambda it: it.rt.open(busy).get())
    within(host, lambda _: run.tell("one").get())
    assert gate.reached.wait(PATIENCE)
    within(host, lambda _: run.tell("two").get())
    run.cancel("enough").get(timeout=PATIENCE)
    gate.open()

    assert ABORTED == heard.expect(RunResult).stop_reason
    back = heard.expect(Undelivered)
    assert isinstance(back.message, Message)
    assert (run.id, "two") == (back.run_id, back.message.text)


def test_a_handler_may_wait_for_a_child_that_reports(host: HostRef, heard: Probe) -> None:
    """
    The report is taken for the host while it waits: no deadlock, and it hears it after.
    """

    def child(turn: Any) -> str:
        turn.report("on my way")
        return "there"

    text = within(
        host, lambda it: it.rt.start("spawn", "go", agent=child).get().result.get(timeout=2).text
    )

    assert "there" == text
    assert "on my way" == heard.expect(Message).text


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_neighbours_are_not_stopped(
    host: HostRef, heard: Probe, error: type[BaseException]
) -> None:
    """
    H85: in pykka what is no Exception stops every actor of the process; from a run it cannot.
    """

    def child(_: Any) -> None:
        raise error

    with hosting(Probe()) as neighbour:
        within(host, lambda it: it.rt.start("spawn", "go", agent=child, on="found"))

        assert ERROR == heard.expect(tuple)[1].stop_reason
        assert within(host, lambda _: "alive") == within(neighbour, lambda _: "alive")


def test_only_the_registry_actor_is_in_pykkas_registry(host: HostRef, heard: Probe) -> None:
    """
    A broadcast reaches the host and its runtime's registry, which takes no notice; no run.
    """
    run = within(host, lambda it: it.rt.open(echo).get())
    ours = [ref for ref in pykka.ActorRegistry.get_all() if ref != host]
    assert [within(host, lambda it: it.rt.registry)] == ours

    pykka.ActorRegistry.broadcast("hear, hear")

    assert "hear, hear" == heard.expect(str)
    assert "still here" == run.ask("still here").get(timeout=PATIENCE).text
    assert ["still here"] == [
        event.message.text for event in run.transcript() if isinstance(event, UserMessage)
    ]


def test_two_runtimes_do_not_see_each_other(host: HostRef) -> None:
    """
    Two hosts in one process share neither runs nor names.
    """
    with hosting(Probe()) as other:
        run = within(host, lambda it: it.rt.open(echo, name="mine").get())

        stranger = within(other, lambda it: it.rt)
        for key in (run.id, "mine"):
            with pytest.raises(NoSuchRun):
                stranger.find(key).get(timeout=PATIENCE)
        assert 1 == len(within(other, lambda it: it.rt.tree()))


def test_limits_are_those_of_what_the_host_starts(heard: Probe) -> None:
    """
    The stand-in takes nobody's place, and no deadline for runs ends it.
    """
    with hosting(heard, limits=Limits(live=1, run=3600.0)) as host:
        run = within(host, lambda it: it.rt.open(echo).get())
        with pytest.raises(LimitReached):
            within(host, lambda it: it.rt.open(echo)).get(timeout=PATIENCE)

        assert ERROR == heard.expect(RunResult).stop_reason
        assert "here" == run.ask("here").get(timeout=PATIENCE).text


@pytest.mark.parametrize("host", [None, "host", object()])
def test_a_host_is_an_actors_ref(host: Any) -> None:
    """
    An actor itself, or nothing, is refused before anything is made.
    """
    before = pykka.ActorRegistry.get_all()

    with pytest.raises(InvalidRequest, match="for_host: "):
        Runtime.for_host(host)

    assert before == pykka.ActorRegistry.get_all()
