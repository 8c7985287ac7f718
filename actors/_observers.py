"""Observers of a runtime: everybody is told, and nobody's failure costs anybody else."""

from __future__ import annotations

from typing import Any

import pykka
from loguru import logger

from retinue.protocol.errors import printable


class Observers:
    """Callables and pykka refs that are told lifecycle events; owned by the registry."""

    def __init__(self) -> None:
        self._observers: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._observers)

    def add(self, observer: Any) -> None:
        """Tell *observer* from now on; one that is there is not added twice."""
        if observer not in self._observers:
            self._observers.append(observer)

    def remove(self, observer: Any) -> None:
        """Tell *observer* nothing more."""
        if observer in self._observers:
            self._observers.remove(observer)

    def tell(self, event: Any) -> None:
        """Tell everybody; failures are logged (LIF-7, REG-6)."""
        for observer in list(self._observers):
            tell_one(observer, event)

    def tell_or_raise(self, event: Any) -> None:
        """Tell everybody until one raises; only "provider added" may be vetoed (REG-5)."""
        for observer in list(self._observers):
            if isinstance(observer, pykka.ActorRef):
                tell_one(observer, event)
            else:
                observer(event)


def tell_one(observer: Any, event: Any) -> None:
    """Tell one observer; a failure of it is logged and goes no further."""
    try:
        if isinstance(observer, pykka.ActorRef):
            observer.tell(event)
        else:
            observer(event)
    except pykka.ActorDeadError:
        pass  # nobody is there any more, and nobody misses the event
    except BaseException as error:  # noqa: BLE001 - observers are foreign code (H85)
        logger.error("an observer of {} raised {}", type(event).__name__, printable(error))
