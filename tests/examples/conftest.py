"""What the tests of examples share: a checkout, a model that replies from a script, and the commands of a README."""

import contextlib
import io
import os
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from starlette.testclient import TestClient

from prefrag.server.app import create_app
from prefrag.server.http import supervisor
from tests.cli.running import prefrag
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.docs.markdown import CHECKOUT
from tests.examples.readme import commands
from tests.server.serving import SHARED


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder with the files that the READMEs name; imported and trusted modules are forgotten afterwards."""
    for name in ("examples", "demo"):
        (tmp_path / name).symlink_to(CHECKOUT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    # Restore the environment, because commands set variables of this process.
    with mock.patch.dict(os.environ):
        yield tmp_path
    examples = str(CHECKOUT / "examples")
    for name in [name for name, module in sys.modules.items() if examples in (vars(module).get("__file__") or "")]:
        del sys.modules[name]


@pytest.fixture
def reply(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeModelServer]]:
    """Starts a model server that sends these replies, and names it in the environment."""
    servers = []

    def start(*replies: str) -> FakeModelServer:
        server = FakeModelServer()
        servers.append(server)
        server.answers = [(200, completion(text)) for text in replies]
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", server.url)
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "scripted")
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command of a README in this process."""

    def execute(command: str, on_served: Callable[[TestClient], None] | None = None) -> str:
        words = shlex.split(command, comments=True)
        while words and (words[0] == "export" or "=" in words[0]):
            name, _, value = words.pop(0).partition("=")
            if value:
                monkeypatch.setenv(name, value)
        if not words:
            return ""
        program, *arguments = words
        if program == "python":
            return _script(arguments)
        assert program == "prefrag", command
        served = []

        def serve(*_: Any, **__: Any) -> None:
            with SHARED.aside(), TestClient(create_app()) as client:
                if on_served:
                    on_served(client)
            served.append(True)

        monkeypatch.setattr(supervisor, "run", serve)
        result = prefrag(*arguments)
        assert result.exit_code == 0, result.output
        assert bool(served) == (arguments[0] == "serve")
        return str(result.output)

    def _script(arguments: list[str]) -> str:
        monkeypatch.setattr(sys, "argv", arguments)
        monkeypatch.syspath_prepend(str(Path(arguments[0]).parent))
        with contextlib.redirect_stdout(io.StringIO()) as output:
            runpy.run_path(arguments[0], run_name="__main__")
        return output.getvalue()

    return execute


@pytest.fixture
def commands_of() -> Callable[[str], list[str]]:
    """The commands of an example's README, in their order."""
    return lambda example: commands(CHECKOUT / "examples" / example / "README.md")
