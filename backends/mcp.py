"""
Tools of MCP servers, through the official SDK, which the extra ``mcp`` brings.

A server is opened when the first turn of a run needs it, and closed with that run; a shared
one is opened once per runtime, and closed with the runtime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final

import attrs

from retinue.backends._mcp.connection import Connection, Connections
from retinue.protocol.errors import InvalidAgent, MissingExtra
from retinue.protocol.tool import Tool

# Seconds of the machine's clock for opening a server, and of the runtime's for one call.
TIMEOUT: Final = 60.0


def _no_words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise InvalidAgent(
            f"McpServer: command: expected a list, as ['npx', 'server'], not the text {value!r}"
        )
    return tuple(str(word) for word in value)


@attrs.define(eq=False, kw_only=True)
class McpServer:
    """
    A source of tools: a server that speaks the Model Context Protocol.

    Give either *command* or *url*, and the server to ``Agent(tools=[...])``. What it offers
    is asked for when it is opened, and again when it says that this has changed.

    Args:
        command: the program and its arguments; it is spoken to by stdin and stdout.
        url: where a server listens that speaks streamable HTTP.
        name: what it is called in errors; by default the program, or the URL.
        prefix: put before the names of its tools, to tell servers apart.
        env: variables of the program's environment beside the few that every program needs,
            as PATH and HOME. Nothing else of this process's environment reaches it.
        cwd: the folder that the program runs in.
        headers: sent with every request to *url*.
        is_shared: whether all runs of a runtime use one server, and not one each.
        timeout: seconds that opening it may take, and each call of a tool.

    Raises:
        InvalidAgent: not exactly one of *command* and *url* is given, or the timeout is none.
        MissingExtra: the SDK is not installed.
    """

    command: tuple[str, ...] = attrs.field(default=(), converter=_no_words)
    url: str | None = None
    name: str = ""
    prefix: str = ""
    env: Mapping[str, str] = attrs.field(factory=dict[str, str], repr=False)
    cwd: str | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str], repr=False)
    is_shared: bool = False
    timeout: float = TIMEOUT
    _used_by: dict[str, Connections] = attrs.field(
        init=False, factory=dict[str, Connections], repr=False
    )

    def __attrs_post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise InvalidAgent("McpServer: give either command=[...] or url='http...'")
        if isinstance(self.timeout, bool) or not self.timeout > 0:
            raise InvalidAgent(f"McpServer: timeout: expected seconds, got {self.timeout!r}")
        if find_spec("mcp") is None:
            raise MissingExtra("McpServer needs the package mcp: pip install 'retinue[mcp]'")
        if not self.name:
            self.name = self.url or self.command[0].rpartition("/")[2]

    def __getstate__(self) -> dict[str, Any]:
        # Servers that are up belong to this process.
        names = [field.name for field in attrs.fields(McpServer) if field.init]
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._used_by = {}

    @property
    def names(self) -> tuple[str, ...] | None:
        """None: only the server knows, once it is up."""
        return None

    async def tools(self, turn: Any) -> Sequence[Tool]:
        """
        Return what the server offers now; opens it, or opens it again if it was lost.

        Raises:
            ToolFailed: it cannot be opened; the text says why.
        """
        workplace = turn.workplace
        connections: Connections = workplace.shared("mcp", Connections)
        if not self.is_shared:
            self._used_by[workplace.run_id] = connections
        return await self._connection(connections, workplace.run_id).tools(workplace)

    def _connection(self, connections: Connections, run_id: str) -> Connection:
        key = (self, None if self.is_shared else run_id)
        return connections.get(key, self)  # pyright: ignore[reportArgumentType]

    async def close(self, run_id: str) -> None:
        """Close what was opened for a run; a shared server stays up for the others."""
        connections = self._used_by.pop(run_id, None)
        if connections is not None:
            await connections.close((self, run_id))
