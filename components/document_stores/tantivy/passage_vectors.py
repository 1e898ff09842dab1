"""The vectors of the passages of an on-disk BM25 index."""

import functools
import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_index

# With fewer vectors, no vector index is built: comparing all vectors takes a few milliseconds and is exact.
_FEWEST_TO_INDEX = 5_000
_PASSAGES_PER_PARTITION = 250  # a vector index groups similar vectors into partitions
_PARTITIONS_SEARCHED = 24  # a search compares only the vectors of this many partitions
# Old versions of a table are kept this long, because other processes may still be searching them.
_KEEP_OLD_VERSIONS = timedelta(minutes=10)


class PassageVectors:
    """Store one vector per passage in a LanceDB table on disk, in the folder of a `TantivyDocumentStore`.

    Only the document store contains the texts: a search finds ids in the table and reads the passages from the store.
    So a passage is the same document whether dense retrieval or BM25 finds it, and deleted passages are never found.
    Every embedding model has its own table, because the vectors of two models cannot be compared.

    LanceDB was chosen from seven embedded libraries, which were tried with 31,000 vectors of 384 numbers. Only LanceDB
    shows a process what another process has written. Qdrant's local mode and DuckDB refuse a second process, and
    Chroma keeps returning old results. With FAISS, usearch and hnswlib, the caller must manage files, ids and crashes.
    LanceDB makes every write one atomic commit. Searching its partitioned index took a quarter of the time of comparing
    every vector, and found the same five best passages on real text.

    The package `lancedb`, which the extra `dense` installs, is imported when a table is opened.
    """

    def __init__(self, document_store: TantivyDocumentStore, model: str) -> None:
        """Set the store and the name of the embedding model; the table is opened when it is first used."""
        if not isinstance(document_store, TantivyDocumentStore):
            raise ValueError(f"document_store must be a TantivyDocumentStore, not {type(document_store).__name__}.")
        if not model.strip():
            raise ValueError("model is empty: give the name of the embedding model.")
        self.document_store = document_store
        self.model = model

    def count(self) -> int:
        """Count the vectors; raises FileNotFoundError if no passage of this index was embedded with this model."""
        return int(self._table().count_rows())

    def search(
        self, embedding: Sequence[float], top_k: int = 10, filters: dict[str, Any] | None = None
    ) -> list[Document]:
        """Find the passages whose vectors are nearest, best first; the score is the cosine similarity.

        Raises FileNotFoundError if no passage was embedded with this model, ValueError for a vector of another length.
        """
        table, length = self._table_and_length()
        if len(embedding) != length:
            raise ValueError(
                f"The query's vector has {len(embedding)} numbers, but vectors of {self.model} have {length}: use the "
                "same model for queries as for passages."
            )
        # Some passages may be deleted or not match the filters, so the limit is raised until enough are found.
        limit = top_k if filters is None else max(64, 4 * top_k)
        while True:
            nearest = table.search(list(embedding)).distance_type("cosine").nprobes(_PARTITIONS_SEARCHED)
            if limit > 2 * top_k:
                # The partitions near the query may have fewer vectors than the limit, so all vectors are compared.
                nearest = nearest.bypass_vector_index()
            rows = nearest.select(["id", "_distance"]).limit(limit).to_list()
            documents = self._documents(rows, filters)
            if len(documents) >= top_k or limit >= (total := table.count_rows()):
                return documents[:top_k]
            limit = min(total, max(64, 4 * limit))

    def fingerprints(self) -> dict[str, str]:
        """Return for every passage id the fingerprint of the text that was embedded; empty if there is no table."""
        try:
            rows = self._table().search().select(["id", "fingerprint"]).to_arrow()
        except FileNotFoundError:
            return {}
        return dict(zip(rows["id"].to_pylist(), rows["fingerprint"].to_pylist(), strict=True))

    def write(self, ids: Sequence[str], fingerprints: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        """Write vectors to disk, replacing stored vectors with the same ids. No id may occur twice in ``ids``.

        Raises ValueError if the vectors are longer or shorter than the stored vectors, and DocumentStoreError if the
        disk cannot be written.
        """
        if not ids:
            return
        arrow = importlib.import_module("pyarrow")
        length = len(vectors[0])
        numbers = arrow.array([number for vector in vectors for number in vector], arrow.float32())
        rows = arrow.table(
            {
                "id": arrow.array(list(ids), arrow.string()),
                "fingerprint": arrow.array(list(fingerprints), arrow.string()),
                "vector": arrow.FixedSizeListArray.from_arrays(numbers, length),
            }
        )
        try:
            table, former_length = self._table_and_length()
        except FileNotFoundError:
            _lancedb().connect(self.folder).create_table(self._name(), data=rows, exist_ok=False)
            return
        if former_length != length:
            raise ValueError(
                f"The vectors of {self.model} had {former_length} numbers and now have {length}: delete the folder "
                f"{self.folder} and embed the passages again."
            )
        try:
            table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
        except (RuntimeError, OSError) as error:
            raise DocumentStoreError(f"The vectors in {self.folder} cannot be written: {error}") from error

    def delete(self, ids: Iterable[str]) -> None:
        """Delete vectors; ids that do not exist are ignored."""
        quoted = ["'" + passage_id.replace("'", "''") + "'" for passage_id in ids]
        for start in range(0, len(quoted), 1000):
            self._table().delete(f"id IN ({', '.join(quoted[start : start + 1000])})")

    def finish(self) -> None:
        """Group similar vectors into partitions, so that a search compares only a few, and delete old versions."""
        table = self._table()
        count = table.count_rows()
        if count >= _FEWEST_TO_INDEX:
            partitions = max(8, count // _PASSAGES_PER_PARTITION)
            settings = importlib.import_module("lancedb.index").IvfFlat(
                distance_type="cosine", num_partitions=min(4096, partitions)
            )
            table.create_index("vector", config=settings, replace=True)
        table.optimize(cleanup_older_than=_KEEP_OLD_VERSIONS)

    def _documents(self, rows: list[dict[str, Any]], filters: dict[str, Any] | None) -> list[Document]:
        cosine = {row["id"]: 1.0 - row["_distance"] for row in rows}
        if filters:
            self.document_store.check_fields(filters)
            among = {"field": "id", "operator": "in", "value": list(cosine)}
            passages = self.document_store.filter_documents({"operator": "AND", "conditions": [among, filters]})
        else:
            passages = self.document_store.documents_by_id(cosine)
        passages.sort(key=lambda passage: (-cosine[passage.id], passage.id))
        return [replace(passage, score=cosine[passage.id]) for passage in passages]

    @property
    def folder(self) -> Path:
        """The folder that holds the tables of all models; raises FileNotFoundError if there is no index."""
        path = self.document_store.path
        index = Path(path).expanduser().absolute() if path is not None else resolve_index(self.document_store.index)
        return index / "vectors"

    def _name(self) -> str:
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", self.model).strip("-.") or "vectors"

    def _table(self) -> Any:
        return self._table_and_length()[0]

    def _table_and_length(self) -> tuple[Any, int]:
        folder, name = self.folder, self._name()
        try:
            # The cache's key contains the inode, so that a new table with the name of a deleted one is opened anew.
            identity = (folder / f"{name}.lance").stat().st_ino
        except FileNotFoundError:
            raise FileNotFoundError(
                f"The passages of the index {folder.parent} are not embedded with {self.model}. Embed them with: "
                "prefrag index YOUR_FILES --dense"
            ) from None
        table = _open_table(folder, name, identity)
        # The length is not cached, because a new table may have the inode of a deleted one, but another length.
        return table, table.schema.field("vector").type.list_size


@functools.lru_cache(maxsize=16)
def _open_table(folder: Path, name: str, identity: int) -> Any:
    # With an interval of zero, a search sees everything that other processes wrote before the search.
    return _lancedb().connect(folder, read_consistency_interval=timedelta(0)).open_table(name)


def _lancedb() -> Any:
    try:
        return importlib.import_module("lancedb")
    except ImportError as error:
        raise ImportError('Dense retrieval needs more packages: run pip install "prefrag[dense]".') from error
