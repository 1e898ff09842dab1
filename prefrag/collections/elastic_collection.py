"""A collection in Elasticsearch, which several servers share."""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections import stores
from prefrag.collections.changes.shared_uploads import (
    UPLOAD_INDEX,
    SharedChanges,
    change_shared,
    describe_index,
    forget_uploads,
    measure_uploads,
    uploaded_path,
)
from prefrag.collections.collection import Collection, Room
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.errors import Missing
from prefrag.indexing.report import IndexReport

# Imported only by type checkers, because the client is slow to import.
if TYPE_CHECKING:
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore


@dataclass(frozen=True)
class ElasticCollection(Collection):
    """A collection whose passages are in an index of the server at `PREFRAG_ELASTICSEARCH_URL`."""

    store: ClassVar[str] = "elasticsearch"
    has_files: ClassVar[bool] = False
    in_all: ClassVar[bool] = False

    @classmethod
    def all(cls) -> Iterator[Self]:
        """Iterate over the indexes that prefrag has made."""
        from prefrag.collections.changes.rebuilding import REBUILD_OF, find_rebuilt

        with stores.connect_elasticsearch() as client:
            mappings = client.indices.get_mapping(index="*", expand_wildcards="open")
            own = {
                name: mapping["mappings"]
                for name, mapping in mappings.items()
                if stores.is_own_mapping(mapping["mappings"].get("properties", {}))
            }
            names = set()
            for name, mapping in own.items():
                alias = mapping.get("_meta", {}).get(REBUILD_OF)
                # A rebuilt index is listed under its alias, and that of an unfinished rebuild under its own name.
                is_in_use = alias and find_rebuilt(client, alias) == name
                names.add(alias if is_in_use else name)
        return map(cls, sorted(names))

    @property
    def exists(self) -> bool:
        """Whether there is an index under this name."""
        with stores.connect_elasticsearch() as client:
            return bool(client.indices.exists(index=self.name))

    @property
    def uploads(self) -> Path:
        """The path under which uploaded documents are listed. It exists on no machine."""
        return uploaded_path(self.name)

    @property
    def is_uploaded(self) -> bool:
        """Whether an upload has made the index."""
        return describe_index(self.name)[1]

    @property
    def language(self) -> str | None:
        """The language of the index."""
        return describe_index(self.name)[0]

    def document_store(self) -> ElasticsearchDocumentStore:
        """Make the store of the index."""
        return stores.elasticsearch_store(index=self.name)

    def passages(
        self, *, language: str | None = None, change: bool = False, make: bool = False
    ) -> stores.ElasticsearchPassageStore:
        """Open the index."""
        return stores.open_elasticsearch(self.name, language, make)

    def change(self) -> AbstractContextManager[SharedChanges]:
        """Lock the documents against changes by other servers."""
        return change_shared(self.name)

    def settle(self) -> None:
        """Do nothing: the next change settles what an interrupted one has left."""

    def room(self) -> Room:
        """Measure the uploads."""
        return measure_uploads(self.name)

    def drop(self) -> None:
        """Delete the index with its passages and vectors, and the uploaded files."""
        from prefrag.collections.changes.rebuilding import find_rebuilt

        index_path(self.name)
        self._measure()
        with stores.connect_elasticsearch() as client:
            client.indices.delete(index=find_rebuilt(client, self.name) or self.name)
            if client.indices.exists(index=UPLOAD_INDEX):
                forget_uploads(client, collection=self.name)

    def keep_skipped(self, report: IndexReport, paths: Sized[str]) -> None:
        """Do nothing: the server keeps passages only."""

    def read_consent(self) -> bool | None:
        """Read whether the user allows web searches. None too if there is no such collection."""
        from elasticsearch import NotFoundError

        try:
            return super().read_consent()
        except DocumentStoreError as error:
            if isinstance(error.__cause__, NotFoundError):
                return None
            raise

    def _measure(self) -> tuple[int, str | None]:
        with stores.connect_elasticsearch() as client:
            mappings = client.indices.get_mapping(index=self.name, ignore_unavailable=True, allow_no_indices=True)
            if not any(stores.is_own_mapping(index["mappings"].get("properties", {})) for index in mappings.values()):
                raise Missing(
                    f"There is no collection '{self.name}' that prefrag made. List all: prefrag collections list"
                )
            statistics = client.indices.stats(index=self.name, metric="store")["_all"]
        return int(statistics.get("total", {}).get("store", {}).get("size_in_bytes", 0)), None
