"""The providers of one runtime, by name; known ones are imported when first asked for."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from retinue.protocol.delegation import Capabilities
from retinue.protocol.errors import DuplicateProvider, InvalidRequest, MissingExtra, NoProvider
from retinue.protocol.provider import Provider

# Dotted names, so that a backend and what it needs are imported when it is first used.
KNOWN: Final[Mapping[str, str]] = {
    "spawn": "retinue.backends.inprocess:spawn",
    "fork": "retinue.backends.inprocess:fork",
    "scripted": "retinue.backends.scripted:scripted",
}
ENTRY_POINTS: Final = "retinue.providers"


def check_provider(provider: Any) -> str:
    """
    Take what has a provider's shape, and return its name.

    Raises:
        InvalidRequest: a part is missing or of the wrong type.
    """
    name = getattr(provider, "name", None)
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"a provider needs a name, got {name!r}")
    if not isinstance(getattr(provider, "capabilities", None), Capabilities):
        raise InvalidRequest(f"provider {name!r} needs capabilities=Capabilities(...)")
    if not callable(getattr(provider, "open", None)):
        raise InvalidRequest(f"provider {name!r} needs an open(order, workplace) method")
    for flag in ("inherits_context", "accepts_seed", "is_immediate"):
        if not isinstance(getattr(provider, flag, None), bool):
            raise InvalidRequest(f"provider {name!r} needs {flag}=True or False")
    return name


def once(action: Callable[[], bool]) -> Callable[[], bool]:
    """Return what does *action* at its first call, and says False at every later one."""
    actions = [action]

    def do() -> bool:
        try:
            first = actions.pop()
        except IndexError:
            return False
        return first()

    return do


class Providers:
    """Providers by name; owned by the registry."""

    def __init__(self) -> None:
        self._by_name: dict[str, Provider] = {}
        self._removed: set[str] = set()

    def __iter__(self) -> Any:
        return iter(self._by_name)

    def names(self) -> tuple[str, ...]:
        """Return the registered names, in the order of their registration."""
        return tuple(self._by_name)

    def add(self, provider: Any) -> str:
        """Enter a provider; raises DuplicateProvider and leaves the first usable (REG-2)."""
        name = check_provider(provider)
        if name in self._by_name:
            raise DuplicateProvider(
                f"a provider named {name!r} is registered; remove it first, or use another name"
            )
        self._by_name[name] = provider
        return name

    def remove(self, name: str, provider: Any) -> bool:
        """Remove exactly this registration; another one under the name stays (REG-3)."""
        if self._by_name.get(name) is not provider:
            return False
        del self._by_name[name]
        self._removed.add(name)
        return True

    def take_back(self, name: str) -> None:
        """Undo an addition: the name means again what it meant before (REG-5)."""
        del self._by_name[name]

    def peek(self, name: str) -> Provider | None:
        """Return a registered provider, without importing anything."""
        return self._by_name.get(name)

    def find(self, name: str) -> Provider | None:
        """Return the provider that ``get`` would, or None whatever is wrong with it."""
        found = self._by_name.get(name)
        if found is None:
            try:
                found = self.get(name)
            except Exception:  # noqa: BLE001 - the registry meets it again, and refuses the start
                return None
        return found

    def get(self, name: str) -> Provider:
        """
        Return the provider of that name, importing it if it is a known one.

        Raises:
            NoProvider: there is none; the message says which there are.
            MissingExtra: it is known, and what it needs is not installed.
        """
        found = self._by_name.get(name)
        if found is not None:
            return found
        if name in self._removed:
            raise _no_provider(name, self._by_name)
        provider = maker_of(name, self._by_name)()
        check_provider(provider)
        # Tools look on the loop, the registry in its handlers: the first to be entered stays.
        return self._by_name.setdefault(name, provider)


def maker_of(name: str, others: Iterable[str] = ()) -> Callable[[], Provider]:
    """
    Find what makes a provider that is known, or comes with an installed package.

    Raises:
        NoProvider: there is none; the message says which there are, *others* included.
        MissingExtra: it is known, and what it needs is not installed.
    """
    make = _factory(name)
    if make is None:
        raise _no_provider(name, others)
    return make


def _no_provider(name: str, others: Iterable[str]) -> NoProvider:
    there = ", ".join(dict.fromkeys((*others, *KNOWN)))
    return NoProvider(f"no provider named {name!r}; there are {there}")


def _factory(name: str) -> Callable[[], Provider] | None:
    if not isinstance(name, str):
        return None
    dotted = KNOWN.get(name)
    if dotted is not None:
        module, _, attribute = dotted.partition(":")
        try:
            made = getattr(importlib.import_module(module), attribute)
        except ImportError as error:
            raise MissingExtra(
                f"provider {name!r} needs a package that is not installed ({error.name});"
                f" pip install 'retinue[{name}]'"
            ) from error
        return cast("Callable[[], Provider]", made)
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        if entry.name == name:
            return cast("Callable[[], Provider]", entry.load())
    return None
