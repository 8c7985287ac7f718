"""The tools of one run: its own, those of its sources, and what its filter leaves of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from retinue.protocol.agent import Agent
from retinue.protocol.model import ToolSpec
from retinue.protocol.tool import Tool, ToolFilter

# Options that are the runtime's own; all others are the model's.
OWN_OPTIONS: Final = frozenset(("model", "tries"))


class Toolbox:
    """What one run may use; lives as long as its driver, on the runtime's loop."""

    __slots__ = ("_agent", "_filter", "_offered", "_specs", "sections")

    def __init__(self, agent: Agent, kept: ToolFilter | None) -> None:
        self._agent = agent
        self._filter = kept
        self._specs: dict[str, tuple[Tool, ToolSpec]] = {}
        self._offered: dict[str, Tool] = {}
        self.sections: tuple[str, ...] = ()

    async def offered(self, turn: Any) -> dict[str, Tool]:
        """Return what the next request may use, by name; sources are asked each time."""
        tools: dict[str, Tool] = {}
        for item in self._agent.tools:
            for tool in (item,) if isinstance(item, Tool) else await item.tools(turn):
                if self._filter is not None and not self._filter.keeps(tool.name):
                    continue
                if tool.is_offered is None or tool.is_offered(turn):
                    tools.setdefault(tool.name, tool)
        self._offered = tools
        return dict(tools)

    @property
    def has_sources(self) -> bool:
        """Whether something has to be let go of at the end."""
        return any(not isinstance(item, Tool) for item in self._agent.tools)

    def spec(self, tool: Tool) -> ToolSpec:
        """Return what a model is told of a tool; worked out once."""
        known = self._specs.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._specs[tool.name] = (tool, _spec(tool))
        return known[1]

    def unknown(self, name: str) -> str:
        """Say that there is no such tool, whatever took it away (PER-6)."""
        return f"unknown tool {name!r}; there are: {', '.join(self._offered) or 'none'}"

    def model_options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options that are meant for the model."""
        return {name: value for name, value in options.items() if name not in OWN_OPTIONS}

    async def aclose(self, run_id: str) -> None:
        """Let every source go of what it held for this run."""
        for item in self._agent.tools:
            if not isinstance(item, Tool):
                await item.close(run_id)


def _spec(tool: Tool) -> ToolSpec:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return ToolSpec(tool.name, tool.description, parameters)
