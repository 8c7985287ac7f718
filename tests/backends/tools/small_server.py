"""
The Model Context Protocol by hand, in as few imports as there are.

It starts in a fraction of the time that a server of the SDK takes. Words on its command
line have it fail: ``broken`` before it answers, ``deaf`` by never answering.
"""

import json
import os
import sys
from typing import Any


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one request."""
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "1"},
        }
    if method == "tools/list":
        names = ("process", "die", "helper")
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    if method == "tools/call" and params["name"] == "die":
        sys.stderr.write("I was told to die\n")
        sys.stderr.flush()
        os._exit(3)
    if method == "tools/call" and params["name"] == "helper":
        import subprocess

        child = subprocess.Popen(["/bin/sleep", "1000"])
        return {"content": [{"type": "text", "text": str(child.pid)}]}
    return {"content": [{"type": "text", "text": str(os.getpid())}]}


def main() -> None:
    """Answer one request per line."""
    if "broken" in sys.argv:
        sys.exit("no such database")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "deaf" in sys.argv:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] in ("initialize", "tools/list", "tools/call"):
            reply["result"] = answer(message["method"], message.get("params", {}))
        else:
            reply["error"] = {"code": -32601, "message": "no such method"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
