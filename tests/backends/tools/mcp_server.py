"""A server of tools, run as a program of its own by the tests of McpServer."""

from __future__ import annotations

import asyncio
import os
import sys
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


def note(path: str, word: str) -> None:
    """Leave a word for the test."""
    Path(path).write_text(word, encoding="utf-8")


@server.tool()
async def hang(path: str) -> str:
    """Wait for ever; write to *path* that it began, and that it was cancelled."""
    note(path, "began")
    try:
        await asyncio.Event().wait()
    finally:
        note(path, "cancelled")
    return "never"


if __name__ == "__main__":
    if "broken" in sys.argv:
        sys.exit("no such database")
    server.run()
