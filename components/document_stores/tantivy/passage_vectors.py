"""The vectors of the passages of an on-disk BM25 index.

A vector is the list of numbers that an embedding model computes for a text. Texts with a similar meaning have similar
vectors. :class:`VectorRetriever` searches the vectors, and `prefrag index --dense` writes them. They are in a LanceDB
table in the folder of the index. LanceDB is a database that runs inside this process.
"""

import functools
import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_index

# The number of vectors from which a vector index is built. With fewer vectors, all of them are compared, which takes a
# few milliseconds and is exact.
_FEWEST_TO_INDEX = 5_000
# A vector index groups similar vectors into partitions. A partition has about this many vectors.
_PASSAGES_PER_PARTITION = 250
# The minimum number of partitions.
_FEWEST_PARTITIONS = 8
# The maximum number of partitions. With more vectors, the partitions become larger.
_MOST_PARTITIONS = 4_096
# A search compares only the vectors of this many partitions, those nearest to the query.
_PARTITIONS_SEARCHED = 24
# A search with filters first reads this many times the vectors that are wanted. If too few passages match the filters,
# the number is multiplied by this factor again.
_GROWTH = 4
# The minimum number of vectors that such a search reads.
_FEWEST_FILTERED = 64
# The maximum number of ids in one command that deletes vectors, so that the command stays short.
_IDS_PER_DELETION = 1_000
# How long old versions of a table are kept, because other processes may still be searching them.
_KEEP_OLD_VERSIONS = timedelta(minutes=10)


