"""Tools that do nothing, for filters to choose among."""

from __future__ import annotations

from retinue.protocol.tool import Tool


def fine() -> str:
    """Do nothing."""
    return "fine"


TOOLS = [Tool(name, fine) for name in ("read", "write", "remove")]
STARTER = Tool("start", fine, companions=("stop", "list"))
PAIR = [STARTER, Tool("stop", fine), Tool("list", fine), Tool("read", fine)]
