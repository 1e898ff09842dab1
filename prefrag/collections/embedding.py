"""Embed the passages of an index, so that they can be retrieved by their vectors.

:func:`embed_index` is the entry point. It embeds only passages that have no vector yet or have changed. A Tantivy index
and an index in Elasticsearch store vectors in different ways, so there is a class for each.
"""

import hashlib
import importlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

from elasticsearch import helpers
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.collections.collection import Collection
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import index_lock
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.passage_vectors import PassageVectors
from prefrag.components.generators.model_host import refuse_remote_models
from prefrag.pipelines.runners.in_process import InProcess
from prefrag.pipelines.runners.runner import Runner

# The embedding model that is used if the caller names none.
DEFAULT_MODEL = "BAAI/bge-large-en-v1.5"
# This many passages are embedded and written together. A crash loses only the batches in progress.
_BATCH = 256


class DocumentEmbedder(Protocol):
    """Any component that takes ``documents`` and returns them, each with an embedding."""

    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Embed documents.

        :param documents: The documents.
        :returns: A dictionary with the key `documents`: the same documents in the same order, each with an embedding.
        """


@dataclass
class EmbeddingReport:
    """What one call of :func:`embed_index` has done.

    :param embedded: The number of passages that were embedded.
    :param unchanged: The number of passages that already had a vector.
    :param deleted: The number of vectors that were deleted.
    :param seconds: How long the call took.
    """

    embedded: int = 0
    unchanged: int = 0
    deleted: int = 0
    seconds: float = 0.0


def document_embedder(model: str = DEFAULT_MODEL, **settings: Any) -> Any:
    """Make the component that turns the title and the text of each passage into a normalised vector.

    :param model: The embedding model, as sentence-transformers names it.
    :param settings: Further parameters of `SentenceTransformersDocumentEmbedder`.
    :returns: The component.
    :raises ImportError: If the extra `dense` is not installed.
    """
    package = "haystack_integrations.components.embedders.sentence_transformers"
    try:
        embedders = importlib.import_module(package)
    except ImportError as error:
        raise ImportError('Embedding passages needs more packages: run pip install "prefrag[dense]".') from error
    defaults = {"meta_fields_to_embed": ["title"], "normalize_embeddings": True, "progress_bar": False}
    return embedders.SentenceTransformersDocumentEmbedder(model=model, **{**defaults, **settings})


def embed_index(
    collection: Collection | TantivyDocumentStore | ElasticsearchDocumentStore = LocalCollection(),
    *,
    model: str = DEFAULT_MODEL,
    embedder: DocumentEmbedder | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    runner: Runner | None = None,
) -> EmbeddingReport:
    """Embed the new and changed passages of an index, and delete the vectors of deleted passages.

    Each batch of 256 passages is saved before the next batch. If a call is interrupted, the next call embeds the rest.
    If another process is embedding the same index, this call waits until that process has finished.

    An index on disk stores its vectors in a folder beside the texts, with one table for each model. Elasticsearch
    stores the vectors of a single model, in the field `embedding` of the passages. The type of this field is
    `dense_vector`.

    :param collection: The collection or the document store.
    :param model: The embedding model.
    :param embedder: The component that embeds the passages. None makes the one of :func:`document_embedder`.
    :param on_progress: A function that is called after each batch. It gets the number of passages that have a vector,
        and the number of all passages. None if nobody wants the progress.
    :param runner: The runner that embeds the batches, for example in several processes. None uses this process.
    :returns: A report of what was done.
    :raises FileNotFoundError: If there is no such collection.
    :raises ValueError: If an index in Elasticsearch has vectors of another model, or if an embedding is missing.
    :raises DocumentStoreError: If the store fails.
    """
    started = time.perf_counter()
    refuse_remote_models(embedder)
    store = _open(collection)

    # Look for missing vectors only under the lock. Another process may write some of them while this process waits.
    with _lock(store, model):
        report = _update_vectors(store, model, embedder, on_progress, runner or InProcess())
    report.seconds = time.perf_counter() - started
    return report


def _lock(store: TantivyDocumentStore | ElasticsearchDocumentStore, model: str) -> AbstractContextManager[None]:
    """Return the lock for the vectors of an index. It keeps two processes from embedding the same index."""
    if isinstance(store, TantivyDocumentStore):
        folder = PassageVectors(store, model).folder.resolve()
        # The name of the lock has a digest of the path, because indexes in different folders may have the same name.
        digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
        name = f"{folder.parent.name}-{digest}-vectors"
        return index_lock(name, work=f"embedding the passages of {folder.parent}")
    return index_lock(f"{store._index}-elasticsearch-vectors", work=f"embedding the Elasticsearch index {store._index}")


def _update_vectors(
    store: TantivyDocumentStore | ElasticsearchDocumentStore,
    model: str,
    embedder: DocumentEmbedder | None,
    on_progress: Callable[[int, int], None] | None,
    runner: Runner,
) -> EmbeddingReport:
    """Embed the passages without a vector, and delete the vectors without a passage. The caller has the lock."""
    target: _TantivyVectors | _ElasticsearchVectors
    if isinstance(store, TantivyDocumentStore):
        target = _TantivyVectors(store, model)
    else:
        target = _ElasticsearchVectors(store, model)

    report = EmbeddingReport()
    total = store.count_documents()
    # The passages are read one batch at a time, so that they need not all be in memory. Only their fingerprints are.
    batches = _split_into_batches(target.find_unembedded(report))
    # The vectors are written in the order of the passages. So the number of worker processes does not change the table.
    results = runner.map(partial(open_embedder, model, embedder), batches, ordered=True)
    with closing(results):
        for batch, vectors in results:
            target.write(batch, vectors)
            report.embedded += len(batch)
            if on_progress is not None:
                on_progress(report.embedded + report.unchanged, total)

    target.finish(report)
    return report


def _split_into_batches(passages: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield the passages in lists. A list is made only when it is needed."""
    while True:
        batch = list(islice(passages, _BATCH))
        if not batch:
            return
        yield batch


