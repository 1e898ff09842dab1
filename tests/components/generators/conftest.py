"""What the tests of models share."""

from collections.abc import Iterator

import pytest

from prefrag.components.generators import context_window, refused_parameters
from tests.components.generators.fake_model_server import FakeModelServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    running = FakeModelServer()
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", running.url)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "tiny")
    monkeypatch.setenv("PREFRAG_LLM_API_KEY", "sk-secret")
    # A port may be given out again, to a server that refuses nothing.
    monkeypatch.setattr(refused_parameters, "_refused", {})
    monkeypatch.setattr(context_window, "_stated", {})
    monkeypatch.setattr(context_window, "_silent_until", {})
    yield running
    running.close()
