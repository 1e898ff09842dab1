"""What the tests of generators share."""

from collections.abc import Iterator

import pytest

from prefrag.components.generators import model_record
from tests.components.generators.fake_model_server import FakeModelServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    running = FakeModelServer()
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", running.url)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "tiny")
    monkeypatch.setenv("PREFRAG_LLM_API_KEY", "sk-secret")
    # A later server may get the same port, so what was learnt about this one must be forgotten.
    monkeypatch.setattr(model_record, "_records", {})
    yield running
    running.close()
