"""The retriever that embeds a query and searches with its vector.

Embedding a text means to compute a vector with a model, so that texts of similar meaning have similar vectors.
"""

from __future__ import annotations

import threading
from copy import deepcopy
from typing import Any, Protocol, TypedDict

from haystack import Document, component
from haystack.core.serialization import component_from_dict, import_class_by_name
from haystack_integrations.components.retrievers.elasticsearch import ElasticsearchEmbeddingRetriever

from prefrag.components.block import Block
from prefrag.components.both_ways import as_blocking, call_component, in_thread_async
from prefrag.components.document_stores.elasticsearch.fields import KnownFields
from prefrag.components.document_stores.elasticsearch.filters import refuse_analysed_fields
from prefrag.components.generators.model_host import refuse_remote_models
from prefrag.components.retrievers.provider import Retrieved
from prefrag.components.state.filters import Filters


class Embedded(TypedDict):
    """The output of a text embedder: the vector of the text."""

    embedding: list[float]


class TextEmbedder(Protocol):
    """Any component that takes a ``text`` and returns its ``embedding``."""

    def run(self, text: str) -> Embedded:
        """Embed a text.

        :param text: The text.
        :returns: The vector of the text, as a list of numbers.
        """


class EmbeddingRetriever(Protocol):
    """Any component that takes a ``query_embedding`` and returns ``documents``."""

    def run(self, query_embedding: list[float], filters: Filters | None = None, top_k: int | None = None) -> Retrieved:
        """Find documents by a vector.

        :param query_embedding: The vector of the query.
        :param filters: Haystack metadata filters. None searches all documents.
        :param top_k: The maximum number of documents. None stands for the retriever's own number.
        :returns: A dictionary with the key ``documents``, best first.
        """


@component
class DenseRetriever(Block):
    """Embed a query and find documents by its vector. A `RetrievalSource` can use this class as its retriever.

    Haystack's `TextEmbeddingRetriever` does the same. But it builds the embedder when the pipeline is loaded, which
    needs PyTorch. This class builds an embedder from YAML only at `warm_up`. So a pipeline can be loaded, drawn and
    saved without PyTorch. Running the pipeline without PyTorch raises an error that says what to install.

    Usage example, with the extra `dense` and an index whose passages are embedded:
    ```python
    from prefrag.components.retrievers.dense_retriever import DenseRetriever
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
    from prefrag.components.retrievers.vector_retriever import VectorRetriever
    from haystack_integrations.components.embedders.sentence_transformers import SentenceTransformersTextEmbedder

    model = "BAAI/bge-large-en-v1.5"
    retriever = DenseRetriever(
        SentenceTransformersTextEmbedder(
            model=model, prefix="Represent this sentence for searching relevant passages: ", normalize_embeddings=True
        ),
        VectorRetriever(TantivyDocumentStore(index="default"), model=model),
    )
    print(retriever.run(query="squares of Vienna", top_k=5)["documents"])
    ```
    """

    def __init__(self, text_embedder: TextEmbedder | dict[str, object], retriever: EmbeddingRetriever) -> None:
        """Set the embedder and the retriever. No model is loaded before `warm_up`.

        :param text_embedder: The embedder of the query. It must use the model that embedded the documents. A
            dictionary, as in a serialised pipeline, is also possible: the embedder is then built at `warm_up`.
        :param retriever: The retriever that finds documents by a vector.
        """
        self.text_embedder = text_embedder
        self.retriever = retriever
        # Checks filters by the fields of the index. Only Elasticsearch needs this; None for other retrievers. The store
        # of Haystack's retriever is not public.
        self._filter_fields: KnownFields | None = None
        if isinstance(retriever, ElasticsearchEmbeddingRetriever):
            self._filter_fields = KnownFields(retriever._document_store)
        # The embedder that is ready for use. None before `warm_up`.
        self._embedder: TextEmbedder | None = None
        self._lock = threading.Lock()

    @property
    def model_parts(self) -> list[object]:
        """The embedder and the retriever, which may call models. Before `warm_up`, the embedder may be a dictionary."""
        embedder = self.text_embedder if self._embedder is None else self._embedder
        return [embedder, self.retriever]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DenseRetriever:
        """Make a retriever from the output of `to_dict`. Its embedder stays serialised until `warm_up`.

        :param data: The class and the settings.
        :returns: The retriever.
        """
        parameters = dict(data["init_parameters"])
        retriever = parameters["retriever"]
        if isinstance(retriever, dict):
            parameters["retriever"] = _build(retriever, "retriever")
        return cls(**parameters)

    def warm_up(self) -> None:
        """Load the model and warm up the retriever.

        :raises RemoteModelRefused: When the model is on another machine and ``PREFRAG_REMOTE_MODEL`` is off.
        :raises ImportError: When the embedder's package is not installed.
        """
        refuse_remote_models(self.text_embedder)
        with self._lock:
            if self._embedder is not None:
                return
            embedder = self.text_embedder
            if isinstance(embedder, dict):
                embedder = _build_embedder(embedder)
            for part in (embedder, self.retriever):
                if hasattr(part, "warm_up"):
                    part.warm_up()
            self._embedder = embedder

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None, filters: Filters | None = None) -> Retrieved:
        """Find documents by the vector of a query.

        :param query: Any text.
        :param top_k: The maximum number of documents to return. If None, the `top_k` of ``retriever`` is used.
        :param filters: Haystack metadata filters. None searches all documents.
        :returns: A dictionary with the key `documents`: the documents with their scores, best first. The list is empty
            for a blank query.
        :raises ImportError: When the embedder's package is not installed.
        :raises FilterError: When the filters cannot be understood or applied.
        """
        if self._filter_fields is not None:
            # Elasticsearch stores titles and texts as word stems, so Haystack's retriever would filter them wrongly.
            refuse_analysed_fields(filters)
        if not query.strip():
            return {"documents": []}
        if self._filter_fields is not None:
            # This check may ask the server. So it comes after the test for a blank query, which needs no server.
            await self._filter_fields.check_async(filters)

        embedder = self._embedder or await self._ready_async()
        embedded = await call_component(embedder, {"text": query})
        output = await call_component(
            self.retriever, {"query_embedding": embedded["embedding"], "top_k": top_k, "filters": filters}
        )
        return {"documents": output["documents"]}

    run = as_blocking(run_async)

    def _ready(self) -> TextEmbedder:
        """Return the embedder, after `warm_up` if it is not built yet."""
        if self._embedder is None:
            self.warm_up()
        assert self._embedder is not None
        return self._embedder

    _ready_async = in_thread_async(_ready)


def _build_embedder(data: dict[str, Any]) -> Any:
    """Build the embedder that a serialised dictionary describes."""
    try:
        return _build(data, "text_embedder")
    except ImportError as error:
        raise ImportError(
            f"The text embedder {data['type']} is not installed ({error}). For the embedders "
            'of the shipped pipelines, run pip install "prefrag[dense]".'
        ) from error


def _build(data: dict[str, Any], name: str) -> Any:
    """Build the component that a serialised dictionary describes."""
    # Some components change the dictionary. With a YAML anchor, several components have the same dictionary. So each
    # gets a copy.
    return component_from_dict(import_class_by_name(data["type"]), deepcopy(data), name)
