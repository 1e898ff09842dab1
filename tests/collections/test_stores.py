import pytest

from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.indexing import index
from prefrag.collections.opening import open_collection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from tests.for_each import for_each
from tests.indexing.samples import Make


class TestStores:
    def test_an_unknown_store_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no store 'faiss': choose from tantivy, elasticsearch"):
            open_collection("default", "faiss")

    def test_the_language_belongs_to_the_index(self, make: Make) -> None:
        index([make("a.txt", "Die H\u00e4user stehen.")], language="german")

        assert TantivyDocumentStore(path=str(index_path("default"))).search("Haus stehend", top_k=1)
        with pytest.raises(ValueError, match="german"):
            index([make("a.txt")], language="french")

    def test_absent_server_is_named_with_the_variable_that_moves_it(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://127.0.0.1:9")
        with pytest.raises(Exception, match="PREFRAG_ELASTICSEARCH_URL"):
            index([make("a.txt")], ElasticCollection())
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "nonsense")
        with pytest.raises(ValueError, match="PREFRAG_ELASTICSEARCH_URL"):
            index([make("a.txt")], ElasticCollection())

    @for_each("host", "127.0.0.1:9", "127.0.0.1:9x", "nonsense:SECRET:9")
    def test_no_message_has_the_password_of_the_server(
        self, make: Make, monkeypatch: pytest.MonkeyPatch, host: str
    ) -> None:
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", f"http://elastic:SECRET@{host}")
        with pytest.raises(Exception, match="PREFRAG_ELASTICSEARCH_URL") as failure:
            index([make("a.txt")], ElasticCollection())
        assert "SECRET" not in str(failure.value)
