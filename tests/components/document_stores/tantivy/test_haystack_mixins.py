"""The store does what Haystack's own tests ask of a document store, also its extended and asynchronous ones."""

import pytest
from haystack import Document
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing import document_store, document_store_async

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from tests.for_each import for_each

_EXTENDED = (
    document_store.CountDocumentsByFilterTest,
    document_store.CountUniqueMetadataByFilterTest,
    document_store.GetMetadataFieldMinMaxTest,
    document_store.GetMetadataFieldUniqueValuesTest,
    document_store.GetMetadataFieldsInfoTest,
)
_ASYNC = [mixin for name, mixin in vars(document_store_async).items() if name.endswith("AsyncTest")]


@pytest.mark.slow
class TestHaystacks(document_store.DocumentStoreBaseExtendedTests, *_EXTENDED):
    @pytest.fixture
    def document_store(self, store: TantivyDocumentStore) -> TantivyDocumentStore:
        return store

    def test_write_documents(self, document_store: TantivyDocumentStore):
        """Each store says itself what it does without a policy: this one refuses an id that exists."""
        document = Document(content="A square in Vienna.")

        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])


@pytest.mark.slow
class TestHaystacksAsynchronous(*_ASYNC):
    @pytest.fixture
    def document_store(self, store: TantivyDocumentStore) -> TantivyDocumentStore:
        return store

    async def test_write_documents_async(self, document_store: TantivyDocumentStore):
        document = Document(content="A square in Vienna.")

        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


class TestWhatIsStored:
    def test_an_embedding_comes_back_as_it_was(self, store: TantivyDocumentStore):
        document = Document(content="A square in Vienna.", embedding=[0.1, 1e-9, -2.0])

        store.write_documents([document])

        assert store.filter_documents() == [document]
        (hit,) = store.search("Vienna")
        assert hit.embedding == document.embedding

    @for_each(
        "document, part",
        (Document(blob=ByteStream(b"picture")), "has a blob"),
        (Document(content="x", sparse_embedding=SparseEmbedding([1], [0.5])), "has a sparse embedding"),
        (Document(content="x", embedding=[float("nan")]), "cannot be stored unchanged"),
    )
    def test_what_would_be_lost_is_refused(self, store: TantivyDocumentStore, document: Document, part: str):
        with pytest.raises(ValueError, match=part):
            store.write_documents([document])

        assert store.count_documents() == 0

    @for_each("change", "delete_by_filter", "update_by_filter")
    def test_without_a_condition_nothing_is_changed(self, store: TantivyDocumentStore, change: str):
        store.write_documents([Document(content="A pier.")], DuplicatePolicy.OVERWRITE)

        with pytest.raises(FilterError):
            getattr(store, change)({}, **({"meta": {"a": 1}} if change == "update_by_filter" else {}))

        assert [document.meta for document in store.filter_documents()] == [{}]

    def test_unique_values_come_in_pages(self, store: TantivyDocumentStore):
        store.write_documents([Document(content=f"no. {n}", meta={"n": str(n)}) for n in range(5)])

        assert store.get_metadata_field_unique_values("meta.n", from_=1, size=2) == (["1", "2"], 5)
        assert store.get_metadata_field_unique_values("n", search_term="3") == (["3"], 1)
