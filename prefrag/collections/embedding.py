"""Embed the passages of an index, so that they can be retrieved by their vectors."""

import hashlib
import importlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
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

DEFAULT_MODEL = "BAAI/bge-large-en-v1.5"
# The number of passages that are embedded and written together. A crash loses only the batches in progress.
_BATCH = 256


class DocumentEmbedder(Protocol):
    """Any component that takes ``documents`` and returns them, each with an embedding."""

    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Embed ``documents``. Returns them in the same order under the key `documents`."""


@dataclass
class EmbeddingReport:
    """What one call of :func:`embed_index` has done."""

    embedded: int = 0  # passages
    unchanged: int = 0  # passages that already had a vector
    deleted: int = 0  # vectors
    seconds: float = 0.0


def document_embedder(model: str = DEFAULT_MODEL, **settings: Any) -> Any:
    """Make the component that turns the title and text of each passage into a normalised vector."""
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
    An index on disk keeps its vectors in a folder beside the texts, with one table for each model. Elasticsearch keeps
    the vectors of a single model, in a field `embedding` of the passages, of type `dense_vector`. If another process is
    embedding the same index, this call waits until that process has finished.
    """
    started = time.perf_counter()
    refuse_remote_models(embedder)
    store = _open(collection)
    # Look for missing vectors only after taking the lock: another process may write some of them while this one waits.
    with _lock(store, model):
        report = _update_vectors(store, model, embedder, on_progress, runner or InProcess())
    report.seconds = time.perf_counter() - started
    return report


def _lock(store: TantivyDocumentStore | ElasticsearchDocumentStore, model: str) -> AbstractContextManager[None]:
    if isinstance(store, TantivyDocumentStore):
        folder = PassageVectors(store, model).folder.resolve()
        # The digest is needed because indexes in different folders may have the same name.
        name = f"{folder.parent.name}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}-vectors"
        return index_lock(name, work=f"embedding the passages of {folder.parent}")
    return index_lock(f"{store._index}-elasticsearch-vectors", work=f"embedding the Elasticsearch index {store._index}")


def _update_vectors(
    store: TantivyDocumentStore | ElasticsearchDocumentStore,
    model: str,
    embedder: DocumentEmbedder | None,
    on_progress: Callable[[int, int], None] | None,
    runner: Runner,
) -> EmbeddingReport:
    target: _TantivyVectors | _ElasticsearchVectors
    if isinstance(store, TantivyDocumentStore):
        target = _TantivyVectors(store, model)
    else:
        target = _ElasticsearchVectors(store, model)
    report = EmbeddingReport()
    total = store.count_documents()
    # The passages are read one batch at a time. Only their fingerprints are kept in memory.
    waiting = target.find_unembedded(report)
    batches = iter(lambda: list(islice(waiting, _BATCH)), [])
    # Vectors are written in the order of the passages, so that the number of workers does not change the table.
    results = runner.map(partial(open_embedder, model, embedder), batches, ordered=True)
    with closing(results):
        for batch, vectors in results:
            target.write(batch, vectors)
            report.embedded += len(batch)
            if on_progress is not None:
                on_progress(report.embedded + report.unchanged, total)
    target.finish(report)
    return report


@contextmanager
def open_embedder(
    model: str, embedder: DocumentEmbedder | None
) -> Iterator[Callable[[list[Document]], list[list[float]]]]:
    """Provide a function that turns passages into vectors. At its first call, this function loads the model."""

    def embed(passages: list[Document]) -> list[list[float]]:
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
    if not isinstance(collection, Collection):
        return collection
    # Raises an error if the name is invalid, the collection does not exist, or the server does not answer.
    collection.passages()
    return collection.document_store()


def _fingerprint(passage: Document) -> str:
    text = f"{passage.meta.get('title') or ''}\n{passage.content or ''}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class _TantivyVectors:
    def __init__(self, store: TantivyDocumentStore, model: str) -> None:
        self._store = store
        self._vectors = PassageVectors(store, model)
        self._known = self._vectors.fingerprints()
        self._gone = set(self._known)

    def find_unembedded(self, report: EmbeddingReport) -> Iterator[Document]:
        for passage in self._store.iterate_documents():
            self._gone.discard(passage.id)
            if self._known.get(passage.id) == _fingerprint(passage):
                report.unchanged += 1
            elif (passage.content or "").strip():
                yield passage

    def write(self, passages: list[Document], vectors: list[Any]) -> None:
        ids = [passage.id for passage in passages]
        self._vectors.write(ids, [_fingerprint(passage) for passage in passages], vectors)

    def finish(self, report: EmbeddingReport) -> None:
        self._vectors.delete(self._gone)
        report.deleted = len(self._gone)
        if report.embedded or report.deleted:
            self._vectors.finish()


class _ElasticsearchVectors:
    """Reads and writes vectors in Elasticsearch, where a passage loses its vector when the passage is written again."""

    def __init__(self, store: ElasticsearchDocumentStore, model: str) -> None:
        self._client = store.client
        self._index = str(store._index)
        self._model = model
        [description] = self._client.indices.get_mapping(index=self._index).values()
        mapping = description["mappings"]
        made_by = mapping.get("_meta", {}).get("embedding_model")
        self._mapped = "dims" in mapping.get("properties", {}).get("embedding", {})
        if made_by not in (None, model):
            raise ValueError(
                f"The collection '{self._index}' holds vectors of {made_by}, not of {model}: use its model, or another "
                "collection."
            )

    def find_unembedded(self, report: EmbeddingReport) -> Iterator[Document]:
        has_vector = {"exists": {"field": "embedding"}}
        if self._mapped:
            self._client.indices.refresh(index=self._index)
            report.unchanged = int(self._client.count(index=self._index, query=has_vector)["count"])
        lacking = {"query": {"bool": {"must_not": [has_vector]}}, "_source": ["id", "title", "content"]}
        # The model may take minutes for a batch, so the scroll must stay open for longer than that.
        for hit in helpers.scan(self._client, index=self._index, query=lacking, size=_BATCH, scroll="30m"):
            source = hit["_source"]
            if (source.get("content") or "").strip():
                yield Document(id=hit["_id"], content=source["content"], meta={"title": source.get("title")})

    def write(self, passages: list[Document], vectors: list[Any]) -> None:
        if not self._mapped:
            field = {"type": "dense_vector", "dims": len(vectors[0]), "index": True, "similarity": "cosine"}
            self._client.indices.put_mapping(
                index=self._index, properties={"embedding": field}, meta={"embedding_model": self._model}
            )
            self._mapped = True
        changes: Iterable[dict[str, Any]] = (
            {"_op_type": "update", "_id": passage.id, "doc": {"embedding": list(map(float, vector))}}
            for passage, vector in zip(passages, vectors, strict=True)
        )
        _, refused = helpers.bulk(self._client, changes, index=self._index, raise_on_error=False)
        items = refused if isinstance(refused, list) else []
        # A passage that was deleted in the meantime needs no vector.
        lost = [item for item in items if item["update"].get("status") != 404]
        if lost:
            raise DocumentStoreError(f"Elasticsearch refused {len(lost)} vectors: {lost[0]['update'].get('error')}")

    def finish(self, report: EmbeddingReport) -> None:
        self._client.indices.refresh(index=self._index)
