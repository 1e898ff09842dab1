"""The retriever that finds passages by their vectors, in an embedded index.

A `DenseRetriever` computes the vector of a query and calls this retriever.
"""

from haystack import Document, component

from prefrag.components.both_ways import in_thread_async
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.passage_vectors import PassageVectors
from prefrag.components.retrievers.provider import Retrieved
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.state.filters import Filters


@component
class VectorRetriever:
    """Find the passages of an on-disk index whose vectors are nearest to the vector of a query.

    The passages must be embedded beforehand, with :func:`prefrag.collections.embedding.embed_index`.

    Usage example, for an embedded index:
    ```python
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
    from prefrag.components.retrievers.vector_retriever import VectorRetriever

    retriever = VectorRetriever(TantivyDocumentStore(index="default"), model="BAAI/bge-large-en-v1.5")
    print(retriever.run(query_embedding=[0.1] * 1024, top_k=5)["documents"])
    ```
    """

    def __init__(self, document_store: TantivyDocumentStore, model: str, top_k: int = 10) -> None:
        """Set the index and the defaults of a search.

        :param document_store: The store of the passages. Its folder also contains the vectors.
        :param model: The name of the model that embedded the passages.
        :param top_k: The maximum number of documents to return.
        :raises ValueError: When the store is not a `TantivyDocumentStore`, ``model`` is empty or top_k is under 1.
        """
        self.vectors = PassageVectors(document_store, model)
        self.document_store = document_store
        self.model = model
        self.top_k = wanted_top_k(top_k)

    def warm_up(self) -> None:
        """Open the vectors, so that missing vectors or a missing extra `dense` are reported before the first search."""
        self.vectors.count()

    @component.output_types(documents=list[Document])
    def run(self, query_embedding: list[float], filters: Filters | None = None, top_k: int | None = None) -> Retrieved:
        """Find the documents whose vectors are nearest to a vector.

        :param query_embedding: The vector of the query, made by the model that embedded the passages.
        :param filters: Haystack metadata filters. None searches all documents.
        :param top_k: The maximum number of documents to return. If None, the `top_k` of the constructor is used.
        :returns: A dictionary with the key `documents`, best first. The score is the cosine similarity, from -1 to 1.
        :raises ValueError: When top_k is under 1, or the vector is longer or shorter than the passages' vectors.
        :raises FileNotFoundError: When the passages are not embedded with this model.
        :raises FilterError: When the filters cannot be understood or applied.
        """
        return {"documents": self.vectors.search(query_embedding, wanted_top_k(self.top_k, top_k), filters)}

    run_async = in_thread_async(run)
