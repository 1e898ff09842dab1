"""A model server that misbehaves on demand, and the application over a folder of indexes, for the benchmarks."""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.load import free_port, process
from benchmarks.model_server import PrefragScript


class Reply(BaseHTTPRequestHandler):
    """Handles a request to the model server. Most methods are ways to misbehave."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """List one model, as a healthy server does."""
        self.send(200, {"object": "list", "data": [{"id": "simulated", "object": "model"}]})

    def do_POST(self) -> None:
        """Reply to a call with the current fault."""
        self.request_body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.calls += 1
        self.server.fault(self)

    def send(self, status: int, body: Any, length: int | None = None, **headers: str) -> None:
        """Send a reply, as JSON unless it is bytes. ``length`` is the announced length, which may be wrong."""
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        headers = {"content-type": "application/json", "content-length": str(length or len(payload)), **headers}
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(payload)

    def complete(self, text: str = "") -> None:
        """Reply like a healthy server."""
        prompt = "\n".join(str(message["content"]) for message in self.request_body["messages"])
        message = {"role": "assistant", "content": text or self.server.script(prompt)}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        self.send(200, {"id": "1", "object": "chat.completion", "created": 0, "model": "simulated", "choices": choices})

    def fail(self, status: int, **headers: str) -> None:
        """Refuse the call."""
        self.send(status, {"error": {"message": "The simulated server refuses."}}, **headers)

    def hang(self, drip: bool = False) -> None:
        """Do not answer until the client leaves. With ``drip``, send a byte every second."""
        if drip:
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
        while not select.select([self.connection], [], [], 1.0)[0]:
            if drip:
                self.wfile.write(b" ")
        self.close_connection = True

    def cut(self) -> None:
        """Close the connection in the middle of the body."""
        self.send(200, b'{"choices": [', length=1_000)
        self.close_connection = True

    def reset(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        """Stay silent."""


class Server(ThreadingHTTPServer):
    """The model server. ``fault`` sends each reply, and ``calls`` counts the calls."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Reply)
        self.fault: Callable[[Reply], None] = Reply.complete
        self.calls = 0
        self.script = PrefragScript()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent when a client leaves."""


@contextmanager
def serve(data: Path, pipeline: str, **environment: str) -> Iterator[str]:
    """Serve the application over the indexes of a folder, and yield its address."""
    port = free_port()
    command = [sys.executable, "-m", "prefrag.cli.main", "serve", "--port", str(port), "--pipeline", pipeline]
    url = f"http://127.0.0.1:{port}"
    # Wait for /live, because /ready would never answer while the model server or Elasticsearch is down.
    with process(*command, ready=f"{url}/live", PREFRAG_DATA_DIR=str(data), **environment):
        yield url
