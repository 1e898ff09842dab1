"""Whether a pipeline over a real Elasticsearch is reported to be ready."""

from pathlib import Path

import pytest
from elasticsearch import Elasticsearch

from prefrag.collections import indexing
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.pipelines import load
from prefrag.server.http.readiness import find_outages


async def test_an_index_is_searched_for_and_not_made(
    name: str, client: Elasticsearch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PREFRAG_INDEX", name)
    pipelines = {"prefrag_elasticsearch": load("prefrag_elasticsearch")}

    missing = await find_outages(pipelines)
    made = bool(client.indices.exists(index=name))
    (tmp_path / "note.txt").write_text("A note on buoys.", encoding="utf-8")
    indexing.index([tmp_path / "note.txt"], ElasticCollection(name))

    assert missing.keys() == {"prefrag_elasticsearch"}
    assert "prefrag index" in missing["prefrag_elasticsearch"].advice
    assert not made
    assert await find_outages(pipelines) == {}
