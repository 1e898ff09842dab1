"""The tutorials: their commands run in their order, and print what stands below them."""

from __future__ import annotations

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

import pytest

from tests.docs.markdown import CHECKOUT, FENCE

TUTORIALS = sorted((CHECKOUT / "docs" / "tutorials").glob("*.md"))
_NOT_RUN = re.compile(r"<!-- not run by the tests: (.+) -->\n\Z")
_MEASURED = re.compile(r"\d+(\.\d+)?(%| m?s\b)")
SECONDS = 300.0


class Part(NamedTuple):
    """A block of commands.

    :param commands: What is pasted into a terminal.
    :param printed: What stands below it, ``...`` for what is left out.
    :param not_run: Why the tests do not run it.
    """

    commands: str
    printed: str
    not_run: str


def parts(tutorial: Path) -> list[Part]:
    text = tutorial.read_text(encoding="utf-8")
    found: list[Part] = []
    for block in FENCE.finditer(text):
        if block["language"] in ("text", "mermaid"):
            found[-1] = found[-1]._replace(printed=block["text"])
        elif not block["language"]:
            reason = _NOT_RUN.search(text, 0, block.start())
            found.append(Part(block["text"], "", reason[1] if reason else ""))
    return found


def missing_line(shown: str, printed: str) -> str | None:
    """The first line that is shown and was not printed after the lines before it; times and probabilities do not count."""
    rest = _MEASURED.sub(r"0\2", printed)
    for line in _MEASURED.sub(r"0\2", shown).splitlines():
        if line.strip() != "...":
            _, found, rest = rest.partition(line)
            if not found:
                return line
    return None


class Terminal:
    """A shell in which one block runs after the other; a server goes on running in a terminal of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.server: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        # The commands that the installation makes.
        programs = folder / ".venv" / "bin"
        programs.mkdir(parents=True)
        for name, program in {"prefrag": "-m prefrag.service.cli.main", "python": ""}.items():
            script = programs / name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {program} "$@"\n')
            script.chmod(0o755)
        for name in ("demo", "examples", "yaml_pipelines"):
            (folder / name).symlink_to(CHECKOUT / name)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PREFRAG_", "OPENAI_", "XDG_"))
        }
        own = {"HOME": str(folder), "PYTHONPATH": str(CHECKOUT), "PATH": f"{programs}:{os.environ['PATH']}"}
        self.environment = {**kept, **own, "COLUMNS": "200"}

    def run(self, commands: str) -> str:
        """Run a block and give what it printed; what it exports holds for the blocks behind it."""
        commands = commands.replace(":1416", f":{self.port}")
        if commands.startswith(".venv/bin/prefrag serve"):
            self.serve(f"{commands.strip()} --port {self.port}")
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

    def serve(self, command: str) -> None:
        self.stop()
        with (self.folder / "server.log").open("wb") as log:
            self.server = subprocess.Popen(
                ["bash", "-c", f"[ ! -e .exported ] || . ./.exported\nexec {command}"],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + SECONDS
        while True:
            with socket.socket() as connection:
                if connection.connect_ex(("127.0.0.1", int(self.port))) == 0:
                    return
            assert self.server.poll() is None, (self.folder / "server.log").read_text()
            assert time.monotonic() < deadline, "no server"
            time.sleep(0.1)

    def stop(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(60)
            self.server = None


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.stop()


@pytest.mark.slow
@pytest.mark.skipif(not all(map(shutil.which, ("bash", "curl"))), reason="needs bash and curl")
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda file: file.stem)
def test_the_commands_print_what_stands_below_them(tutorial: Path, terminal: Terminal):
    for part in parts(tutorial):
        if not part.not_run:
            printed = terminal.run(part.commands)
            missing = missing_line(part.printed, printed)
            assert missing is None, f"{part.commands}\n{missing!r} is not in\n{printed}"


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, id=f"{file.stem}-{part.commands.split()[0]}")
        for file in TUTORIALS
        for part in parts(file)
        if part.not_run
    ],
)
def test_the_commands_that_cannot_run_here(part: Part):
    pytest.skip(f"{part.not_run}: {part.commands.splitlines()[-1]}")


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        ("one\n...\nthree, 0.7 s\n", None),
        ("three, 0.1 s\none\n", "one"),
        ("two\nfour\n", "four"),
    ],
)
def test_what_is_shown_must_be_printed_in_its_order(shown: str, missing: str | None):
    assert missing_line(shown, "one\ntwo\nthree, 0.1 s\n") == missing
