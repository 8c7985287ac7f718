"""What can happen to a program at any moment, each as an action on its trial."""

from __future__ import annotations

from typing import Any, Final

from retinue.protocol import messages
from retinue.protocol.log import Cause
from tests.actors.injection import Fault, Trial


def _root(trial: Trial) -> Any:
    return trial.actors[0].ref if trial.actors else None


def _last(trial: Trial) -> Any:
    return trial.actors[-1].ref if trial.actors else None


def token(trial: Trial) -> None:
    """Somebody trips the token."""
    trial.token.cancel("the token was tripped")


def cancel_root(trial: Trial) -> None:
    """The root is cancelled."""
    if trial.actors:
        trial.doom()
        trial.ask(_root(trial), messages.Cancel("no longer wanted"))


def cancel_last(trial: Trial) -> None:
    """The newest run is cancelled, without a word to its parent."""
    if trial.actors:
        trial.tell(_last(trial), messages.Cancel("no longer wanted"))


def interrupt_root(trial: Trial) -> None:
    """The root's turn is interrupted."""
    if trial.actors:
        trial.ask(_root(trial), messages.Interrupt())


def interrupt_last(trial: Trial) -> None:
    """The newest run's turn is interrupted."""
    if trial.actors:
        trial.ask(_last(trial), messages.Interrupt(Cause.PARENT))


def dispose_root(trial: Trial) -> None:
    """The root is disposed of, by two at once."""
    if trial.actors:
        trial.doom()
        trial.ask(_root(trial), messages.Dispose())
        trial.ask(_root(trial), messages.Dispose())


def dispose_last(trial: Trial) -> None:
    """The newest run is disposed of."""
    if trial.actors:
        trial.ask(_last(trial), messages.Dispose())


def stop_root(trial: Trial) -> None:
    """The root's actor is stopped, as pykka stops actors."""
    if trial.actors:
        trial.doom()
        trial.answers.append(_root(trial).stop(block=False))


def stop_last(trial: Trial) -> None:
    """The newest run's actor is stopped, as pykka stops actors."""
    if trial.actors:
        trial.answers.append(_last(trial).stop(block=False))


def crash_root(trial: Trial) -> None:
    """The root's driver breaks."""
    if trial.actors:
        trial.doom()
        trial.tell(_root(trial), messages.Crashed(OSError("broken pipe")))


def crash_last(trial: Trial) -> None:
    """The newest run's driver breaks."""
    if trial.actors:
        trial.tell(_last(trial), messages.Crashed(OSError("broken pipe")))


def deadline(trial: Trial) -> None:
    """The newest run's time is over."""
    if trial.actors:
        trial.tell(_last(trial), messages.DeadlinePassed("run"))


def start_deadline(trial: Trial) -> None:
    """The newest run's time to open is over."""
    if trial.actors:
        trial.tell(_last(trial), messages.DeadlinePassed("start"))


def unregister(trial: Trial) -> None:
    """Every provider is unregistered."""
    for provider in trial.providers:
        trial.ask(trial.registry, messages.UnregisterProvider(provider.name, provider))


def drain(trial: Trial) -> None:
    """The runtime is drained."""
    trial.doom()
    trial.ask(trial.registry, messages.Drain(1.0))


def shut(trial: Trial) -> None:
    """The registry is stopped, as pykka's ``stop_all`` does."""
    trial.doom()
    trial.answers.append(trial.registry.stop(block=False))


def abandon(trial: Trial) -> None:
    """Whoever awaits the newest start goes away."""
    if trial.starts:
        trial.starts[-1].abandon()


def prompt_root(trial: Trial) -> None:
    """The root gets a prompt that it may not be able to take."""
    if trial.actors:
        trial.tell(_root(trial), "more")


FAULTS: Final[tuple[Fault, ...]] = (
    token,
    cancel_root,
    cancel_last,
    interrupt_root,
    interrupt_last,
    dispose_root,
    dispose_last,
    stop_root,
    stop_last,
    crash_root,
    crash_last,
    deadline,
    start_deadline,
    unregister,
    drain,
    shut,
    abandon,
    prompt_root,
)