@contextmanager
def open_embedder(
    model: str, embedder: DocumentEmbedder | None
) -> Iterator[Callable[[list[Document]], list[list[float]]]]:
    """Provide a function that turns passages into vectors. The function loads the model at its first call.

    :param model: The embedding model.
    :param embedder: The component that embeds the passages. None makes the one of :func:`document_embedder`.
    :returns: A context manager. Its function takes passages and returns their vectors in the same order.
    """

    def embed(passages: list[Document]) -> list[list[float]]:
        """Return the vectors of passages."""
        nonlocal embedder
        if embedder is None:
            embedder = document_embedder(model)
        if hasattr(embedder, "warm_up"):
            embedder.warm_up()
        vectors = [passage.embedding for passage in embedder.run(documents=passages)["documents"]]
        if len(vectors) != len(passages) or any(vector is None for vector in vectors):
            raise ValueError(f"{type(embedder).__name__} did not give every document an embedding.")
        return vectors

    yield embed


def _open(collection: Collection | TantivyDocumentStore | ElasticsearchDocumentStore) -> Any:
    """Return the document store of a collection. A document store is returned unchanged."""
    if not isinstance(collection, Collection):
        return collection
    # This call raises an error if the name is invalid, the collection does not exist, or the server does not answer.
    collection.passages()
    return collection.document_store()


