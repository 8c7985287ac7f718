"""The registry: which providers there are, and who hears of their coming and going."""

from __future__ import annotations

from typing import Any, Final

import pykka
import pytest

from retinue.actors import Runtime
from retinue.backends.scripted import Hold, Scripted
from retinue.protocol.errors import (
    DuplicateProvider,
    InvalidRequest,
    NoProvider,
)
from retinue.protocol.events import ProviderAdded, ProviderRemoved, RunStarted
from retinue.protocol.messages import UnregisterProvider
from tests.doubles import PATIENCE, Probe


class Unprintable(Exception):
    """An error that cannot be converted to text."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")

    __repr__ = __str__


PROBLEMS: Final = (ValueError("no"), Unprintable(), SystemExit(2))


def added(runtime: Runtime, provider: Any) -> Any:
    """Register *provider*, and return what removes it."""
    return runtime.register(provider).get(timeout=PATIENCE)


def told(runtime: Runtime, probe: Probe) -> list[object]:
    """Return what was told of providers by now; the question is a barrier."""
    runtime.providers()
    return [e for e in probe.unread() if isinstance(e, (ProviderAdded, ProviderRemoved))]


@pytest.fixture(name="probe")
def make_probe(runtime: Runtime) -> Probe:
    """Give a subscriber to everything."""
    probe = Probe()
    runtime.subscribe(probe.tell)
    return probe


def test_providers_coexist_in_the_order_of_their_registration(runtime: Runtime) -> None:
    """
    REG-1: a name gives back the very object, and an absent name gives nothing.
    """
    providers = [Scripted(name=name) for name in ("zeta", "alpha", "mid")]
    for provider in providers:
        added(runtime, provider)

    assert ("zeta", "alpha", "mid") == runtime.providers()
    assert providers == [runtime.provider(name) for name in runtime.providers()]
    assert runtime.provider("nobody") is None


def test_children_of_two_providers_run_under_one_parent(runtime: Runtime) -> None:
    """
    REG-1: a fresh and an inheriting child side by side.
    """
    added(runtime, Scripted(lambda _: [Hold()], name="parents"))
    added(runtime, Scripted(name="one"))
    added(runtime, Scripted(name="two"))
    parent = runtime.start("parents", "wait").get(timeout=PATIENCE)

    runs = [runtime.start(name, name, parent=parent) for name in ("one", "two")]
    results = runtime.wait(runs).get(timeout=PATIENCE)

    assert ["one", "two"] == [result.text for result in results]


def test_a_name_is_taken_once(runtime: Runtime, probe: Probe) -> None:
    """
    REG-2: the second is refused, the first stays usable, and nobody is told of a change.
    """
    first = Scripted(name="only")
    added(runtime, first)

    with pytest.raises(DuplicateProvider, match="only"):
        added(runtime, Scripted([], name="only"))

    assert runtime.provider("only") is first
    assert "hi" == runtime.start("only", "hi").get(timeout=PATIENCE).result.get().text
    assert [ProviderAdded("only")] == told(runtime, probe)


def test_a_removal_removes_exactly_its_registration(runtime: Runtime, probe: Probe) -> None:
    """
    REG-3: by the name that it had, once; the name is free, and what has it next stays.
    """
    first, second = Scripted(name="old"), Scripted(name="old")
    remove = added(runtime, first)
    other = added(runtime, Scripted(name="new"))
    first.name = "new"

    assert (True, False) == (remove(), remove())
    assert ("new",) == runtime.providers()

    added(runtime, second)

    assert not remove()
    assert runtime.provider("old") is second
    assert other()
    assert [
        ProviderAdded("old"),
        ProviderAdded("new"),
        ProviderRemoved("old"),
        ProviderAdded("old"),
        ProviderRemoved("new"),
    ] == told(runtime, probe)


def test_a_stale_removal_does_not_remove_the_same_provider_again(runtime: Runtime) -> None:
    """
    REG-3: the registration is meant and not the object, which may be registered anew.
    """
    provider = Scripted(name="again")
    stale = added(runtime, provider)
    stale()
    added(runtime, provider)

    assert not stale()
    assert ("again",) == runtime.providers()


def test_a_removal_names_the_provider_that_it_removes(runtime: Runtime) -> None:
    """
    REG-3: a message with another object under the same name removes nothing.
    """
    provider = Scripted(name="mine")
    added(runtime, provider)
    stranger = UnregisterProvider("mine", Scripted(name="mine"))

    assert not runtime.registry.ask(stranger, timeout=PATIENCE)
    assert runtime.provider("mine") is provider


def test_a_known_name_that_was_removed_is_gone(runtime: Runtime) -> None:
    """
    REG-14: whoever removes it does not get another provider of that name instead.
    """
    added(runtime, Scripted(name="spawn"))()

    with pytest.raises(NoProvider, match="spawn"):
        runtime.start("spawn", "hi").get(timeout=PATIENCE)


def test_a_removal_after_the_runtime_was_closed_does_nothing() -> None:
    """
    REG-4, REG-6: a plugin that is torn down late is not told off.
    """
    with Runtime() as runtime:
        remove = added(runtime, Scripted(name="plugin"))

    assert not remove()


@pytest.mark.parametrize("problem", PROBLEMS, ids=["error", "unprintable", "exit"])
def test_an_observer_may_veto_a_provider(
    runtime: Runtime, probe: Probe, problem: BaseException
) -> None:
    """
    REG-5, RACE-8: the registration fails with the observer's error and is taken back, and
    whoever heard of it hears that it is gone.
    """

    def veto(event: object) -> None:
        if isinstance(event, ProviderAdded):
            raise problem

    runtime.subscribe(veto)

    with pytest.raises(Exception) as refused:  # noqa: PT011 - told apart below
        added(runtime, Scripted(name="vetoed"))

    assert problem in {refused.value, refused.value.__cause__}
    assert () == runtime.providers()
    assert [ProviderAdded("vetoed"), ProviderRemoved("vetoed")] == told(runtime, probe)


def test_a_vetoed_namesake_does_not_hide_a_known_provider(runtime: Runtime) -> None:
    """
    REG-5: taken back means as before: `scripted` is still there for who asks for it.
    """
    unsubscribe = runtime.subscribe(_veto)
    with pytest.raises(ValueError, match="vetoed"):
        added(runtime, Scripted([], name="scripted"))
    unsubscribe()

    run = runtime.start("scripted", "hi").get(timeout=PATIENCE)

    assert "hi" == run.result.get(timeout=PATIENCE).text


def _veto(event: object) -> None:
    if event == ProviderAdded("scripted"):
        raise ValueError("vetoed")


@pytest.mark.parametrize("problem", PROBLEMS, ids=["error", "unprintable", "exit"])
def test_no_observer_can_veto_a_removal(runtime: Runtime, problem: BaseException) -> None:
    """
    REG-6: every other observer still hears of it, and the remover sees no failure.
    """
    before, after = Probe(), Probe()

    def object_to(event: object) -> None:
        if isinstance(event, ProviderRemoved):
            raise problem

    for observer in (before.tell, object_to, after.tell):
        runtime.subscribe(observer)
    remove = added(runtime, Scripted(name="leaving"))

    assert remove()
    assert () == runtime.providers()
    for probe in (before, after):
        assert [ProviderAdded("leaving"), ProviderRemoved("leaving")] == told(runtime, probe)


def test_a_dead_observer_vetoes_nothing(runtime: Runtime) -> None:
    """
    REG-6: a host's actor that was stopped is passed over, for additions too.
    """

    class Listener(pykka.ThreadingActor):
        use_daemon_thread = True

    dead = Listener.start()
    runtime.subscribe(dead)
    dead.stop()

    added(runtime, Scripted(name="fine"))

    assert ("fine",) == runtime.providers()


def test_an_unknown_provider_starts_nothing(runtime: Runtime, probe: Probe) -> None:
    """
    REG-7: no side effects, and the message says which providers there are.
    """
    added(runtime, Scripted(name="here"))

    with pytest.raises(NoProvider, match=r"nobody.*here"):
        runtime.start("nobody", "hi").get(timeout=PATIENCE)

    assert () == tuple(runtime.tree())
    assert [] == [event for event in probe.unread() if isinstance(event, RunStarted)]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("name", ""),
        ("name", None),
        ("capabilities", None),
        ("capabilities", {"persona": True}),
        ("open", None),
        ("accepts_seed", None),
        ("inherits_context", "no"),
        ("is_immediate", 1),
    ],
)
def test_what_is_no_provider_is_refused(runtime: Runtime, attribute: str, value: object) -> None:
    """
    REG-20: an empty name or half a provider is found when it is registered.
    """
    provider = Scripted(name="half")
    setattr(provider, attribute, value)

    with pytest.raises(InvalidRequest):
        added(runtime, provider)

    assert () == runtime.providers()
