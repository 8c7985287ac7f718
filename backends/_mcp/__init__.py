"""Parts of the connection to MCP servers."""

if __name__ != "retinue.backends._mcp":
    raise ImportError(f"import retinue.backends._mcp, not {__name__!r}")
