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
# A vector index groups similar vectors into partitions, between so few and so many.
_PASSAGES_PER_PARTITION = 250
_FEWEST_PARTITIONS = 8
_MOST_PARTITIONS = 4_096
_PARTITIONS_SEARCHED = 24  # a search compares only the vectors of this many partitions
# A search with filters begins with this many times the vectors that are wanted, and goes on with as many times more.
_GROWTH = 4
_FEWEST_FILTERED = 64
# The number of ids in one command to delete, so that the command stays short.
_IDS_PER_DELETION = 1_000
# Old versions of a table are kept this long, because other processes may still be searching them.
_KEEP_OLD_VERSIONS = timedelta(minutes=10)


class PassageVectors:
    """Store one vector per passage in a LanceDB table on disk, in the folder of a `TantivyDocumentStore`.

    Only the document store contains the texts: a search finds ids in the table and reads the passages from the store.
    So dense retrieval and BM25 return a passage as the same document, and deleted passages are never found. Every
    embedding model has its own table, because the vectors of two models cannot be compared.

    LanceDB was chosen from seven libraries that run in this process, which were tried with 31,000 vectors of 384
    numbers. LanceDB makes every write one atomic commit, and it alone lets a process see what another process has
    written. Qdrant's local mode and DuckDB refuse a second process, and Chroma keeps returning old results. With FAISS,
    usearch and hnswlib, the caller must manage files, ids and crashes. Searching LanceDB's partitioned index took a
    quarter of the time of comparing every vector, and found the same five best passages on real text.

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
        limit = top_k if filters is None else max(_FEWEST_FILTERED, _GROWTH * top_k)
        while True:
            nearest = table.search(list(embedding)).distance_type("cosine").nprobes(_PARTITIONS_SEARCHED)
            if limit > 2 * top_k:
                # For many more vectors than are wanted, the partitions near the query may have too few, so all vectors
                # are compared.
                nearest = nearest.bypass_vector_index()
            rows = nearest.select(["id", "_distance"]).limit(limit).to_list()
            documents = self._documents(rows, filters)
            if len(documents) >= top_k:
                return documents[:top_k]
            total = table.count_rows()
            if limit >= total:
                return documents
            limit = min(total, max(_FEWEST_FILTERED, _GROWTH * limit))

    def fingerprints(self) -> dict[str, str]:
        """Return for every passage id the fingerprint of the text that was embedded; empty if there is no table."""
        try:
            # A search for nothing returns all rows.
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
        # Arrow stores the numbers of all vectors in a row, and cuts them by the length of a vector.
        numbers = arrow.array([number for vector in vectors for number in vector], arrow.float32())
        columns = {
            "id": arrow.array(list(ids), arrow.string()),
            "fingerprint": arrow.array(list(fingerprints), arrow.string()),
            "vector": arrow.FixedSizeListArray.from_arrays(numbers, length),
        }
        rows = arrow.table(columns)
        try:
            table, former_length = self._table_and_length()
        except FileNotFoundError:
            # These are the first vectors of this model.
            _lancedb().connect(self.folder).create_table(self._name(), data=rows, exist_ok=False)
            return
        if former_length != length:
            raise ValueError(
                f"The vectors of {self.model} had {former_length} numbers and now have {length}: delete the folder "
                f"{self.folder} and embed the passages again."
            )
        try:
            merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(rows)
        except (RuntimeError, OSError) as error:
            raise DocumentStoreError(f"The vectors in {self.folder} cannot be written: {error}") from error

    def delete(self, ids: Iterable[str]) -> None:
        """Delete vectors; ids that do not exist are ignored."""
        # As texts of SQL, in which a quotation mark is written twice.
        quoted = ["'" + passage_id.replace("'", "''") + "'" for passage_id in ids]
        for start in range(0, len(quoted), _IDS_PER_DELETION):
            listed = ", ".join(quoted[start : start + _IDS_PER_DELETION])
            self._table().delete(f"id IN ({listed})")

    def finish(self) -> None:
        """Group similar vectors into partitions, so that a search compares only a few, and delete old versions."""
        table = self._table()
        count = table.count_rows()
        if count >= _FEWEST_TO_INDEX:
            partitions = count // _PASSAGES_PER_PARTITION
            partitions = min(_MOST_PARTITIONS, max(_FEWEST_PARTITIONS, partitions))
            lancedb_index = importlib.import_module("lancedb.index")
            settings = lancedb_index.IvfFlat(distance_type="cosine", num_partitions=partitions)
            table.create_index("vector", config=settings, replace=True)
        table.optimize(cleanup_older_than=_KEEP_OLD_VERSIONS)

    def _documents(self, rows: list[dict[str, Any]], filters: dict[str, Any] | None) -> list[Document]:
        """Read the passages of rows that still exist and match the filters, the nearest first."""
        similarities = {row["id"]: 1.0 - row["_distance"] for row in rows}
        if filters:
            # Raises FilterError for a field that no passage has, which would silently match nothing.
            self.document_store.check_fields(filters)
            is_nearest = {"field": "id", "operator": "in", "value": list(similarities)}
            passages = self.document_store.filter_documents({"operator": "AND", "conditions": [is_nearest, filters]})
        else:
            passages = self.document_store.documents_by_id(similarities)
        passages.sort(key=lambda passage: (-similarities[passage.id], passage.id))
        return [replace(passage, score=similarities[passage.id]) for passage in passages]

    @property
    def folder(self) -> Path:
        """The folder that holds the tables of all models; raises FileNotFoundError if there is no index."""
        path = self.document_store.path
        if path is None:
            return resolve_index(self.document_store.index) / "vectors"
        return Path(path).expanduser().absolute() / "vectors"

    def _name(self) -> str:
        """Return the name of the model's table, which may have only these characters."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", self.model).strip("-.") or "vectors"

    def _table(self) -> Any:
        return self._table_and_length()[0]

    def _table_and_length(self) -> tuple[Any, int]:
        folder, name = self.folder, self._name()
        try:
            # The inode tells a new table from a deleted one with the same name, which is still in the cache of tables.
            inode = (folder / f"{name}.lance").stat().st_ino
        except FileNotFoundError:
            raise FileNotFoundError(
                f"The passages of the index {folder.parent} are not embedded with {self.model}. Embed them with: "
                "prefrag index YOUR_FILES --dense"
            ) from None
        table = _open_table(folder, name, inode)
        # The system may give the inode of a deleted table to the new one. Then the table from the cache shows what the
        # new one holds, but a length that was read earlier would be wrong, so it is read at each call.
        return table, table.schema.field("vector").type.list_size


@functools.lru_cache(maxsize=16)
def _open_table(folder: Path, name: str, inode: int) -> Any:
    """Open a table. The ``inode`` only makes the cache open a new table anew."""
    # With an interval of zero, a search sees everything that other processes wrote before the search.
    return _lancedb().connect(folder, read_consistency_interval=timedelta(0)).open_table(name)


def _lancedb() -> Any:
    try:
        return importlib.import_module("lancedb")
    except ImportError as error:
        raise ImportError('Dense retrieval needs more packages: run pip install "prefrag[dense]".') from error
