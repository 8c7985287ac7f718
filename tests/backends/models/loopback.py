"""A server of models on this machine: answers what a test put in line, and keeps what it heard."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.backends.models.dialects import Refused, Streamed, closing, error_body, opening
from tests.doubles import PATIENCE


class Loopback:
    """
    What a test sees of the server.

    Requests that find nothing in line are answered with 404: a client that asks once more
    than it should is seen.
    """

    def __init__(self, port: int) -> None:
        self.root: Final = f"http://127.0.0.1:{port}"
        self.line: Final[queue.SimpleQueue[Streamed | Refused]] = queue.SimpleQueue()
        self.heard: Final[list[dict[str, Any]]] = []
        self.paths: Final[list[str]] = []
        self.keys: Final[list[str]] = []
        self.connections = 0
        self.has_streamed: Final = threading.Event()
        self.was_left: Final = threading.Event()

    def queue(self, *answers: Streamed | Refused) -> None:
        """Put answers in line."""
        for answer in answers:
            self.line.put(answer)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE  # a connection that a client forgets does not hold up the end
    loopback: Loopback

    def setup(self) -> None:
        """Count the connection."""
        super().setup()
        self.loopback.connections += 1

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Take a request and answer with what is next in line."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.loopback.heard.append(json.loads(body))
        self.loopback.paths.append(self.path)
        self.loopback.keys.append(self.headers.get("Authorization", ""))
        try:
            answer = self.loopback.line.get_nowait()
        except queue.Empty:
            answer = Refused(404, "nothing is in line")
        if isinstance(answer, Refused):
            self._refuse(answer)
        else:
            self._stream(answer)

    def _refuse(self, answer: Refused) -> None:
        body = error_body(self.path.partition("?")[0], answer)
        self.send_response(answer.status)
        for name, value in (*answer.headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: Streamed) -> None:
        path = self.path.partition("?")[0]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._chunks(opening(path, answer))
        self.loopback.has_streamed.set()
        if answer.hold is not None:
            answer.hold.wait()
        if answer.until_gone:
            self._wait_until_gone()
        elif answer.breaks_off:
            self.close_connection = True
        else:
            self._chunks(closing(path, answer))
            self.wfile.write(b"0\r\n\r\n")

    def _chunks(self, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

    def _wait_until_gone(self) -> None:
        self.close_connection = True
        try:
            left = self.connection.recv(1)
        except ConnectionResetError:
            left = b""
        if left == b"":
            self.loopback.was_left.set()


@contextmanager
def serving() -> Iterator[Loopback]:
    """Serve until the block ends; every connection is over then."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = False  # so that the end waits for them
    loopback = Loopback(server.server_address[1])
    server.RequestHandlerClass = type("Handler", (_Handler,), {"loopback": loopback})
    thread = threading.Thread(target=lambda: server.serve_forever(0.01), name="loopback")
    thread.start()
    try:
        yield loopback
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
