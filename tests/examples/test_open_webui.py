"""PrefRAG behind Open WebUI, following the example's README."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import openai
import pytest

from tests.pipelines.scripted import answer, scripted_yaml, search, verdict
from tests.server.serving import listening

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def _scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replace the shipped pipeline by one that switches to the web."""
    yaml = scripted_yaml(search("alpha"), search("beta delta"), answer("1974"), verdicts=(verdict(False),))
    (tmp_path / "prefrag.yaml").write_text(yaml)
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))


@pytest.mark.slow
def test_the_commands_of_the_readme(run: Run, commands_of: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch):
    key, serve, server, own_key, chat, *open_webui = commands_of("open_webui")
    run(key)
    statuses = []
    run(serve, lambda client: statuses.append(client.get("/v1/models").status_code))
    assert statuses == [401], "a request without the key"
    for command in (server, own_key):
        run(command)

    with listening() as (_, address):
        monkeypatch.setenv("OPENAI_API_BASE_URL", f"{address}/open-webui/v1")
        printed = run(chat)

    assert printed.startswith("Models: prefrag, prefrag-tasks\n")
    assert "Search local: alpha\n" in printed
    assert printed.splitlines()[-6:] == [
        "[1] alpha (your documents)",
        "[2] delta (web)",
        "Correct by the model's own check · 3 searches · 1 query sent to the web",
        "1974",
        "",
        "Note: the answer cites none of the passages; sent to the web: “beta delta”.",
    ]
    *variables, start = open_webui
    assert start.startswith("open-webui serve ")
    assert all(re.fullmatch("export [A-Z_]+=(true|false|prefrag-tasks)", command) for command in variables)


def test_another_key_is_refused(run: Run, commands_of: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch):
    chat = next(command for command in commands_of("open_webui") if "chat.py" in command)
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")

    with listening(PREFRAG_API_KEYS="a-long-random-key") as (_, address):
        monkeypatch.setenv("OPENAI_API_BASE_URL", f"{address}/open-webui/v1")
        with pytest.raises(openai.AuthenticationError):
            run(chat)
