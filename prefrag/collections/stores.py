"""Read and write the passages of any Haystack document store.

:class:`PassageStore` uses Haystack's protocol for document stores, so it works with every store.
:class:`ElasticsearchPassageStore` uses the client of Elasticsearch directly, which is faster. The functions below these
classes connect to Elasticsearch, make indexes there, and explain its errors.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError
from haystack.document_stores.types import DocumentStore, DuplicatePolicy
from haystack.utils import Secret

from prefrag.components.document_stores.tantivy.index_location import make_data_directory
from prefrag.components.text.addresses import without_userinfo
from prefrag.components.text.title_mentions import TITLE_KEY_FIELD, title_key
from prefrag.errors import Missing
from prefrag.file_lock import hold_lock
from prefrag.settings import export_secrets, settings

# These imports are only for type checkers. Functions import what they need, because the client is slow to import.
if TYPE_CHECKING:
    from elasticsearch import Elasticsearch
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

# The kinds of origin of a passage, by the metadata field that has the path of the origin. A passage of a file has the
# path of the file in `file_path`. A passage of a corpus has the path of the corpus in `corpus`.
ORIGIN_FIELDS = {"file_path": "file", "corpus": "corpus"}
# The prefix of the path of an uploaded file in an index that several machines share.
UPLOADED = "upload:"
# Passages are collected in memory and written together. They are written at the latest when they have this many bytes.
MOST_BATCH_BYTES = 30_000_000
# The HTTP status of a request that a missing shard has stopped.
_UNAVAILABLE = 503
# The maximum number of seconds that a request waits for a missing shard. If the shard has a copy, it soon takes over.
_SHARD_SECONDS = 20
# The HTTP status of a deletion whose document does not exist.
_NOT_FOUND = 404
# The maximum number of seconds for one request to Elasticsearch.
_REQUEST_SECONDS = 30.0
# The maximum number of seconds to wait for another process. It may need most of an hour to index millions of passages.
WAIT_SECONDS = 7_200.0


class PassageStore:
    """Reads and writes passages through Haystack's DocumentStore protocol.

    :param batch: The maximum number of passages in one `write` or `delete`. It is large, because each call ends with a
        slow commit.
    :param written: The passages that were written but are not committed yet, by ID. Only some subclasses commit later.
    """

    batch = 10_000
    written: Mapping[str, Document] = MappingProxyType({})

    def __init__(self, store: DocumentStore) -> None:
        """Wrap a store.

        :param store: Any document store of Haystack.
        """
        self._store = store

    def by_id(self, ids: list[str]) -> dict[str, Document]:
        """Get passages by their IDs.

        :param ids: The IDs.
        :returns: The passages by their IDs. IDs without a passage are left out.
        """
        if not ids:
            return {}

        # Our own store has a method for this, which is faster than a filter.
        documents_by_id: Callable[[list[str]], list[Document]] | None = getattr(self._store, "documents_by_id", None)
        if documents_by_id:
            documents = documents_by_id(ids)
        else:
            documents = self._store.filter_documents({"field": "id", "operator": "in", "value": list(ids)})
        return {document.id: document for document in documents}

    def where(self, field: str, values: Sequence[str | int], first: bool = False) -> Iterator[Document]:
        """Find passages by the values of a metadata field.

        :param field: The name of the metadata field.
        :param values: The values. A passage is found if its field has one of them.
        :param first: Whether to find only the first passage of each file.
        :returns: The passages.
        """
        if values:
            conditions: list[dict[str, object]] = [{"field": f"meta.{field}", "operator": "in", "value": list(values)}]
            if first:
                conditions.append({"field": "meta.split_id", "operator": "==", "value": 0})
            yield from self._store.filter_documents({"operator": "AND", "conditions": conditions})

    def all(self) -> Iterator[Document]:
        """Iterate over all passages.

        :returns: The passages, in any order.
        """
        # Read the documents one by one if the store can do that, because it takes less memory.
        iterate_documents: Callable[[], Iterable[Document]] | None = getattr(self._store, "iterate_documents", None)
        if iterate_documents:
            yield from iterate_documents()
        else:
            yield from self._store.filter_documents()

    def count_origins(self) -> Counter[tuple[str, str | None]]:
        """Count the passages of each file and corpus.

        :returns: The number of passages, by the kind of origin and its path. See :func:`origin_of`.
        """
        counts = self.count_terms()
        if counts is not None:
            return counts
        return Counter(origin_of(passage) for passage in self.all())

    def count_terms(self) -> Counter[tuple[str, str | None]] | None:
        """Count as :meth:`count_origins` does, but a thousand times faster.

        :returns: The number of passages, by the kind of origin and its path. None if the store cannot count in this
            way.
        """
        count_values: Callable[[str], dict[str, int]] | None = getattr(self._store, "count_values", None)
        if count_values is None:
            return None

        counts: Counter[tuple[str, str | None]] = Counter()
        for field, kind in ORIGIN_FIELDS.items():
            counts.update({(kind, path): passages for path, passages in count_values(field).items()})
        # A passage without a path is not counted here, and neither is one whose path is too long to be indexed. Then
        # the total differs.
        return counts if counts.total() == self._store.count_documents() else None

    def write(self, passages: list[Document]) -> dict[str, str]:
        """Write passages. They replace passages with the same IDs.

        :param passages: The passages. They are safe on disk when this method returns.
        :returns: The reasons why passages were refused, by their IDs. Always empty here.
        """
        if passages:
            self._store.write_documents(passages, policy=DuplicatePolicy.OVERWRITE)
        return {}

    def delete(self, ids: list[str]) -> None:
        """Delete passages.

        :param ids: The IDs of the passages.
        """
        if ids:
            self._store.delete_documents(ids)

    def delete_in_batches(self, ids: Iterable[str]) -> None:
        """Delete any number of passages.

        :param ids: The IDs of the passages.
        """
        listed = list(ids)
        for start in range(0, len(listed), self.batch):
            self.delete(listed[start : start + self.batch])

    def finish(self) -> None:
        """Make everything written and deleted visible to searches."""

    def close(self) -> None:
        """Close the connection to the server, if there is one."""


class ElasticsearchPassageStore(PassageStore):
    """Reads and writes the passages of an `ElasticsearchDocumentStore` with the client of that store.

    Haystack's own methods are slower. They wait for a refresh at every request, and they list ten documents per
    request. They also fail completely if a single document does not fit the mapping.
    """

    # A larger batch would only cost memory. In Elasticsearch, every acknowledged request is safe without a commit.
    batch = 2_000
    # The metadata fields that `where` and `all` read.
    _LISTED = (
        "title",
        "file_path",
        "file_hash",
        "file_size",
        "split_count",
        "corpus",
        "kind",
        "date",
        "date_in",
        "modified",
        "standing",
    )

    def __init__(self, store: ElasticsearchDocumentStore, index: str, url: str) -> None:
        """Wrap a store, and make its earlier changes visible to searches.

        :param store: The store.
        :param index: The name of the index.
        :param url: The address of the server, for messages. It must have no password.
        :raises DocumentStoreError: If the server does not answer or refuses a request.
        """
        super().__init__(store)
        self._index = index
        self._url = url
        with explain_failures(url):
            self._client = store.client
            [description] = self._client.indices.get_mapping(index=index).values()
        # Whether the mapping has the field for title keys, which are normalised titles. Without this field in the
        # mapping, title keys would be indexed as text.
        self._keeps_titles = is_own_mapping(description["mappings"].get("properties", {}))
        self.finish()

    def by_id(self, ids: list[str]) -> dict[str, Document]:
        """Get passages by their IDs.

        :param ids: The IDs.
        :returns: The passages by their IDs. IDs without a passage are left out.
        :raises DocumentStoreError: If some passages cannot be read.
        """
        documents = {}
        for start in range(0, len(ids), 1000):
            with explain_failures(self._url):
                reply = self._client.mget(
                    index=self._index, ids=ids[start : start + 1000], source_excludes=[TITLE_KEY_FIELD]
                )
            for hit in reply["docs"]:
                error = hit.get("error")
                if error:
                    raise DocumentStoreError(
                        f"Elasticsearch at {self._url} could not read some of the passages: {error.get('reason')}"
                    )
                if hit.get("found"):
                    documents[hit["_id"]] = Document.from_dict(hit["_source"])
        return documents

    def where(self, field: str, values: Sequence[str | int], first: bool = False) -> Iterator[Document]:
        """Find passages by the values of a metadata field. The passages have no text.

        :param field: The name of the metadata field.
        :param values: The values. A passage is found if its field has one of them.
        :param first: Whether to find only the first passage of each file.
        :returns: The passages.
        """
        if values:
            conditions: list[dict[str, object]] = [{"terms": {field: list(values)}}]
            if first:
                conditions.append({"term": {"split_id": 0}})
            yield from self._scan({"bool": {"filter": conditions}})

    def all(self) -> Iterator[Document]:
        """Iterate over all passages. The passages have no text.

        :returns: The passages, in any order.
        """
        yield from self._scan({"match_all": {}})

    def count_origins(self) -> Counter[tuple[str, str | None]]:
        """Count the passages of each file and corpus.

        :returns: The number of passages, by the kind of origin and its path.
        :raises DocumentStoreError: If a shard is missing.
        """
        # Elasticsearch returns at most 10,000 files at once, so there may be several requests.
        sources = [{field: {"terms": {"field": field, "missing_bucket": True}}} for field in ORIGIN_FIELDS]
        pages: dict[str, Any] = {"size": 10_000, "sources": sources}
        counts: Counter[tuple[str, str | None]] = Counter()
        while True:
            with explain_failures(self._url):
                reply = self._client.search(
                    index=self._index,
                    size=0,
                    aggs={"origins": {"composite": pages}},
                    # Without this option, the passages of missing shards would be left out without an error.
                    allow_partial_search_results=False,
                )
            page = reply["aggregations"]["origins"]
            for bucket in page["buckets"]:
                # The key of a bucket has the paths of its passages, in the fields in which their metadata has them.
                origin = origin_of(Document(meta=bucket["key"]))
                counts[origin] += bucket["doc_count"]
            after = page.get("after_key")
            if after is None:
                return counts
            pages["after"] = after

    def write(self, passages: list[Document]) -> dict[str, str]:
        """Write passages. They replace passages with the same IDs. Searches find them only after :meth:`finish`.

        :param passages: The passages. They are safe on disk when this method returns.
        :returns: The reasons why Elasticsearch refused passages, by their IDs.
        :raises DocumentStoreError: If the server does not answer, or if a shard is missing.
        """
        actions = []
        for passage in passages:
            source = _source(passage)
            title = passage.meta.get("title")
            if self._keeps_titles and title is not None:
                key = title_key(str(title))
                if key:
                    source[TITLE_KEY_FIELD] = key
            actions.append({"_op_type": "index", "_id": passage.id, "_source": source})
        return self._bulk(actions)

    def delete(self, ids: list[str]) -> None:
        """Delete passages.

        :param ids: The IDs of the passages.
        :raises DocumentStoreError: If passages were not deleted.
        """
        refused = self._bulk([{"_op_type": "delete", "_id": passage_id} for passage_id in ids])
        if refused:
            # The first refusal stands for all.
            passage_id, *_ = refused
            reason = refused[passage_id]
            raise DocumentStoreError(
                f"Elasticsearch did not delete {len(refused)} of {len(ids)} passages: '{passage_id}' ({reason})."
            )

    def finish(self) -> None:
        """Make everything written and deleted visible to searches."""
        with explain_failures(self._url):
            self._client.indices.refresh(index=self._index)

    def close(self) -> None:
        """Close the connection to the server, if there is one."""
        self._client.close()

    def _bulk(self, actions: list[dict[str, Any]]) -> dict[str, str]:
        """Send many writes or deletions in one request. Return the reasons why some were refused, by their IDs."""
        from elasticsearch import helpers

        refused = {}
        with explain_failures(self._url):
            replies = helpers.streaming_bulk(
                self._client,
                actions,
                index=self._index,
                raise_on_error=False,
                # Try again several times, because a busy server refuses requests with status 429 for a while.
                max_retries=5,
                initial_backoff=1,
                timeout=f"{_SHARD_SECONDS}s",
            )
            for accepted, reply in replies:
                [(operation, item)] = reply.items()
                status = item.get("status")
                is_gone_already = operation == "delete" and status == _NOT_FOUND
                if accepted or is_gone_already:
                    continue
                if status == _UNAVAILABLE:
                    raise DocumentStoreError(
                        f"A shard of the index '{self._index}' is missing, so not all passages could be "
                        f"written: check the health of {self._url}, and try again."
                    )
                error = item.get("error")
                reason = error.get("reason") if isinstance(error, dict) else error
                refused[str(item["_id"])] = str(reason)
        return refused

    def _scan(self, query: dict[str, Any]) -> Iterator[Document]:
        """Yield all passages that match a query, with some of their metadata and without their text."""
        from elasticsearch import helpers

        body = {"query": query, "_source": list(self._LISTED)}
        with explain_failures(self._url):
            hits = helpers.scan(self._client, index=self._index, query=body, size=5000)
            for hit in hits:
                yield Document(id=hit["_id"], meta=hit["_source"])


def open_elasticsearch(index: str, language: str | None = None, make: bool = False) -> ElasticsearchPassageStore:
    """Open an index in Elasticsearch.

    :param index: The name of the index, or an alias of an index.
    :param language: The language of the stemmer. An index of another language is refused. None accepts every language,
        and stands for English in a new index.
    :param make: Whether to make the index if it is missing.
    :returns: The passages of the index.
    :raises FileNotFoundError: If there is no such index and ``make`` is false.
    :raises ValueError: If the index is of another program or language, or if its name has capitals.
    :raises DocumentStoreError: If the server does not answer, or if a shard is missing.
    """
    from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever

    if index != index.lower():
        raise ValueError(f"Elasticsearch takes only lower-case names of indexes: use '{index.lower()}'.")
    mapping = ElasticsearchMultiMatchRetriever.recommended_mapping(language or "english")
    with connect_elasticsearch() as client:
        address = without_userinfo(settings.elasticsearch_url)
        if client.indices.exists(index=index):
            # The reply has a single mapping. If `index` is an alias, the key of the mapping is the name of the real
            # index.
            [description] = client.indices.get_mapping(index=index).values()
            properties = description["mappings"].get("properties", {})
            _check_mapping(index, properties, language)
        elif not make:
            raise FileNotFoundError(
                f"Elasticsearch at {address} has no index '{index}'. Make it with: "
                f"prefrag index YOUR_FILES --store elasticsearch --collection {index}"
            )
        else:
            make_index(client, index, mapping)
        check_shards(client, index, _SHARD_SECONDS)
    store = elasticsearch_store(index=index, custom_mapping=mapping, request_timeout=_REQUEST_SECONDS)
    return ElasticsearchPassageStore(store, index, address)


def make_index(client: Elasticsearch, index: str, mapping: Mapping[str, Any], **more: Any) -> None:
    """Make an index with the configured numbers of shards and replicas. Do nothing if the index already exists.

    :param client: The client of Elasticsearch.
    :param index: The name of the index.
    :param mapping: The mapping of the index.
    :param more: Further settings of the index. They may replace the numbers of shards and replicas.
    """
    from elasticsearch import BadRequestError

    try:
        client.indices.create(
            index=index,
            mappings=mapping,
            settings={
                "number_of_shards": settings.elasticsearch_shards,
                "number_of_replicas": settings.elasticsearch_replicas,
                **more,
            },
        )
    except BadRequestError as error:
        if error.error != "resource_already_exists_exception":
            raise


def check_shards(client: Elasticsearch, index: str, seconds: float) -> None:
    """Refuse an index with a missing shard. Elasticsearch would count and search only the other shards.

    :param client: The client of Elasticsearch.
    :param index: The name of the index.
    :param seconds: The maximum number of seconds to wait for the shard.
    :raises DocumentStoreError: If a shard is missing.
    """
    health = client.options(ignore_status=408).cluster.health(
        index=index, wait_for_status="yellow", timeout=f"{seconds:g}s"
    )
    if health["status"] == "red":
        raise DocumentStoreError(
            f"A shard of the Elasticsearch index '{index}' is missing, because its node has stopped or not yet "
            "started: start the node, and try again."
        )


def elasticsearch_store(url: str | None = None, index: str = "default", **more: Any) -> ElasticsearchDocumentStore:
    """Make Haystack's store of an index in Elasticsearch.

    :param url: The address of the server. None stands for `PREFRAG_ELASTICSEARCH_URL`.
    :param index: The name of the index.
    :param more: Further parameters of `ElasticsearchDocumentStore`.
    :returns: The store.
    """
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

    from prefrag.components.document_stores.elasticsearch.connection import connection_settings
    from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever

    export_secrets()
    options = {"request_timeout": 10, "custom_mapping": ElasticsearchMultiMatchRetriever.recommended_mapping(), **more}
    return ElasticsearchDocumentStore(
        index=index,
        api_key=Secret.from_env_var("PREFRAG_ELASTICSEARCH_API_KEY", strict=False),
        api_key_id=Secret.from_env_var("PREFRAG_ELASTICSEARCH_API_KEY_ID", strict=False),
        **connection_settings(url),
        **options,
    )


@contextmanager
def index_lock(name: str, wait: float = WAIT_SECONDS, work: str | None = None) -> Iterator[None]:
    """Hold a lock during the block. The lock is a file in the data directory.

    :param name: The name of the lock.
    :param wait: The maximum number of seconds to wait if another process has the lock.
    :param work: Words for messages that say what the lock is for. None says that the index ``name`` is being made.
    :raises Busy: If another process still has the lock after ``wait`` seconds.
    """
    with hold_lock(make_data_directory() / "locks" / f"{name}.lock", wait, work or f"making the index {name}"):
        yield


@contextmanager
def connect_elasticsearch() -> Iterator[Elasticsearch]:
    """Connect to the server at `PREFRAG_ELASTICSEARCH_URL` during the block.

    :returns: A context manager. It provides the client, and turns failures into errors that say what to do.
    """
    with elasticsearch_client() as server, explain_failures(without_userinfo(settings.elasticsearch_url)):
        yield server


def elasticsearch_client() -> Elasticsearch:
    """Make a client of the server at `PREFRAG_ELASTICSEARCH_URL`.

    :returns: The client. The caller must close it.
    :raises ValueError: If the setting is not the address of a server.
    """
    from elasticsearch import Elasticsearch

    from prefrag.components.document_stores.elasticsearch.connection import connection_settings

    secret = settings.elasticsearch_api_key
    key_id = settings.elasticsearch_api_key_id if secret else ""
    key: str | tuple[str, str] | None = secret or None
    if key_id:
        # Elasticsearch also accepts a key as a pair of its ID and its secret.
        key = (key_id, secret)
    try:
        return Elasticsearch(**connection_settings(), api_key=key, request_timeout=_REQUEST_SECONDS)
    except Missing:
        raise
    except ValueError:
        # The library's own message is left out, because it may repeat a password in the URL.
        raise ValueError(
            "PREFRAG_ELASTICSEARCH_URL is not the address of a server, such as http://127.0.0.1:9200. A user name and "
            "a password before the host must be percent-encoded."
        ) from None


def is_own_mapping(properties: dict[str, Any]) -> bool:
    """Check by the mapping of an Elasticsearch index whether prefrag made the index.

    :param properties: The fields of the mapping.
    :returns: Whether the mapping has the field for title keys.
    """
    return TITLE_KEY_FIELD in properties


def _check_mapping(index: str, properties: Mapping[str, Any], language: str | None) -> None:
    """Refuse an index of another program or of another language. Searches in such an index would find too little."""
    analyzers = [properties.get(field, {}).get("analyzer") for field in ("title", "content")]
    if None in analyzers:
        raise ValueError(
            f"The Elasticsearch index '{index}' was not made by prefrag: its title and content are not analysed as "
            "text of a language, so searches would find a fifth less. Choose another --collection, or delete it."
        )
    if language is not None and analyzers != [language, language]:
        _, language_of_content = analyzers
        raise ValueError(
            f"The Elasticsearch index '{index}' was made for '{language_of_content}', not for '{language}'. Choose "
            "another --collection, or leave the language out."
        )


def _source(passage: Document) -> dict[str, object]:
    """Return a passage in the form in which `ElasticsearchDocumentStore` writes and reads a passage."""
    unused = ("embedding", "sparse_embedding", "blob", "score")
    return {key: value for key, value in passage.to_dict().items() if key not in unused}


@contextmanager
def explain_failures(url: str) -> Iterator[None]:
    """Turn the failures of Elasticsearch during the block into errors that say what to do.

    :param url: The address of the server, for messages. It must have no password.
    :raises DocumentStoreError: If the server does not answer or refuses a request.
    """
    from elastic_transport import ConnectionError as ServerUnreachable
    from elastic_transport import ConnectionTimeout
    from elasticsearch import ApiError, helpers

    try:
        yield
    except ConnectionTimeout as error:
        raise DocumentStoreError(f"Elasticsearch at {url} did not answer in time ({error}). Try again.") from error
    except ServerUnreachable as error:
        raise DocumentStoreError(
            f"No Elasticsearch answers at {url} ({error}). Start it, or set PREFRAG_ELASTICSEARCH_URL to where it runs."
        ) from error
    except (ApiError, helpers.ScanError, helpers.BulkIndexError) as error:
        is_key_refused = getattr(error, "status_code", None) in (401, 403)
        advice = " Check PREFRAG_ELASTICSEARCH_API_KEY." if is_key_refused else ""
        raise DocumentStoreError(f"Elasticsearch at {url} refused a request: {error}.{advice}") from error


def origin_of(passage: Document) -> tuple[str, str | None]:
    """Find where a passage comes from.

    :param passage: The passage.
    :returns: The kind of origin ("file", "corpus" or "other"), and the path of the file or corpus. The path is None for
        "other".
    """
    for field, kind in ORIGIN_FIELDS.items():
        path = passage.meta.get(field)
        if path:
            return kind, str(path)
    return "other", None


def is_there(path: str) -> bool:
    """Check whether a file or folder exists.

    :param path: The path.
    :returns: False only if the file or folder certainly does not exist. True if that cannot be found out.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # If a folder is unreadable, or a file server unreachable, the file may still exist.
        return True
    return True
