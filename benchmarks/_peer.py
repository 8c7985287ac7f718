"""
The reference runtime as a rival: the real DeepSeek Harness, driven by its own Python SDK.

Its model is a server of ours on loopback that answers at once, in the words of Anthropic's
Messages API. Nothing here needs a key or a network.
"""

from __future__ import annotations

import importlib.util
import json
import socketserver
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final

# What the harness would send beside the conversation, and to whom.
_QUIET: Final = (
    "- {id: session-log-deepseek, disabled: true}\n"
    "- {id: plugin-package-inventory-deepseek, disabled: true}\n"
)
_CHILD_SAYS: Final = "The answer is 42."
_WARM_UP_CHILDREN: Final = 2
_PATIENCE_SECONDS: Final = 60.0


def is_installed() -> bool:
    """Whether the harness and its runtime are there: ``pip install 'retinue[harness]'``."""
    return importlib.util.find_spec("deepseek_harness") is not None


class _Server(socketserver.ThreadingTCPServer):
    """Answers as a parent that delegates, or as one of its children."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        # How many children the parent starts in one message, and how many messages of those.
        self.width = 0
        self.rounds = 0

    def reply(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the content blocks of the answer to one request."""
        messages = request["messages"]
        first = json.dumps(messages[0]["content"])
        if "lead the others" not in first:
            return [{"type": "text", "text": _CHILD_SAYS}]
        if self.rounds <= 0 or not any(t["name"] == "subagent" for t in request["tools"]):
            return [{"type": "text", "text": "done"}]
        self.rounds -= 1
        return [
            {
                "type": "tool_use",
                "id": f"call_{self.rounds}_{number}_{time.monotonic_ns()}",
                "name": "subagent",
                "input": {"description": "find it", "prompt": "What is 6 * 7?"},
            }
            for number in range(self.width)
        ]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Be there."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """Answer one request to the model."""
        body = self.rfile.read(int(self.headers["content-length"]))
        data = b"".join(_events(self.server.reply(json.loads(body))))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _events(blocks: list[dict[str, Any]]) -> Iterator[bytes]:
    stop = "tool_use" if blocks[0]["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg", "type": "message", "role": "assistant", "model": "fake", "content": []}
    yield _event("message_start", message={**message, "stop_reason": None, "usage": usage})
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
    yield _event("message_stop")


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


class Harness:
    """One running harness; its parent delegates as often as it is told."""

    def __init__(self, harness: Any, server: _Server) -> None:
        self._harness = harness
        self._server = server

    def delegate(self, *, width: int, rounds: int) -> float:
        """
        Have a new parent start ``width`` children in each of so many messages.

        Returns:
            Seconds per child, from the parent's prompt until all of them are through.
        """
        self._server.width, self._server.rounds = width, rounds
        session = self._harness.start_session()
        ended, count = 0, width * rounds
        with self._harness.client.subscribe_notifications() as told:
            started = time.perf_counter()
            session.run("You lead the others.")
            # The SDK waits without end; closed, it raises at whoever waits.
            patience = threading.Timer(_PATIENCE_SECONDS, self._harness.close)
            patience.start()
            while ended < count:  # the parent is idle before its children are
                ended += told.next().method == "subagent.finished"
            patience.cancel()
            taken = time.perf_counter() - started
        return taken / count


@contextmanager
def harness() -> Iterator[Harness]:
    """Run a harness, warmed up, and end it and its model."""
    from deepseek_harness import DeepSeekHarness

    with _Server() as server, tempfile.TemporaryDirectory() as folder:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        place = Path(folder)
        patch = place / "quiet.yaml"
        patch.write_text(_QUIET, encoding="utf-8")
        (place / "work").mkdir()
        options: dict[str, Any] = {
            "base_url": f"http://127.0.0.1:{server.server_address[1]}",
            "api_key": "none",
            "dsh_home": str(place / "home"),
            "cwd": str(place / "work"),
            "patches": (str(patch),),
            "env": {"DSH_TELEMETRY_DISABLED": "1", "DSH_PERMISSION_MODE": "danger-full-access"},
            "request_timeout_seconds": _PATIENCE_SECONDS,
        }
        try:
            with DeepSeekHarness(**options) as running:
                peer = Harness(running, server)
                for _ in range(_WARM_UP_CHILDREN):
                    peer.delegate(width=1, rounds=1)
                yield peer
        finally:
            server.shutdown()
            serving.join()
