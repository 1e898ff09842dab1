"""Finding the model servers that run on this machine."""

import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from prefrag.cli.local_servers import LocalServer, find_local_servers
from prefrag.components.both_ways import call_in_thread
from prefrag.components.generators.context_window import get_json
from tests.components.generators.fake_model_server import DRIP, FakeModelServer


def models(*names: str, owner: str = "somebody") -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model", "owned_by": owner} for name in names]}


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    server = FakeModelServer()
    yield server
    server.close()


def port_of(server: FakeModelServer) -> int:
    return urlsplit(server.url).port or 0


def found(server: FakeModelServer, program: str = "Ollama") -> list[LocalServer]:
    return find_local_servers({port_of(server): program})


def test_server_has_a_name_and_models_but_no_embedding_ones(
    server: FakeModelServer,
):
    server.listed = models("llama3.2", "qwen3:8b")

    assert found(server) == [LocalServer("Ollama", server.url, ("llama3.2", "qwen3:8b"))]

    server.listed = models("nomic-embed-text", "qwen3", owner="llamacpp")

    assert [(each.program, each.models) for each in found(server, "vLLM")] == [("llama.cpp", ("qwen3",))]


@pytest.mark.parametrize(
    "listed",
    [
        {},
        [],
        "hello",
        {"data": "none"},
        {"data": [{"name": "x"}, 5]},
        models("nomic-embed-text"),
        models("prefrag", owner="hayhooks"),
        models("evil\x1b[2Jname"),
    ],
    ids=["empty", "list", "text", "no list", "no ids", "embeds", "this service", "control characters"],
)
def test_another_service_is_not_taken_for_one(server: FakeModelServer, listed: Any):
    server.listed = listed

    assert found(server) == []


def test_an_error_is_no_list(server: FakeModelServer):
    server.health, server.listed = 401, models("qwen3")

    assert found(server) == []


def test_several_are_looked_for_at_once_and_not_for_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("prefrag.cli.local_servers._SECONDS", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        # The dictionary needs two different ports. The unused one refuses at once.
        assert find_local_servers({silent.getsockname()[1]: "Ollama", 1: "vLLM"}) == []

    assert time.monotonic() - began < 5


def test_one_whose_headers_drip_is_given_up(server: FakeModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("prefrag.cli.local_servers._SECONDS", 0.1)
    server.listed = DRIP

    assert call_in_thread(lambda: found(server)).result(5) == []
    assert server.left.wait(5)


async def test_a_server_is_asked_also_where_an_event_loop_runs(server: FakeModelServer):
    server.listed = models("qwen3")

    assert get_json(f"{server.url}/models") == server.listed
