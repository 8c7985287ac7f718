"""Our actors are true pykka actors, and a stop or a failure of theirs costs nobody else."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterator
from typing import Any

import pykka
import pytest

from retinue.actors import Reply, Runtime
from retinue.protocol.errors import WouldBlock
from tests.actors.scribes import KINDS, Scribe, make, opened, settle
from tests.doubles import PATIENCE


@pytest.fixture(name="dispatcher", params=KINDS, ids=lambda kind: kind.__name__)
def make_dispatcher(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give a dispatcher of each kind, and close it."""
    with opened(request.param) as dispatcher:
        yield dispatcher


class Counter(Scribe):
    """Has what a proxy can reach."""

    def __init__(self, dispatcher: Any, *args: Any) -> None:
        super().__init__(dispatcher, *args)
        self.count = 0

    def add(self, number: int) -> int:
        """Add *number*."""
        self.count += number
        return self.count

    def fail(self) -> None:
        """Raise."""
        raise LookupError("not here")


class Neighbour(pykka.ThreadingActor):
    """An actor of the host's."""

    def on_receive(self, message: Any) -> Any:
        """Give it back."""
        return message


def test_actors_refs_and_replies_are_pykkas(dispatcher: Any) -> None:
    """
    Classes say so, and so do the names of pykka.
    """
    actor = make(dispatcher)
    ref = actor.ref

    assert isinstance(actor, pykka.Actor)
    assert isinstance(actor.actor_ref, pykka.ActorRef)
    assert isinstance(ref.ask("x", block=False), pykka.Future)
    assert actor.actor_urn == ref.actor_urn
    assert actor.actor_urn.startswith("urn:")
    assert ref.is_alive()
    assert ref.actor_class is Scribe
    assert not actor.actor_stopped.is_set()


def test_a_proxy_gets_sets_calls_raises_and_defers(dispatcher: Any) -> None:
    """
    Everything that pykka's proxies do works.
    """
    proxy = Counter.start(dispatcher).proxy()

    assert 2 == proxy.add(2).get(timeout=PATIENCE)
    assert 2 == proxy.count.get(timeout=PATIENCE)
    proxy.count = 5
    proxy.add.defer(1)
    assert 6 == proxy.count.get(timeout=PATIENCE)
    with pytest.raises(LookupError, match="not here"):
        proxy.fail().get(timeout=PATIENCE)
    proxy.stop().get(timeout=PATIENCE)
    settle(dispatcher)
    assert not proxy.actor_ref.is_alive()


def test_futures_of_both_kinds_are_gathered(dispatcher: Any) -> None:
    """
    get_all, join, map, filter and reduce work over ours and pykka's at once.
    """
    ours, theirs = make(dispatcher).ref, Neighbour.start()
    mixed = [ours.ask([1, 2], block=False), theirs.ask([3, 4], block=False)]

    assert [[1, 2], [3, 4]] == pykka.get_all(mixed, timeout=PATIENCE)
    assert [[1, 2], [3, 4]] == list(mixed[0].join(mixed[1]).get(timeout=PATIENCE))
    assert 3 == ours.ask([1, 2], block=False).map(sum).get(timeout=PATIENCE)
    big = ours.ask([1, 2], block=False).filter(lambda number: number > 1)
    assert [2] == list(big.get(timeout=PATIENCE))
    assert 16 == ours.ask([2, 3], block=False).reduce(int.__add__, 11).get(timeout=PATIENCE)
    theirs.stop()


def test_a_reply_and_what_is_derived_from_it_are_awaited(dispatcher: Any) -> None:
    """
    The same works in a coroutine, and the loop is not blocked by it.
    """
    ref = make(dispatcher).ref

    async def work() -> list[Any]:
        mapped = await ref.ask(2, block=False).map(lambda number: number + 1)
        joined = await ref.ask(4, block=False).join(ref.ask(5, block=False))
        return [await ref.ask(1, block=False), mapped, *joined]

    assert [1, 3, 4, 5] == asyncio.run(work())


def test_a_reply_is_set_once_as_pykka_does() -> None:
    """
    A second answer raises queue.Full, and the first stays.
    """
    reply = Reply[int]()
    reply.set(1)

    with pytest.raises(queue.Full):
        reply.set(2)
    with pytest.raises(queue.Full):
        reply.set_exception((ValueError, ValueError("late"), None))
    with pytest.raises(queue.Full):
        reply.set_get_hook(lambda _: 3)
    assert 1 == reply.get()
    (hooked := Reply[int]()).set_get_hook(lambda _: 3)
    assert 3 == hooked.get()


