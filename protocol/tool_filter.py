"""
Tool filters: which of its agent's tools a run keeps, and what it passes on.

Rule 1: filters only narrow; where two hold, what both keep is kept (PER-4).
Rule 2: who keeps a tool keeps its companions: what starts something can stop it (H03).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from retinue.protocol.errors import InvalidToolFilter, UnsupportedCapability
from retinue.protocol.tool import Tool, names_of

if TYPE_CHECKING:
    from retinue.protocol.agent import Agent
    from retinue.protocol.provider import Provider

# Whether what binds the parent binds its child too: the choice of each start (H65).
CEILING: Final = "ceiling"
OWN: Final = "own"
RULES: Final = (CEILING, OWN)

# The name under which a run's log records its filter.
POLICY: Final = "tools"


@attrs.frozen
class ToolFilter:
    """
    Which tools a child keeps: first ``allow``, then not ``deny``.

    ``allow=None`` keeps all; ``allow=()`` keeps none (PER-7).
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def keeps(self, name: str) -> bool:
        """Whether a tool of that name is left."""
        return (self.allow is None or name in self.allow) and name not in self.deny

    def over(self, agent: Agent | None) -> ToolFilter:
        """Return what the filter says of the tools that *agent* has, or may come to have."""
        if agent is not None and has_unknown(agent.tools):
            return self
        known = [] if agent is None else list(names_of(agent.tools))
        allow = None if self.allow is None else tuple([n for n in self.allow if n in known])
        return ToolFilter(allow, tuple([name for name in self.deny if name in known]))

    def within(self, outer: ToolFilter) -> ToolFilter:
        """Return the filter that keeps what both keep; filters only narrow (PER-4)."""
        allow = self.allow
        if allow is None:
            allow = outer.allow
        elif outer.allow is not None:
            allow = tuple([name for name in allow if name in outer.allow])
        return ToolFilter(allow, tuple(dict.fromkeys((*self.deny, *outer.deny))))

    def words(self) -> str:
        """Say what it keeps in a few words."""
        parts: list[str] = []
        if self.allow is not None:
            parts.append(f"only {', '.join(self.allow)}" if self.allow else "none")
        if self.deny:
            parts.append(f"not {', '.join(self.deny)}")
        return ", ".join(parts) or "all"


NO_FILTER: Final = ToolFilter()


def check_tool_filter(value: object, agent: Agent | None) -> ToolFilter:
    """
    Take a tool filter over the tools that *agent* has (VAL-7, PER-7).

    Where it has a source whose names come later, unknown names are taken here and looked
    at in the first turn.

    Raises:
        InvalidToolFilter: no filter, an empty one, one with unknown names, or one that
            denies a companion of a tool that it keeps.
    """
    allow, deny = _listed(value)
    tools: tuple[Any, ...] = () if agent is None else agent.tools
    if not has_unknown(tools):
        check_names((*(allow or ()), *deny), list(names_of(tools)))
    given = ToolFilter(allow if allow is None else _with_companions(allow, deny, tools), deny)
    check_companions(given, tools)
    return given


def check_shape(value: object) -> None:
    """Refuse what is no filter, or an empty one, whoever's tools it is about."""
    _listed(value)


def kept_tools(
    own: object, ceiling: ToolFilter | None, agent: Agent | None, provider: Provider
) -> ToolFilter | None:
    """
    Return the filter of a run: its own, below its parent's, which speaks of names alone.

    Raises:
        UnsupportedCapability: the provider cannot hold the run to its parent's.
        InvalidToolFilter: *own* is none, or a tool would be left without its companions.
    """
    given = None if own is None else check_tool_filter(own, agent)
    if ceiling is None:
        return given
    if not provider.capabilities.tool_filter:
        raise UnsupportedCapability(
            f"provider {provider.name!r} cannot honour the tool filter of the parent, which binds"
            " its children; start(tool_rules='own') lets a child have tools of its own",
            "tool_filter",
        )
    kept = ceiling if given is None else given.within(ceiling)
    check_companions(kept, () if agent is None else agent.tools)
    return kept


