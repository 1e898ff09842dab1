"""A collection in Elasticsearch, which several servers share.

The passages are in an index of Elasticsearch. Uploaded files are not stored, because their passages are all that is
ever read. Only their names and sizes are stored.
"""

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

# This import is only for type checkers, because the client is slow to import.
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
        """Iterate over the collections whose indexes prefrag has made.

        :returns: The collections, in the order of their names.
        :raises DocumentStoreError: If the server does not answer.
        """
        from prefrag.collections.changes.rebuilding import REBUILD_OF, find_rebuilt

        with stores.connect_elasticsearch() as client:
            descriptions = client.indices.get_mapping(index="*", expand_wildcards="open")
            names = set()
            for index, description in descriptions.items():
                mapping = description["mappings"]
                if not stores.is_own_mapping(mapping.get("properties", {})):
                    continue
                alias = mapping.get("_meta", {}).get(REBUILD_OF)
                # A rebuilt index is listed under its alias. The index of an unfinished rebuild is listed under its own
                # name.
                is_in_use = alias and find_rebuilt(client, alias) == index
                names.add(alias if is_in_use else index)
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
        _, is_made_by_upload = describe_index(self.name)
        return is_made_by_upload

    @property
    def language(self) -> str | None:
        """The language of the stemmer of the index. None if the index does not exist."""
        language, _ = describe_index(self.name)
        return language

    def document_store(self) -> ElasticsearchDocumentStore:
        """Make Haystack's store of the index.

        :returns: The store.
        """
        return stores.elasticsearch_store(index=self.name)

    def passages(
        self, *, language: str | None = None, change: bool = False, make: bool = False
    ) -> stores.ElasticsearchPassageStore:
        """Open the passages of the index.

        :param language: The language of the stemmer. An index of another language is refused. None accepts every
            language, and stands for English in a new index.
        :param change: Not used, because an index in Elasticsearch is opened in the same way for reading and writing.
        :param make: Whether to make the index if it is missing.
        :returns: The passages.
        :raises FileNotFoundError: If there is no such index and ``make`` is false.
        :raises DocumentStoreError: If the server does not answer.
        """
        return stores.open_elasticsearch(self.name, language, make)

    def change(self) -> AbstractContextManager[SharedChanges]:
        """Lock the documents against changes by other servers during the block.

        If an earlier change was interrupted, it is first finished or undone.

        :returns: A context manager. It provides the object with which to make one change.
        """
        return change_shared(self.name)

    def settle(self) -> None:
        """Do nothing. The next change finishes or undoes a change that was interrupted."""

    def room(self) -> Room:
        """Measure how much has been uploaded.

        :returns: The numbers and sizes.
        """
        return measure_uploads(self.name)

    def drop(self) -> None:
        """Delete the index with its passages and vectors, and the list of uploaded files.

        :raises Missing: If there is no such collection.
        :raises DocumentStoreError: If the server does not answer.
        """
        from prefrag.collections.changes.rebuilding import find_rebuilt

        index_path(self.name)
        self._measure()
        with stores.connect_elasticsearch() as client:
            client.indices.delete(index=find_rebuilt(client, self.name) or self.name)
            if client.indices.exists(index=UPLOAD_INDEX):
                forget_uploads(client, collection=self.name)

    def keep_skipped(self, report: IndexReport, paths: Sized[str]) -> None:
        """Do nothing, because only passages are stored in Elasticsearch.

        :param report: Not used.
        :param paths: Not used.
        """

    def read_consent(self) -> bool | None:
        """Read whether the user allows web searches.

        :returns: The decision of the user. None if the user has not decided, or if there is no such collection.
        """
        from elasticsearch import NotFoundError

        try:
            return super().read_consent()
        except DocumentStoreError as error:
            if isinstance(error.__cause__, NotFoundError):
                return None
            raise

    def _measure(self) -> tuple[int, str | None]:
        """Return the size of the index in bytes, and None for the time of the last change."""
        with stores.connect_elasticsearch() as client:
            descriptions = client.indices.get_mapping(index=self.name, ignore_unavailable=True, allow_no_indices=True)
            mappings = [description["mappings"] for description in descriptions.values()]
            if not any(stores.is_own_mapping(mapping.get("properties", {})) for mapping in mappings):
                raise Missing(
                    f"There is no collection '{self.name}' that prefrag made. List all: prefrag collections list"
                )
            statistics = client.indices.stats(index=self.name, metric="store")["_all"]
        return int(statistics.get("total", {}).get("store", {}).get("size_in_bytes", 0)), None
