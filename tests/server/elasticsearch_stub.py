"""A fake Elasticsearch, for probes that check whether an index can be searched."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Stub:
    """The answers of the server, which a test may change.

    :param status: The status of the answer to a search.
    """

    # The reply to a request for a document. If `key` is set, requests with another key are refused.
    document: Any = None
    key: str | None = None

    def __init__(self, status: int = 200):
        self.status = status
        self.paths: list[str] = []
        self.url = ""
        # While this is cleared, a search waits.
        self.answers = threading.Event()
        self.answers.set()


@contextmanager
def elasticsearch(stub: Stub, port: int = 0) -> Iterator[Stub]:
    """Serve a stub on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            stub.paths.append(self.path)
            stub.answers.wait(30)
            self._reply(
                stub.status, {"hits": {"hits": []}} if stub.status == 200 else {"error": {"type": "secret_index"}}
            )

        def do_GET(self) -> None:
            is_let_in = stub.key is None or self.headers.get("authorization") == f"ApiKey {stub.key}"
            self._reply(200 if is_let_in else 401, stub.document if is_let_in else {"error": {"type": "security"}})

        def _reply(self, status: int, content: Any) -> None:
            text = json.dumps(content)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("x-elastic-product", "Elasticsearch")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        stub.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield stub
        finally:
            stub.answers.set()
            server.shutdown()
