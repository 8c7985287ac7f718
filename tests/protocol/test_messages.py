"""The vocabulary: frozen sentences, each with somebody who understands it."""

from __future__ import annotations

import inspect
from typing import Any, Final

import attrs
import pytest

from retinue.actors import _mailbox
from retinue.actors.registry import RegistryActor
from retinue.actors.run import RunActor
from retinue.protocol import commands, events, facts, messages, registry_messages

MODULES: Final = (commands, facts, registry_messages)
VOCABULARY: Final[list[type[Any]]] = [
    value
    for module in MODULES
    for value in vars(module).values()
    if inspect.isclass(value) and value.__module__ == module.__name__
]
EVENTS: Final[list[type[Any]]] = [
    value
    for value in vars(events).values()
    if inspect.isclass(value) and attrs.has(value) and value.__module__ == events.__name__
]


@pytest.mark.parametrize("kind", [*VOCABULARY, *EVENTS])
def test_a_message_is_a_frozen_sentence_that_is_explained(kind: type[Any]) -> None:
    """
    Nobody can change what was said, on whichever thread; the docstring says what it means.
    """
    assert attrs.has(kind)
    assert kind.__doc__
    assert not hasattr(kind, "__dict__") or not kind.__dictoffset__
    made: Any = kind.__new__(kind)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.anything = 1


@pytest.mark.parametrize("kind", VOCABULARY)
def test_one_module_names_the_whole_vocabulary(kind: type[Any]) -> None:
    """
    `messages` is where a reader looks up what can be said.
    """
    assert kind is getattr(messages, kind.__name__)
    assert kind.__name__ in messages.__all__


@pytest.mark.parametrize("kind", VOCABULARY)
def test_every_message_is_understood_by_somebody(kind: type[Any]) -> None:
    """
    A run or the registry handles it; a word that nobody understands is no vocabulary.
    """
    assert kind in RunActor.HANDLERS or kind in RegistryActor.HANDLERS


@pytest.mark.parametrize("actor", [RunActor, RegistryActor])
def test_an_actor_handles_nothing_that_is_no_message(actor: Any) -> None:
    """
    Beside the vocabulary a run knows one word: the letter that lets a generator go on.
    """
    unknown = {kind.__name__ for kind in actor.HANDLERS if kind not in VOCABULARY}

    assert unknown <= {"Resume"}


def test_what_overtakes_is_what_stops() -> None:
    """
    Two lanes: cancels, disposals, interrupts, deadlines and the two ends of starts come
    first, and pykka's own stop; work is everything else.
    """
    control = {
        messages.Cancel,
        messages.Dispose,
        messages.Interrupt,
        messages.DeadlinePassed,
        messages.CancelStart,
        messages.Drain,
    }

    assert control == messages.CONTROL
    assert control | {_mailbox.ActorStop} == _mailbox.CONTROL


def test_what_is_bounded_is_what_anybody_can_pile_up() -> None:
    """
    Prompts, steering, injected text and reports count against the bound; facts do not,
    since a run that cannot hear that its work is over would never end.
    """
    bounded = {messages.Prompt, messages.Steer, messages.Inject, messages.Report}

    assert bounded == messages.BOUNDED
    assert not messages.BOUNDED & messages.CONTROL


@pytest.mark.parametrize("kind", [kind for kind in VOCABULARY if kind in messages.BOUNDED])
def test_what_can_be_handed_back_names_its_sender(kind: type[Any]) -> None:
    """
    Promise 5: a message that nobody takes goes back to where it came from.
    """
    assert {"message", "sender"} <= {field.name for field in attrs.fields(kind)}


@pytest.mark.parametrize("kind", VOCABULARY)
def test_no_message_holds_a_reply(kind: type[Any]) -> None:
    """
    The asker's Reply travels in the envelope, so a message can be sent on.
    """
    assert not {"reply", "future", "reply_to"} & {field.name for field in attrs.fields(kind)}