def test_the_registry_of_a_runtime_is_found_by_pykka() -> None:
    """
    It alone is in pykka's registry, and can be found there by class and urn.
    """
    with Runtime() as runtime:
        ref = runtime.registry

        assert ref in pykka.ActorRegistry.get_by_class(ref.actor_class)
        assert ref in pykka.ActorRegistry.get_by_class_name(ref.actor_class.__name__)
        assert ref is pykka.ActorRegistry.get_by_urn(ref.actor_urn)
    assert [] == pykka.ActorRegistry.get_by_class(ref.actor_class)


def test_a_stop_need_not_block(dispatcher: Any) -> None:
    """
    ``ref.stop(block=False)`` gives a Reply that says whether this stopped it.
    """
    ref = make(dispatcher).ref

    first, second = ref.stop(block=False), ref.stop(block=False)
    settle(dispatcher)

    assert first.get(timeout=PATIENCE) is True
    assert isinstance(second.error, pykka.ActorDeadError) or second.get() is False


class SelfStopping(Scribe):
    """Stops itself, and blocks on it, in the hook that it is told."""

    def __init__(self, dispatcher: Any, hook: str, heard: Reply[object]) -> None:
        super().__init__(dispatcher)
        self.hook = hook
        self.heard = heard

    def on_start(self) -> None:
        """Stop here."""
        if self.hook == "on_start":
            self.stop_and_say()

    def on_stop(self) -> None:
        """Stop again."""
        if self.hook == "on_stop":
            self.stop_and_say()

    def stop_and_say(self) -> None:
        """Stop oneself and say what that gave."""
        try:
            self.heard.resolve(self.ref.stop(block=True))
        except WouldBlock as error:
            self.heard.resolve(error)


@pytest.mark.parametrize("hook", ["on_start", "on_receive", "on_stop"])
def test_an_actor_that_stops_itself_and_blocks_on_it_goes_on(dispatcher: Any, hook: str) -> None:
    """
    H57: in each hook the call returns or raises, and the actor ends.
    """
    heard = Reply[object]()
    ref = SelfStopping.start(dispatcher, hook, heard)
    if hook == "on_receive":
        ref.tell(SelfStopping.stop_and_say)
    if hook == "on_stop":
        ref.stop(block=False)
    settle(dispatcher)

    answer = heard.get(timeout=PATIENCE)
    assert answer is False if hook == "on_stop" else isinstance(answer, WouldBlock)
    assert not ref.is_alive()


@pytest.mark.parametrize(
    "error", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError]
)
def test_nothing_that_leaves_a_handler_stops_a_neighbour(
    dispatcher: Any, error: type[BaseException]
) -> None:
    """
    H85: pykka stops every actor of the process; here the asker hears an ordinary error.
    """
    neighbour, told, asked = Neighbour.start(), make(dispatcher), make(dispatcher)

    told.ref.tell(error())
    with pytest.raises(RuntimeError, match=error.__name__) as caught:
        asked.ref.ask(error(), timeout=PATIENCE)
    settle(dispatcher)

    assert isinstance(caught.value.__cause__, error)
    assert "alive" == neighbour.ask("alive", timeout=PATIENCE)
    assert "alive" == asked.ref.ask("alive", timeout=PATIENCE)
    assert not told.ref.is_alive()
    assert isinstance(told.failures[0], RuntimeError)
    neighbour.stop()


@pytest.mark.parametrize("hook", ["on_start", "on_stop", "on_failure", "on_undelivered"])
def test_nothing_that_leaves_a_hook_stops_the_dispatcher(dispatcher: Any, hook: str) -> None:
    """
    The hooks of an actor are foreign code like its handlers.
    """

    def raising(*_: object) -> None:
        raise SystemExit

    actor = type("Raising", (Scribe,), {hook: raising})(dispatcher)
    dispatcher.post_start(actor.ref)

    def end(me: Scribe) -> None:
        me.ref.tell("left behind")
        if hook == "on_failure":
            raise LookupError
        me.stop()

    if hook != "on_start":
        actor.ref.tell(end)
    settle(dispatcher)

    assert not actor.ref.is_alive()
    assert "alive" == make(dispatcher).ref.ask("alive", timeout=PATIENCE)