class PassageVectors:
    """Store one vector per passage in a LanceDB table on disk, in the folder of a `TantivyDocumentStore`.

    Only the document store contains the texts. A search finds ids in the table and reads the passages from the store.
    So dense retrieval and BM25 return a passage as the same document, and deleted passages are never found. Every
    embedding model has its own table, because the vectors of two models cannot be compared.

    LanceDB was chosen from seven libraries that run inside the process. They were tried with 31,000 vectors of 384
    numbers. LanceDB makes every write one atomic commit. It is the only one that lets a process see what another
    process has written. Qdrant's local mode and DuckDB refuse a second process, and Chroma keeps returning old results.
    With FAISS, usearch and hnswlib, the caller must manage files, ids and crashes. Searching LanceDB's partitioned
    index took a quarter of the time of comparing every vector. It found the same five best passages on real text.

    The package `lancedb`, which the extra `dense` installs, is imported when a table is opened.
    """

    def __init__(self, document_store: TantivyDocumentStore, model: str) -> None:
        """Set the store and the embedding model. The table is opened when it is first used.

        :param document_store: The store with the passages.
        :param model: The name of the embedding model.
        :raises ValueError: When the store has another class, or the name is empty.
        """
        if not isinstance(document_store, TantivyDocumentStore):
            raise ValueError(f"document_store must be a TantivyDocumentStore, not {type(document_store).__name__}.")
        if not model.strip():
            raise ValueError("model is empty: give the name of the embedding model.")
        self.document_store = document_store
        self.model = model

    def count(self) -> int:
        """Count the vectors.

        :returns: The number of vectors.
        :raises FileNotFoundError: When no passage of this index was embedded with this model.
        """
        return int(self._table().count_rows())

    def search(
        self, embedding: Sequence[float], top_k: int = 10, filters: dict[str, object] | None = None
    ) -> list[Document]:
        """Find the passages whose vectors are nearest to a vector.

        :param embedding: The vector of the query, made by the same model.
        :param top_k: The maximum number of passages to return.
        :param filters: Haystack's filters on the metadata.
        :returns: The passages, best first. The score is the cosine similarity, from -1 to 1.
        :raises FileNotFoundError: When no passage of this index was embedded with this model.
        :raises ValueError: When the vector has another length than the stored vectors.
        :raises FilterError: When the filters cannot be applied, or name a field that no passage has.
        """
        table, length = self._table_and_length()
        if len(embedding) != length:
            raise ValueError(
                f"The query's vector has {len(embedding)} numbers, but vectors of {self.model} have {length}: use the "
                "same model for queries as for passages."
            )

        # Some passages may be deleted or not match the filters. So the limit is raised until enough passages match.
        limit = top_k if filters is None else max(_FEWEST_FILTERED, _GROWTH * top_k)
        while True:
            nearest = table.search(list(embedding)).distance_type("cosine").nprobes(_PARTITIONS_SEARCHED)
            if limit > 2 * top_k:
                # The partitions near the query may contain too few vectors for a high limit. So all vectors are
                # compared.
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
        """Return the fingerprints of the texts that were embedded. They show which passages have changed since.

        :returns: The fingerprint by the id of the passage. Empty if there is no table.
        """
        try:
            # A search without a vector returns all rows.
            rows = self._table().search().select(["id", "fingerprint"]).to_arrow()
        except FileNotFoundError:
            return {}
        return dict(zip(rows["id"].to_pylist(), rows["fingerprint"].to_pylist(), strict=True))

    def write(self, ids: Sequence[str], fingerprints: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        """Write vectors to disk. They replace stored vectors with the same ids.

        :param ids: The ids of the passages. No id may occur twice.
        :param fingerprints: The fingerprint of each passage's text, in the order of the ids.
        :param vectors: The vector of each passage, in the order of the ids.
        :raises ValueError: When the vectors are longer or shorter than the stored vectors.
        :raises DocumentStoreError: When the disk cannot be written.
        """
        if not ids:
            return

        arrow = importlib.import_module("pyarrow")
        length = len(vectors[0])
        # Arrow stores the numbers of all vectors in one list, and cuts the list by the length of a vector.
        all_numbers = list(chain.from_iterable(vectors))
        numbers = arrow.array(all_numbers, arrow.float32())
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
        """Delete vectors.

        :param ids: The ids of the passages. Ids that do not exist are ignored.
        """
        quoted = []
        for passage_id in ids:
            # The ids become texts of SQL, in which a quotation mark is written twice.
            escaped = passage_id.replace("'", "''")
            quoted.append(f"'{escaped}'")
        for start in range(0, len(quoted), _IDS_PER_DELETION):
            listed = ", ".join(quoted[start : start + _IDS_PER_DELETION])
            self._table().delete(f"id IN ({listed})")

    def finish(self) -> None:
        """Build the vector index, and delete old versions of the table. To be called after the last write.

        The vector index groups similar vectors into partitions, so that a search compares only a few partitions.
        """
        table = self._table()
        count = table.count_rows()
        if count >= _FEWEST_TO_INDEX:
            wanted_partitions = count // _PASSAGES_PER_PARTITION
            partitions = min(_MOST_PARTITIONS, max(_FEWEST_PARTITIONS, wanted_partitions))
            lancedb_index = importlib.import_module("lancedb.index")
            settings = lancedb_index.IvfFlat(distance_type="cosine", num_partitions=partitions)
            table.create_index("vector", config=settings, replace=True)
        table.optimize(cleanup_older_than=_KEEP_OLD_VERSIONS)

    def _documents(self, rows: list[dict[str, Any]], filters: dict[str, object] | None) -> list[Document]:
        """Read the passages of rows, the nearest first. Deleted passages and those outside the filters are left out."""
        # LanceDB's distance is 1 minus the cosine similarity.
        similarities = {row["id"]: 1.0 - row["_distance"] for row in rows}
        if filters:
            # This raises FilterError for a field that no passage has. A filter on such a field would match nothing.
            self.document_store.check_fields(filters)
            is_nearest = {"field": "id", "operator": "in", "value": list(similarities)}
            passages = self.document_store.filter_documents({"operator": "AND", "conditions": [is_nearest, filters]})
        else:
            passages = self.document_store.documents_by_id(similarities)
        passages.sort(key=lambda passage: (-similarities[passage.id], passage.id))
        return [replace(passage, score=similarities[passage.id]) for passage in passages]

    @property
    def folder(self) -> Path:
        """The folder with the tables of all models.

        :raises FileNotFoundError: When there is no index.
        """
        path = self.document_store.path
        if path is None:
            return resolve_index(self.document_store.index) / "vectors"
        return Path(path).expanduser().absolute() / "vectors"

    def _name(self) -> str:
        """Return the name of the model's table. For example, the table of "intfloat/e5" is "intfloat-e5"."""
        # LanceDB accepts only these characters in the name of a table.
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", self.model).strip("-.") or "vectors"

    def _table(self) -> Any:
        """Return the opened table."""
        table, _ = self._table_and_length()
        return table

    def _table_and_length(self) -> tuple[Any, int]:
        """Return the opened table and the length of its vectors."""
        folder = self.folder
        name = self._name()
        try:
            # A deleted table may still be in the cache of opened tables. The inode tells a new table with the same name
            # from it.
            inode = (folder / f"{name}.lance").stat().st_ino
        except FileNotFoundError:
            raise FileNotFoundError(
                f"The passages of the index {folder.parent} are not embedded with {self.model}. Embed them with: "
                "prefrag index YOUR_FILES --dense"
            ) from None

        table = _open_table(folder, name, inode)
        # The operating system may give the inode of a deleted table to the new table. The table from the cache then
        # shows the rows of the new table. A length that was read earlier would be wrong, so it is read at each call.
        return table, table.schema.field("vector").type.list_size


@functools.lru_cache(maxsize=16)
def _open_table(folder: Path, name: str, inode: int) -> Any:
    """Open a table. ``inode`` is a parameter only for the cache: a table with another inode is opened anew."""
    # With an interval of zero, a search sees everything that other processes wrote before the search.
    return _lancedb().connect(folder, read_consistency_interval=timedelta(0)).open_table(name)


def _lancedb() -> Any:
    """Import the package `lancedb`, or say how to install it."""
    try:
        return importlib.import_module("lancedb")
    except ImportError as error:
        raise ImportError('Dense retrieval needs more packages: run pip install "prefrag[dense]".') from error
