"""A hub of models on the loopback interface. It speaks the protocol of Hugging Face's, with one file."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

REPOSITORY, FILE, COMMIT = "maker/tiny-GGUF", "tiny-q4.gguf", "a" * 40
CONTENT = b"GGUF" + bytes(range(256)) * 400


class Hub:
    """What the hub has, how it behaves, and what it was asked."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.content = content
        self.sha256 = hashlib.sha256(content).hexdigest()
        # The status and headers by the method, or by the method and the path.
        self.refusals: dict[str, tuple[int, dict[str, str]]] = {}
        self.cuts: list[int] = []  # after how many bytes the next replies break off
        self.after_cuts = 0  # the status of GET once all cuts are used up, unless 0
        self.states_hash = True
        self.stated_bytes: int | None = None  # if another size than the file has
        self.etag = ""  # of the files in the storage
        self.asked: list[tuple[str, str, str | None]] = []  # method, path and range of each request
        self.tokens: list[tuple[str, str | None]] = []  # the path and the authorisation of each request
        self.agents: set[str | None] = set()
        self.url = ""
        self.storage = ""  # where the files lie, on another host than the hub, as in the real one


@contextmanager
def running_hub(content: bytes = CONTENT) -> Iterator[Hub]:
    """Serve a hub while the block runs."""
    hub = Hub(content)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            # A proxy is asked for whole addresses.
            path = urlsplit(self.path).path
            hub.asked.append((self.command, path, self.headers["Range"]))
            hub.tokens.append((path, self.headers["Authorization"]))
            hub.agents.add(self.headers["User-Agent"])
            refusal = hub.refusals.get(f"{self.command} {path}") or hub.refusals.get(self.command)
            if refusal is not None:
                self.reply(*refusal)
            elif path.startswith(f"/api/models/{REPOSITORY}"):
                siblings = [{"rfilename": name} for name in ("README.md", FILE, "tiny-q8.gguf")]
                facts = {"id": REPOSITORY, "sha": COMMIT, "tags": ["gguf", "license:mit"], "siblings": siblings}
                self.reply(200, {"Content-Type": "application/json"}, json.dumps(facts).encode())
            elif re.fullmatch(f"/{REPOSITORY}/resolve/(main|{COMMIT})/{FILE}", path):
                etag = hub.sha256 if hub.states_hash else "b" * 40
                headers = {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(hub.stated_bytes or len(hub.content))}
                self.reply(302, headers | {"X-Repo-Commit": COMMIT, "Location": f"{hub.storage}/blob/{FILE}"})
            elif path.startswith("/moved/"):
                self.reply(302, {"Location": f"{hub.storage}/blob/{path.removeprefix('/moved/')}"})
            elif path.startswith("/blob/"):
                self.send_file()
            else:
                self.reply(404, {"X-Error-Code": "EntryNotFound"})

        def send_file(self) -> None:
            if self.command == "GET" and not hub.cuts and hub.after_cuts:
                self.reply(hub.after_cuts, {})
                return
            begin = int(self.headers["Range"].removeprefix("bytes=").rstrip("-")) if self.headers["Range"] else 0
            if self.headers["If-Range"] not in (None, hub.etag):
                begin = 0
            if begin >= len(hub.content):
                self.reply(416, {"Content-Range": f"bytes */{len(hub.content)}"})
                return
            headers = {"ETag": hub.etag} if hub.etag else {}
            if begin:
                headers["Content-Range"] = f"bytes {begin}-{len(hub.content) - 1}/{len(hub.content)}"
            cut = hub.cuts.pop(0) if self.command == "GET" and hub.cuts else None
            self.reply(206 if begin else 200, headers, hub.content[begin:], cut)

        def reply(self, status: int, headers: dict[str, str], body: bytes = b"", cut: int | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[:cut])
            self.close_connection = self.close_connection or cut is not None

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    hub.storage = f"http://localhost:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
