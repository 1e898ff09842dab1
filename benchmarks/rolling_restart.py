"""Restart two servers behind nginx in turn under load. Then stream from a model slower than the time-out of nginx."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx

from benchmarks.load import free_port, process
from benchmarks.served import Reply, Server

KEY = {"Authorization": "Bearer rolling"}
_LAME_DUCK_SECONDS = 3
_CONFIGURATION = """
pid {folder}/pid; error_log {folder}/error.log; daemon off; worker_processes 1;
events {{ worker_connections 1024; }}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
upstream servers {{ {servers} }}
server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://servers; }} }} }}
"""


class Nginx:
    """A proxy that stands for a load balancer: requests go to the servers that :meth:`point_to` named last."""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        folder.mkdir()

    def point_to(self, *ports: int) -> None:
        """Send all requests from now on to the servers at these ports."""
        servers = " ".join(f"server 127.0.0.1:{port};" for port in ports)
        text = _CONFIGURATION.format(folder=self.folder, servers=servers, port=self.port)
        (self.folder / "nginx.conf").write_text(text)
        if (self.folder / "pid").exists():
            subprocess.run([*self.command, "-s", "reload"], check=True, stderr=subprocess.DEVNULL)

    @property
    def command(self) -> list[str]:
        """The command that runs nginx."""
        return [shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(self.folder / "nginx.conf")]

    @contextlib.contextmanager
    def run(self) -> Iterator[None]:
        """Run nginx until the block ends."""
        with subprocess.Popen(self.command, stderr=subprocess.DEVNULL) as running:
            try:
                while not (self.folder / "pid").exists():
                    time.sleep(0.05)
                yield
            finally:
                running.terminate()


def roll(data: Path, clients: int, silent_seconds: float) -> list[str]:
    """Restart each server once while clients ask. Then ask once with a slow model. Return what went wrong."""
    model, delay = Server(), [0.1]

    def reply(call: Reply) -> None:
        time.sleep(delay[0])
        # One slow call is enough, so its reply is already the answer.
        call.complete("Final Answer: Oslo" if delay[0] == silent_seconds else "")

    model.fault = reply
    threading.Thread(target=model.serve_forever, daemon=True).start()
    environment = {
        "PREFRAG_LLM_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1",
        "PREFRAG_LLM_MODEL": "simulated",
        "PREFRAG_API_KEYS": "rolling",
        "PREFRAG_WEB": "off",
        "HAYHOOKS_LOG_LEVEL": "ERROR",
        "PREFRAG_LAME_DUCK_SECONDS": str(_LAME_DUCK_SECONDS),
        "PREFRAG_DATA_DIR": str(data),
    }
    ports, nginx = [free_port(), free_port()], Nginx(data / "nginx")
    seen, wrong, over = Counter[str](), list[str](), threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                body = {
                    "model": "prefrag",
                    "stream": True,
                    "messages": [{"role": "user", "content": "Where was Q-12345?"}],
                }
                text = httpx.post(f"{nginx.url}/v1/chat/completions", json=body, headers=KEY, timeout=300)
                whole = text.text.endswith("data: [DONE]\n\n")
                outcome = "answered" if whole else "cut"
                if not whole and text.status_code != 200:
                    outcome = str(text.status_code)
                seen[outcome] += 1
            except httpx.HTTPError as error:
                seen[type(error).__name__] += 1

    with ExitStack() as proxies, ThreadPoolExecutor(clients) as threads:
        servers = []
        for port in ports:
            servers.append(proxies.enter_context(ExitStack()))
            start(servers[-1], port, environment)
        nginx.point_to(*ports)
        proxies.enter_context(nginx.run())
        try:
            for _ in range(clients):
                threads.submit(ask)
            for server, port, other in zip(servers, ports, reversed(ports), strict=True):
                time.sleep(2)
                running = getattr(server, "process")  # noqa: B009
                running.send_signal(signal.SIGTERM)
                while httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200:
                    time.sleep(0.05)
                nginx.point_to(other)
                running.wait(60)
                server.close()
                start(server, port, environment)
                nginx.point_to(*ports)
            time.sleep(2)
        finally:
            over.set()
        threads.shutdown()
        print(f"2 restarts under {clients} clients: {dict(seen)}", flush=True)
        wrong += [f"{number} {what}" for what, number in seen.items() if what != "answered"]
        if silent_seconds:
            seen.clear()
            over.clear()
            delay[0] = silent_seconds
            asking = threading.Thread(target=ask)
            asking.start()
            over.set()
            asking.join()
            print(f"a stream while the model is silent for {silent_seconds:g} s: {dict(seen)}", flush=True)
            wrong += [] if seen == {"answered": 1} else [f"The stream from the silent model: {dict(seen)}"]
    model.shutdown()
    model.server_close()
    return wrong


def start(server: ExitStack, port: int, environment: dict[str, str]) -> None:
    """Start a server, which stops when the stack is closed."""
    command = [sys.executable, "-m", "prefrag.cli.main", "serve", "--port", str(port)]
    ready = f"http://127.0.0.1:{port}/ready"
    server.process = server.enter_context(process(*command, ready=ready, **environment))  # type: ignore[attr-defined]
