"""
One MCP server that is up, and the one task that keeps it.

Rule: the SDK's contexts are entered and left in that task alone, whoever asks and from
wherever the end comes (H24). Everything here runs on the runtime's loop.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from shutil import which
from typing import TYPE_CHECKING, Any, Final

from retinue.backends._mcp.words import LastWords, reasons, result_text
from retinue.protocol.errors import ToolFailed
from retinue.protocol.provider import Workplace
from retinue.protocol.tool import Tool

if TYPE_CHECKING:
    from mcp import Client

    from retinue.backends.mcp import McpServer


# The SDK gives a server a process group of its own, and ends that group only when the server
# does not end by itself. One that does may leave helpers behind: they end with it (H14).
_WITH_ITS_HELPERS: Final[tuple[str, ...]] = ("/bin/sh", "-c", '"$@"; kill -9 -$$', "sh")


class Connections:
    """The servers that one runtime has up; closed with it, whatever their runs forgot."""

    def __init__(self) -> None:
        self._up: dict[Hashable, Connection] = {}

    def get(self, key: Hashable, server: McpServer) -> Connection:
        """Return the connection under *key*, not opened yet where it is new."""
        if key not in self._up:
            self._up[key] = Connection(server)
        return self._up[key]

    async def close(self, key: Hashable) -> None:
        """Close one connection; when this returns its server is gone."""
        connection = self._up.pop(key, None)
        if connection is not None:
            await connection.close()

    async def aclose(self) -> None:
        """Close them all at once."""
        up, self._up = list(self._up.values()), {}
        await asyncio.gather(*[connection.close() for connection in up])


class Connection:
    """The way to one server: opened when first needed, and again after it was lost."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._keeper: asyncio.Task[None] | None = None
        # Resolved by the keeper: None when the server is up, else why it is not.
        self._ready: asyncio.Future[ToolFailed | None] | None = None
        self._scope: Any = None
        self._ending = asyncio.Event()
        self._client: Client | None = None
        self._tools: tuple[Tool, ...] | None = None
        self._words = LastWords()

    async def tools(self, workplace: Workplace) -> tuple[Tool, ...]:
        """Return what the server offers; raises ToolFailed when it cannot be opened."""
        if self._keeper is not None and self._ending.is_set():
            await self._gone(self._keeper)  # it was lost: its remains first
        if self._keeper is None:
            # Half a second of imports, once, which the loop has better uses for.
            await workplace.call(lambda: import_module("mcp"))
        if self._keeper is None:
            self._start()
        keeper, ready = self._keeper, self._ready
        assert keeper is not None
        assert ready is not None
        await asyncio.wait((ready,))  # whoever stops waiting costs the others nothing
        failure = ready.result()
        if failure is not None:
            await self._gone(keeper)
            raise failure
        self._words.cut()
        if self._tools is None:  # it has said that they changed
            await self._list()
        return self._tools or ()

    def _start(self) -> None:
        import anyio

        loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        self._ready = loop.create_future()
        self._scope = anyio.CancelScope()
        # Not in the context of whoever came first: the keeper may outlive that turn.
        self._keeper = loop.create_task(
            self._keep(self._ready, self._scope), context=contextvars.Context()
        )

    async def _keep(self, ready: asyncio.Future[ToolFailed | None], scope: Any) -> None:
        import anyio

        server, loop = self._server, asyncio.get_running_loop()
        late = loop.call_later(server.timeout, scope.cancel)
        problem = f"it was not up within {server.timeout:g} s"
        try:
            with self._words.kept(), scope, anyio.CancelScope(shield=True) as spawning:
                # A process whose start is cancelled half-way is nobody's: it is started, and
                # then ended, whoever cancels meanwhile.
                def spawned() -> None:
                    spawning.shield = False

                async with _client(server, self._words, spawned, self._noticed) as client:
                    self._client = client
                    await self._list()
                    late.cancel()
                    ready.set_result(None)
                    await self._ending.wait()
        except asyncio.CancelledError:
            problem = "the runtime's loop was closed"
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's door
            problem = reasons(error)
        finally:
            late.cancel()
            self._client = self._tools = None
            self._ending.set()
            if not ready.done():
                text = f"MCP server {server.name!r} could not be opened: {problem}{self._words}"
                ready.set_result(ToolFailed(text))

    async def _noticed(self, message: Any) -> None:
        """Hear what the server says unasked."""
        if type(message).__name__ == "ToolListChangedNotification":
            self._tools = None

    async def _list(self) -> None:
        client = self._the_client()
        found: list[Tool] = []
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            found += [self._tool(item) for item in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        self._tools = tuple(found)

    def _tool(self, listed: Any) -> Tool:
        async def call(**arguments: Any) -> str:
            return await self._call(listed.name, arguments)

        reads = listed.annotations is not None and listed.annotations.read_only_hint is True
        return Tool(
            self._server.prefix + listed.name,
            call,
            listed.description or "",
            listed.input_schema,
            is_concurrent=reads,
            timeout=self._server.timeout,
        )

    def _the_client(self) -> Client:
        if self._client is None:
            raise ToolFailed(
                f"MCP server {self._server.name!r} is gone; it is opened again for the next step"
            )
        return self._client

    async def _call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool; cancelling this tells the server to stop working on it."""
        import anyio
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        client = self._the_client()
        try:
            result = await client.call_tool(name, arguments)
        except MCPError as error:
            if error.error.code != CONNECTION_CLOSED:
                raise ToolFailed(f"MCP server {self._server.name!r}: {error}") from error
            raise self._lost() from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError) as error:
            raise self._lost() from error
        text = result_text(result)
        if result.is_error:
            raise ToolFailed(text)
        return text

    def _lost(self) -> ToolFailed:
        self._ending.set()
        return ToolFailed(
            f"MCP server {self._server.name!r} ended in the middle of the call, which may have"
            f" had an effect or not; it is opened again for the next step{self._words}"
        )

    async def close(self) -> None:
        """Have the keeper leave, and wait until the server is gone."""
        keeper = self._keeper
        if keeper is None:
            return
        self._ending.set()
        if self._ready is not None and not self._ready.done():
            self._scope.cancel()
        await self._gone(keeper)

    async def _gone(self, keeper: asyncio.Task[None]) -> None:
        await asyncio.wait((keeper,))
        if self._keeper is keeper:
            self._keeper = None


@asynccontextmanager
async def _client(
    server: McpServer, words: LastWords, spawned: Callable[[], None], noticed: Any
) -> AsyncGenerator[Client]:
    """Open a server and give the SDK's client of it; *spawned* is called between the two."""
    import mcp

    async with AsyncExitStack() as stack:
        transport: Any
        if server.command:
            transport = _program(server, words)
        else:
            from mcp.client.streamable_http import streamable_http_client
            from mcp.shared._httpx_utils import create_mcp_http_client

            http = create_mcp_http_client(headers=dict(server.headers))
            await stack.enter_async_context(http)  # the transport closes none but its own
            transport = streamable_http_client(server.url or "", http_client=http)
        client = mcp.Client(_told(transport, spawned), message_handler=noticed, cache=None)
        yield await stack.enter_async_context(client)


@asynccontextmanager
async def _told(transport: Any, entered: Callable[[], None]) -> AsyncGenerator[Any]:
    """Enter a transport and say so."""
    async with transport as streams:
        entered()
        yield streams


def _program(server: McpServer, words: LastWords) -> Any:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    if which(server.command[0], path=server.env.get("PATH")) is None:
        raise ToolFailed(f"there is no program {server.command[0]!r}")
    shell, *rest = (*_WITH_ITS_HELPERS, *server.command)
    parameters = StdioServerParameters(
        command=shell, args=list[str](rest), env=dict(server.env), cwd=server.cwd
    )
    return stdio_client(parameters, errlog=words.file)
