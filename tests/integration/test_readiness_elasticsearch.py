"""Whether a pipeline over a real Elasticsearch is reported to be ready."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from elasticsearch import Elasticsearch

from prefrag import indexing
from prefrag.pipelines import load
from prefrag.server.readiness import find_outages


@pytest.fixture
def index(elasticsearch_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of an index that is not there yet."""
    name = f"prefrag-test-{uuid.uuid4().hex}"
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", elasticsearch_url)
    monkeypatch.setenv("PREFRAG_INDEX", name)
    yield name
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.delete(index=name, ignore_unavailable=True)


async def test_an_index_is_searched_for_and_not_made(index: str, elasticsearch_url: str, tmp_path: Path):
    pipelines = {"prefrag_elasticsearch": load("prefrag_elasticsearch")}

    missing = await find_outages(pipelines)
    with Elasticsearch(elasticsearch_url) as client:
        made = bool(client.indices.exists(index=index))
    (tmp_path / "note.txt").write_text("A note on buoys.", encoding="utf-8")
    indexing.index([tmp_path / "note.txt"], index=index, store="elasticsearch")

    assert missing.keys() == {"prefrag_elasticsearch"}
    assert "prefrag index" in missing["prefrag_elasticsearch"].advice
    assert not made
    assert await find_outages(pipelines) == {}
