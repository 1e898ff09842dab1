import json
import select
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage

QUESTION = [ChatMessage.from_user("Where?")]
# In place of an answer, the server is silent or sends a byte now and then.
HANG, DRIP = object(), object()

both_ways = pytest.mark.parametrize("how", ["sync", "async"])


def completion(text: str | None, **message: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "served",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


class FakeModelServer:
    """A model server on a free port, which answers from a list and repeats the last answer.

    An answer may be a function, which gets the request and returns the text of the reply. ``left`` is set when a client
    closes its connection while it waits for an answer.
    """

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = [(200, completion("Paris"))]
        self.headers: dict[str, str] = {}
        self.requests: list[dict[str, Any]] = []
        self.connections: set[Any] = set()
        self.health = 200
        self.listed: Any = {}
        self.pages: dict[str, Any] = {}  # what is listed at other paths
        self.looked_up: list[str] = []
        self.called = threading.Event()
        self.released = threading.Event()
        self.left = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.connections.add(self.client_address)
                outer.requests.append({"path": self.path, "authorization": self.headers["authorization"], **body})
                outer.called.set()
                status, answer = outer.answers[min(len(outer.requests), len(outer.answers)) - 1]
                if callable(answer):
                    answer = completion(answer(body))
                if answer in (HANG, DRIP):
                    self.keep_waiting(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n" if answer is DRIP else b"")
                    return
                payload = answer.encode() if isinstance(answer, str) else json.dumps(answer, default=str).encode()
                self.send_response(status)
                self.send_header("content-type", "text/html" if isinstance(answer, str) else "application/json")
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def keep_waiting(self, drips_after: bytes) -> None:
                self.wfile.write(drips_after)
                self.close_connection = True
                try:
                    while not outer.released.is_set():
                        if select.select([self.connection], [], [], 0.01)[0] and not self.connection.recv(1):
                            raise ConnectionError
                        if drips_after:
                            self.wfile.write(b" ")
                except OSError:
                    outer.left.set()

            def do_GET(self) -> None:
                outer.looked_up.append(self.path)
                if outer.listed is DRIP:
                    self.keep_waiting(b"HTTP/1.1 200 OK\r\nserver: a")
                    return
                self.send_response(outer.health)
                payload = json.dumps(outer.pages.get(self.path, outer.listed)).encode()
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
