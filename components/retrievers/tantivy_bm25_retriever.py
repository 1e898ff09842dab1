"""The retriever that searches the embedded BM25 index, in this process and without a server."""

from collections.abc import Mapping

from haystack import Document, component

from prefrag.components.both_ways import in_thread_async
from prefrag.components.document_stores.tantivy.commit import LARGE_INDEX
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.provider import Retrieved
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.state.filters import Filters


@component
class TantivyBM25Retriever:
    """Find the documents of a `TantivyDocumentStore` that match a query best by BM25.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

    store = TantivyDocumentStore(path="my-index")
    store.write_documents([Document(content="A square in Vienna.", meta={"title": "Karlsplatz"})])
    print(TantivyBM25Retriever(store, top_k=5).run(query="squares of Vienna")["documents"])
    ```
    """

    # Tells callers that searches run in this process. Searches of a small index are no faster in parallel.
    embedded = True

    def __init__(self, document_store: TantivyDocumentStore, top_k: int = 10) -> None:
        """Set the store and the defaults of a search.

        :param document_store: The store to search.
        :param top_k: The maximum number of documents to return.
        :raises ValueError: When the store is not a `TantivyDocumentStore`, or top_k is under 1.
        """
        if not isinstance(document_store, TantivyDocumentStore):
            raise ValueError(f"document_store must be a TantivyDocumentStore, not {type(document_store).__name__}.")
        self.document_store = document_store
        self.top_k = wanted_top_k(top_k)

    def warm_up(self) -> None:
        """Open the index, so that a missing index is reported before the first question.

        :raises FileNotFoundError: When the index does not exist.
        """
        self.document_store.count_documents()

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, filters: Filters | None = None) -> Retrieved:
        """Find documents by the words of a query.

        :param query: Any text.
        :param top_k: The maximum number of documents to return. If None, the `top_k` of the constructor is used.
        :param filters: Haystack metadata filters. None searches all documents.
        :returns: A dictionary with the key `documents`: the documents with their scores, best first. The list is empty
            for a query without a word.
        :raises ValueError: When top_k is under 1.
        :raises FilterError: When the filters cannot be understood or applied.
        """
        return {"documents": self.document_store.search(query, wanted_top_k(self.top_k, top_k), filters)}

    def _takes_long(self, query: str, top_k: int | None = None, filters: Mapping[str, object] | None = None) -> bool:
        """Check whether a search should run in a thread, because it has filters or the index is large."""
        # A search of a large index takes longer than starting a thread. A search with filters, which may read many
        # documents, takes longer, too. In a thread, these searches do not delay other questions.
        return bool(filters) or self.document_store.count_documents() >= LARGE_INDEX

    run_async = in_thread_async(run, when=_takes_long)
