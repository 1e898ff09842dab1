"""The commands of the tutorials run in order, and print what the tutorials show."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.docs.markdown import CHECKOUT, FENCE
from tests.for_each import for_each

TUTORIALS = sorted((CHECKOUT / "docs" / "tutorials").glob("*.md"))
_NOT_RUN = re.compile(r"<!-- not run by the tests: (.+) -->\n\Z")
_MEASURED = re.compile(r"\d+(\.\d+)?(%| m?s\b)")
_SERVER = re.compile(r"^\S*(prefrag|open-webui) (serve\b|\./).*$", re.MULTILINE)
SECONDS = 300.0
# The command `open-webui`, from an environment of its own.
OPEN_WEBUI = os.environ.get("PREFRAG_TEST_OPEN_WEBUI", "")
needs_a_shell = pytest.mark.skipif(not all(map(shutil.which, ("bash", "curl"))), reason="needs bash and curl")


class Part(NamedTuple):
    """A block of commands.

    :param commands: The commands, to be pasted into a terminal.
    :param printed: The output that the tutorial shows, with ``...`` for lines that are left out.
    :param not_run: Why the tests do not run the block.
    """

    commands: str
    printed: str
    not_run: str


def parts(tutorial: Path) -> list[Part]:
    text = tutorial.read_text(encoding="utf-8")
    steps: list[Part] = []
    for block in FENCE.finditer(text):
        if block["language"] in ("text", "mermaid"):
            steps[-1] = steps[-1]._replace(printed=block["text"])
        elif not block["language"]:
            reason = _NOT_RUN.search(text, 0, block.start())
            steps.append(Part(block["text"], "", reason[1] if reason else ""))
    return steps


def missing_line(shown: str, printed: str) -> str | None:
    """The first line that is shown but was not printed after the lines before; times and probabilities may differ."""
    rest = _MEASURED.sub(r"0\2", printed)
    for line in _MEASURED.sub(r"0\2", shown).splitlines():
        if line.strip() not in ("", "..."):
            _, match, rest = rest.partition(line)
            if not match:
                return line
    return None


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Terminal:
    """A shell that runs the blocks one after the other; a server keeps running, as in a terminal of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.servers: list[subprocess.Popen[bytes]] = []
        # Free ports replace those that the tutorials name.
        self.ports = {"1416": free_port(), "3000": free_port()}
        # The commands that an installation would make.
        programs = folder / ".venv" / "bin"
        programs.mkdir(parents=True)
        for name, program in {"prefrag": "-m prefrag.cli.main", "python": ""}.items():
            script = programs / name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {program} "$@"\n')
            script.chmod(0o755)
        for name in ("demo", "examples", "yaml_pipelines"):
            (folder / name).symlink_to(CHECKOUT / name)
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("PREFRAG_", "OPENAI_", "XDG_"))
        }
        own = {"HOME": str(folder), "PYTHONPATH": str(CHECKOUT), "PATH": f"{programs}:{os.environ['PATH']}"}
        self.environment = {**inherited, **own, "COLUMNS": "200", "BROWSER": "true"}

    def run(self, commands: str) -> str:
        """Run a block, and return what it printed; exported variables hold for the blocks after it."""
        for named, free in self.ports.items():
            commands = re.sub(rf"(:|--port ){named}\b", rf"\g<1>{free}", commands)
        if match := _SERVER.search(commands):
            port = self.ports["1416" if "prefrag" in match[0] else "3000"]
            self.serve(f"{commands.strip()}{'' if '--port' in match[0] else f' --port {port}'}", port)
            return ""
        script = f"set -e\n{commands}\nexport -p > .exported\n"
        done = subprocess.run(
            ["bash", "-c", f"[ ! -e .exported ] || . ./.exported\n{script}"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def serve(self, commands: str, port: int) -> None:
        log = self.folder / f"server-{port}.log"
        # With `exec`, the signal to stop reaches the server itself.
        commands = _SERVER.sub(r"exec \g<0>", commands)
        with log.open("wb") as output:
            server = subprocess.Popen(
                ["bash", "-c", f"[ ! -e .exported ] || . ./.exported\n{commands}"],
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                stderr=output,
            )
        self.servers.append(server)
        deadline = time.monotonic() + SECONDS
        while True:
            with socket.socket() as connection:
                if connection.connect_ex(("127.0.0.1", port)) == 0:
                    return
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, "no server"
            time.sleep(0.1)

    def stop(self) -> None:
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
        for server in self.servers:
            server.wait(60)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.stop()


@pytest.mark.slow
@needs_a_shell
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda file: file.stem)
def test_the_commands_print_what_stands_below_them(tutorial: Path, terminal: Terminal):
    for part in parts(tutorial):
        if not part.not_run:
            printed = terminal.run(part.commands)
            missing = missing_line(part.printed, printed)
            assert missing is None, f"{part.commands}\n{missing!r} is not in\n{printed}"


@pytest.mark.slow
@needs_a_shell
@pytest.mark.skipif(not OPEN_WEBUI, reason="needs a real Open WebUI: set PREFRAG_TEST_OPEN_WEBUI to its command")
def test_open_webui_offers_and_answers_what_the_tutorial_indexed(terminal: Terminal):
    # Open WebUI calls only our server, and writes only into this folder.
    own = (
        f"DATA_DIR={terminal.folder}/open_webui STATIC_DIR={terminal.folder}/static OFFLINE_MODE=true HF_HUB_OFFLINE=1"
    )
    program = terminal.folder / ".venv" / "bin" / "open-webui"
    program.write_text(f'#!/bin/sh\nPYTHONPATH= {own} exec {shlex.quote(OPEN_WEBUI)} "$@"\n')
    program.chmod(0o755)
    for part in parts(CHECKOUT / "docs" / "tutorials" / "your_documents_behind_open_webui.md"):
        if not part.not_run or "open-webui serve" in part.commands:
            terminal.run(part.commands)
        if "open-webui serve" in part.commands:
            break

    with httpx.Client(base_url=f"http://127.0.0.1:{terminal.ports['3000']}", timeout=SECONDS) as client:
        account = {"name": "Ada", "email": "ada@example.com", "password": "a-long-Passw0rd"}
        token = client.post("/api/v1/auths/signup", json=account).json()["token"]
        client.headers["Authorization"] = f"Bearer {token}"
        assert [model["id"] for model in client.get("/api/models").json()["data"] if model["id"] == "prefrag"]
        question = {"model": "prefrag", "messages": [{"role": "user", "content": "Who built Quay 4?"}]}
        reply = client.post("/api/chat/completions", json=question).json()

    assert "Ines Calloway" in reply["choices"][0]["message"]["content"]


@for_each(
    "part",
    *[
        pytest.param(part, id=f"{file.stem}-{part.commands.split()[0]}")
        for file in TUTORIALS
        for part in parts(file)
        if part.not_run
    ],
)
def test_the_commands_that_cannot_run_here(part: Part):
    pytest.skip(f"{part.not_run}: {part.commands.splitlines()[-1]}")


@for_each(
    "shown, missing", ("one\n...\n\nthree, 0.7 s\n", None), ("three, 0.1 s\none\n", "one"), ("two\nfour\n", "four")
)
def test_what_is_shown_must_be_printed_in_its_order(shown: str, missing: str | None):
    assert missing_line(shown, "one\ntwo\nthree, 0.1 s\n") == missing
