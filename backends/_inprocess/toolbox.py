"""The tools of one run: its own, those of its sources, and what its filter leaves of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from retinue.backends._inprocess.long_results import NAME as READ_RESULT
from retinue.backends._inprocess.long_results import LongResults
from retinue.backends._inprocess.structured import NAME as STRUCTURED
from retinue.protocol.agent import Agent
from retinue.protocol.errors import InvalidAgent, ordinary
from retinue.protocol.model import ToolSpec
from retinue.protocol.tool import Tool
from retinue.protocol.tool_filter import ToolFilter, check_names, has_unknown

# Options that are the runtime's own; all others are the model's.
OWN_OPTIONS: Final = frozenset(("model", "tries"))

# Tools of the runtime's own layer, which no filter touches (PER-5).
RESERVED: Final = frozenset((READ_RESULT, STRUCTURED))


class Toolbox:
    """
    What one run may use; lives as long as its driver, on the runtime's loop.

    Raises:
        InvalidAgent: a tool that the run keeps cannot be called, or has a reserved name.
    """

    __slots__ = ("_agent", "_filter", "_is_checked", "_offered", "long", "sections")

    def __init__(self, agent: Agent, kept: ToolFilter | None) -> None:
        self._agent = agent
        self._filter = kept
        self._offered: dict[str, Tool] = {}
        # A filter over names that only come with their source is looked at when they have.
        self._is_checked = kept is None or not has_unknown(agent.tools)
        self.long = LongResults()
        self.sections: tuple[str, ...] = ()
        for item in agent.tools:
            if isinstance(item, Tool) and self._keeps(item):
                self.spec(item)

    def _keeps(self, tool: Tool) -> bool:
        if tool.name in RESERVED:
            raise InvalidAgent(
                f"tool {tool.name!r}: the name is the runtime's own; give Tool(name=...) another"
            )
        return self._filter is None or self._filter.keeps(tool.name)

    async def offered(self, turn: Any) -> dict[str, Tool]:
        """
        Return what the next request may use, by name; sources are asked each time.

        Raises:
            InvalidToolFilter: the filter names what no tool is called.
            InvalidAgent: two tools have one name.
        """
        tools: dict[str, Tool] = {}
        names: list[str] = []
        for item in self._agent.tools:
            found: Sequence[Tool] = (item,) if isinstance(item, Tool) else await item.tools(turn)
            for tool in found:
                names.append(tool.name)
                if self._keeps(tool) and (tool.is_offered is None or tool.is_offered(turn)):
                    self._add(tools, tool)
        self._check_filter(names)
        self.sections = self._guidance(turn, tools)
        if self.long:
            tools[READ_RESULT] = self.long.tool
        self._offered = tools
        return dict(tools)

    def _guidance(self, turn: Any, tools: Mapping[str, Tool]) -> tuple[str, ...]:
        """Return what sources say of the tools that are left of theirs (TOOL-18)."""
        said = [
            item.guidance(turn, tools)
            for item in self._agent.tools
            if not isinstance(item, Tool) and hasattr(item, "guidance")
        ]
        return tuple([text for text in said if text])

    @staticmethod
    def _add(tools: dict[str, Tool], tool: Tool) -> None:
        if tool.name in tools:
            raise InvalidAgent(
                f"two tools are called {tool.name!r}; a prefix tells sources apart, as in"
                " McpServer(prefix=...)"
            )
        tools[tool.name] = tool

    def _check_filter(self, names: list[str]) -> None:
        kept = self._filter
        if self._is_checked or kept is None:
            return
        self._is_checked = True
        check_names((*(kept.allow or ()), *kept.deny), names)

    @property
    def has_sources(self) -> bool:
        """Whether something has to be let go of at the end."""
        return any(not isinstance(item, Tool) for item in self._agent.tools)

    def spec(self, tool: Tool) -> ToolSpec:
        """Return what a model is told of a tool."""
        return tool.spec

    def unknown(self, name: str, *others: str) -> str:
        """Say that there is no such tool, whatever took it away (PER-6)."""
        known = ", ".join((*self._offered, *others)) or "none"
        return f"unknown tool {name!r}; there are: {known}"

    def model_options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options that are meant for the model."""
        return {name: value for name, value in options.items() if name not in OWN_OPTIONS}

    async def aclose(self, run_id: str) -> None:
        """
        Let every source go of what it held for this run; long results are gone already.

        Raises:
            ExceptionGroup: some would not; the others have let go all the same.
        """
        failed: list[Exception] = []
        for item in self._agent.tools:
            if not isinstance(item, Tool):
                try:
                    await item.close(run_id)
                except BaseException as error:  # noqa: BLE001 - the others are to be closed too
                    failed.append(ordinary(error))
        if failed:
            raise ExceptionGroup(f"{run_id}: sources of tools would not close", failed)
