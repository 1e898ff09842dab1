"""An evaluation's corpora in a real Elasticsearch; PREFRAG_TEST_ELASTICSEARCH_URL is its address."""

import json
import uuid
from pathlib import Path

import pytest
from elasticsearch import Elasticsearch

from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.evaluation.corpora import ensure_indexes
from prefrag.indexing.report import Progress


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_a_corpus_is_indexed_once(
    tmp_path: Path, form: str, elasticsearch_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", elasticsearch_url)
    corpus = tmp_path / f"c.{form}"
    # The index is named after its content, which only this test uses.
    text = f"A square in {uuid.uuid4().hex}."
    if form == "tsv":
        corpus.write_text(f"id\ttext\ttitle\n1\t{text}\tKarlsplatz\n2\t{text}\tStephansplatz\n")
    else:
        corpus.write_text("".join(json.dumps({"id": i, "text": text, "source": "both"}) + "\n" for i in range(2)))
    last: list[Progress] = []
    made: list[str] = []
    with Elasticsearch(elasticsearch_url) as client:
        try:
            names = ensure_indexes(corpus, split=form == "jsonl", kind=ElasticCollection, on_progress=last.append)
            made = [name for name in names if name is not None]
            assert [client.count(index=name)["count"] for name in made] == [2] * len(made)
            assert last[-1].written == 2 * len(made)
            again = ensure_indexes(corpus, split=form == "jsonl", kind=ElasticCollection, on_progress=last.append)
            assert (again, last[-1].written) == (names, 0)
        finally:
            client.options(ignore_status=404).indices.delete(index=",".join(made) or "none")