def _fingerprint(passage: Document) -> str:
    """Return a digest of the title and the text of a passage. It shows whether a vector is still right."""
    text = f"{passage.meta.get('title') or ''}\n{passage.content or ''}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class _TantivyVectors:
    """Reads and writes the vectors of a Tantivy index, which are in a folder beside the texts."""

    def __init__(self, store: TantivyDocumentStore, model: str) -> None:
        self._store = store
        self._vectors = PassageVectors(store, model)
        # For each passage with a vector, the fingerprint of the passage that was embedded.
        self._fingerprints = self._vectors.fingerprints()
        # The IDs of the vectors whose passage was not found yet. After all passages are read, these vectors have none.
        self._without_passage = set(self._fingerprints)

    def find_unembedded(self, report: EmbeddingReport) -> Iterator[Document]:
        """Yield the passages without a right vector, and count the others in the report."""
        for passage in self._store.iterate_documents():
            self._without_passage.discard(passage.id)
            if self._fingerprints.get(passage.id) == _fingerprint(passage):
                report.unchanged += 1
            elif (passage.content or "").strip():
                yield passage

    def write(self, passages: list[Document], vectors: list[Any]) -> None:
        """Write the vectors of passages."""
        ids = [passage.id for passage in passages]
        fingerprints = [_fingerprint(passage) for passage in passages]
        self._vectors.write(ids, fingerprints, vectors)

    def finish(self, report: EmbeddingReport) -> None:
        """Delete the vectors without a passage, and count them in the report."""
        self._vectors.delete(self._without_passage)
        report.deleted = len(self._without_passage)
        if report.embedded or report.deleted:
            self._vectors.finish()


class _ElasticsearchVectors:
    """Reads and writes vectors in Elasticsearch. A passage that is written again loses its vector there."""

    def __init__(self, store: ElasticsearchDocumentStore, model: str) -> None:
        self._client = store.client
        self._index = str(store._index)
        self._model = model
        [description] = self._client.indices.get_mapping(index=self._index).values()
        mapping = description["mappings"]
        made_by = mapping.get("_meta", {}).get("embedding_model")
        # Whether the mapping has a field for vectors. It gets one when the first vectors are written.
        self._has_vector_field = "dims" in mapping.get("properties", {}).get("embedding", {})
        if made_by not in (None, model):
            raise ValueError(
                f"The collection '{self._index}' holds vectors of {made_by}, not of {model}: use its model, or another "
                "collection."
            )

    def find_unembedded(self, report: EmbeddingReport) -> Iterator[Document]:
        """Yield the passages without a vector, and count the others in the report."""
        has_vector = {"exists": {"field": "embedding"}}
        if self._has_vector_field:
            self._client.indices.refresh(index=self._index)
            report.unchanged = int(self._client.count(index=self._index, query=has_vector)["count"])
        lacking = {"query": {"bool": {"must_not": [has_vector]}}, "_source": ["id", "title", "content"]}
        # Elasticsearch must keep the scroll open for longer than the model takes for a batch, which may be minutes.
        for hit in helpers.scan(self._client, index=self._index, query=lacking, size=_BATCH, scroll="30m"):
            source = hit["_source"]
            if (source.get("content") or "").strip():
                yield Document(id=hit["_id"], content=source["content"], meta={"title": source.get("title")})

    def write(self, passages: list[Document], vectors: list[Any]) -> None:
        """Write the vectors of passages."""
        if not self._has_vector_field:
            field = {"type": "dense_vector", "dims": len(vectors[0]), "index": True, "similarity": "cosine"}
            self._client.indices.put_mapping(
                index=self._index, properties={"embedding": field}, meta={"embedding_model": self._model}
            )
            self._has_vector_field = True

        changes: list[dict[str, Any]] = []
        for passage, vector in zip(passages, vectors, strict=True):
            numbers = [float(number) for number in vector]
            changes.append({"_op_type": "update", "_id": passage.id, "doc": {"embedding": numbers}})
        _, refused = helpers.bulk(self._client, changes, index=self._index, raise_on_error=False)
        items = refused if isinstance(refused, list) else []
        # Status 404 means that the passage was deleted in the meantime. It needs no vector.
        lost = [item["update"] for item in items if item["update"].get("status") != 404]
        if lost:
            error = lost[0].get("error")
            raise DocumentStoreError(f"Elasticsearch refused {len(lost)} vectors: {error}")

    def finish(self, report: EmbeddingReport) -> None:
        """Make the vectors visible to searches."""
        self._client.indices.refresh(index=self._index)
