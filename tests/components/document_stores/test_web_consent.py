"""The consent to web searches that is kept with an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.elasticsearch import consent
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.web_consent import all_consent, keep_web_consent, read_web_consent


def made(path: Path) -> TantivyDocumentStore:
    store = TantivyDocumentStore(path=str(path))
    store.write_documents([Document(content="heron")])
    return store


class Server:
    """An Elasticsearch with one index, which replaces `_meta` as a whole, as the real one does."""

    def __init__(self, **indexes: dict[str, Any]) -> None:
        self.indexes = indexes
        self.indices = self

    def __call__(self, *_: Any, **__: Any) -> Server:
        return self

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def options(self, **_: Any) -> Server:
        return self

    def get_mapping(self, index: str) -> dict[str, Any]:
        return {name: {"mappings": {"_meta": meta} if meta else {}} for name, meta in self.indexes.items()}

    def put_mapping(self, index: str, meta: dict[str, Any]) -> None:
        self.indexes[index] = meta


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Any:
    def start(**indexes: dict[str, Any]) -> Server:
        server = Server(**indexes)
        monkeypatch.setattr(consent, "Elasticsearch", server)
        return server

    return start


class TestTantivy:
    def test_tantivy_keeps_the_last_answer_and_its_documents(self, tmp_path: Path):
        store = made(tmp_path / "index")
        assert read_web_consent(store) is None
        for answer in (True, False, True):
            keep_web_consent(store, answer)
            assert read_web_consent(TantivyDocumentStore(path=store.path)) is answer

        store.write_documents([Document(content="tern")])
        assert store.count_documents() == 2
        assert read_web_consent(store) is True

    @pytest.mark.parametrize("text", ["", "{}", '{"web": "yes"}', "[true]", "\x00"])
    def test_has_no_answer_where_the_file_is_damaged(self, tmp_path: Path, text: str):
        store = made(tmp_path / "index")
        (tmp_path / "index" / "prefrag-web.json").write_text(text)

        assert read_web_consent(store) is None

    def test_no_answer_is_kept_without_an_index(self, tmp_path: Path):
        with pytest.raises(DocumentStoreError, match="index documents first"):
            keep_web_consent(TantivyDocumentStore(path=str(tmp_path / "nowhere")), True)
        with pytest.raises(ValueError, match="InMemoryDocumentStore cannot record .* PREFRAG_WEB"):
            keep_web_consent(InMemoryDocumentStore(), True)


class TestElasticsearch:
    STORE = ElasticsearchDocumentStore(hosts="http://search.example:9200", index="towns")

    def test_keeps_the_answer_beside_what_else_its_index_keeps(self, serve: Any):
        server = serve(towns={"owner": "harbour"})

        assert read_web_consent(self.STORE) is None
        keep_web_consent(self.STORE, True)
        assert read_web_consent(self.STORE) is True
        keep_web_consent(self.STORE, False)
        assert read_web_consent(self.STORE) is False
        assert server.indexes["towns"]["owner"] == "harbour"

    def test_an_alias_allows_what_all_its_indexes_allow(self, serve: Any):
        server = serve(towns_1={}, towns_2={})
        keep_web_consent(self.STORE, True)
        assert read_web_consent(self.STORE) is True

        server.indexes["towns_2"] = {}
        assert read_web_consent(self.STORE) is None


class TestSeveral:
    def test_allow_only_together(self, tmp_path: Path):
        first, second = made(tmp_path / "first"), made(tmp_path / "second")
        keep_web_consent(first, True)

        assert all_consent([first])
        assert not all_consent([first, second])
        assert not all_consent([])

    def test_one_that_cannot_be_read_does_not_allow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))

        assert not all_consent([TantivyDocumentStore(index="gone")])
        assert not all_consent([InMemoryDocumentStore()])
