"""A server of tools, run as a program of its own by the tests of McpServer."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("tests")


@server.tool()
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@server.tool()
def environment(name: str) -> str:
    """Return one variable of the server's environment."""
    return os.environ.get(name, "not set")


@server.tool()
def refuse() -> str:
    """Fail."""
    raise ValueError("not today")


@server.tool()
def die() -> str:
    """End the server's process in the middle of the call."""
    os._exit(3)


@server.tool()
def process() -> int:
    """Return the id of the server's process."""
    return os.getpid()


cancelled = asyncio.Event()


@server.tool()
async def hang(path: str) -> str:
    """Wait for ever, and make the file at *path* to say that this has begun."""
    touch(path)
    try:
        await asyncio.Event().wait()
    finally:
        cancelled.set()
    return "never"


def touch(path: str) -> None:
    """Make a file."""
    Path(path).touch()


@server.tool()
async def wait_cancelled() -> str:
    """Wait until a call of hang was cancelled."""
    await cancelled.wait()
    return "it was cancelled"


if __name__ == "__main__":
    server.run()