def record(kept: ToolFilter | None, rules: str | None) -> dict[str, Any] | None:
    """Return what a run's log says of its filter, as JSON; None where there is no filter."""
    if kept is None:
        if rules != OWN:
            return None
        kept = NO_FILTER  # and not what the parent's log says, which a fork begins with
    allow = None if kept.allow is None else list(kept.allow)
    return {"rules": rules or CEILING, "allow": allow, "deny": list(kept.deny)}


def read_record(value: Any) -> ToolFilter:
    """Return the filter that ``record`` wrote down."""
    allow = value["allow"]
    return ToolFilter(None if allow is None else tuple(allow), tuple(value["deny"]))


def has_unknown(tools: Iterable[Any]) -> bool:
    """Whether there is a source that says only later what it offers."""
    return any(not isinstance(item, Tool) and item.names is None for item in tools)


def check_names(named: Iterable[str], known: Sequence[str]) -> None:
    """Refuse names that no tool has; raises InvalidToolFilter."""
    unknown = [name for name in named if name not in known]
    if unknown:
        raise InvalidToolFilter(
            f"unknown tools {', '.join(unknown)}; the agent has {', '.join(known) or 'none'}"
        )


def check_companions(kept: ToolFilter, tools: Iterable[Any]) -> None:
    """Refuse a filter that keeps a tool without its companions; raises InvalidToolFilter."""
    listed = list(tools)
    known = set(names_of(listed))
    for own, companions in _companions(listed).items():
        if not kept.keeps(own):
            continue
        lost = [name for name in companions if name in known and not kept.keeps(name)]
        if lost:
            raise InvalidToolFilter(
                f"{own!r} is kept and {', '.join(lost)} is not: they belong together, since"
                f" what {own!r} begins could not be looked after; keep all of them, or"
                f" deny {own!r} too"
            )


def _companions(tools: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    """Return which tools belong to which; a source may say so of its own beforehand."""
    found: dict[str, tuple[str, ...]] = {}
    for item in tools:
        if isinstance(item, Tool):
            found[item.name] = item.companions
        else:
            found.update(getattr(item, "companions", {}))
    return found


def _with_companions(
    allow: tuple[str, ...], deny: tuple[str, ...], tools: Iterable[Any]
) -> tuple[str, ...]:
    own, known = _companions(tools), set(names_of(tools))
    kept = dict.fromkeys(allow)
    to_visit = [name for name in allow if name not in deny]
    while to_visit:
        for name in own.get(to_visit.pop(), ()):
            if name in known and name not in kept:
                kept[name] = None
                to_visit.append(name)
    return tuple(kept)


def _listed(value: object) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Take a filter apart; raises InvalidToolFilter for what is none, or is empty."""
    allow: Any
    deny: Any
    if isinstance(value, Mapping):
        given = cast("Mapping[object, Any]", value)
        if set(given) - {"allow", "deny"} or not given:
            raise InvalidToolFilter("a tool filter has 'allow', 'deny' or both, nothing else")
        allow, deny = given.get("allow"), given.get("deny") or ()
    elif isinstance(value, ToolFilter):
        allow, deny = value.allow, value.deny
    else:
        raise InvalidToolFilter(
            f"a tool filter is a ToolFilter or a mapping, not {type(value).__name__}"
        )
    if allow is None and not deny:
        raise InvalidToolFilter("an empty tool filter filters nothing; leave it out")
    for names in (allow or (), deny):
        listed = isinstance(names, Collection) and not isinstance(names, str)
        if not listed or not all(
            isinstance(name, str) for name in cast("Collection[object]", names)
        ):
            raise InvalidToolFilter("a tool filter lists names, as in allow=('read', 'search')")
    return None if allow is None else tuple(allow), tuple(deny)
