"""Store the hashes of API keys in one Elasticsearch document, which all servers share and replace as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prefrag.components.document_stores.elasticsearch.connection import connection_settings, count_other_nodes
from prefrag.components.text.addresses import without_userinfo
from prefrag.errors import PrefragError

# The Elasticsearch client is imported where it is used, because the import takes a second.
if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

KEY_INDEX = "prefrag-keys"
_ID = "keys"
# The time limit for a request to Elasticsearch. Short, because users' requests wait while the keys are read.
_SECONDS = 2.0


class KeysUnreadable(PrefragError):
    """The error when the keys cannot be read from Elasticsearch."""

    http_status = 503


class KeyIndex:
    """Reads and replaces the document that holds the keys.

    If the index exists but the document does not, no key works, just as if all keys had been revoked.
    """

    def __init__(self) -> None:
        self._client: Elasticsearch | None = None

    def read(self) -> tuple[dict[str, Any] | None, dict[str, int]]:
        """Return the document and its version, which `replace` needs, or None and {} if nobody has made a key yet."""
        from elasticsearch import NotFoundError

        with self._connect() as client:
            try:
                # Unlike a search, getting a document by its id finds the newest version without a refresh.
                document = client.get(index=KEY_INDEX, id=_ID)
            except NotFoundError as error:
                if error.error == "index_not_found_exception":
                    return None, {}
                if isinstance(error.body, dict) and error.body.get("found") is False:
                    return {"keys": []}, {}
                # Something other than Elasticsearch answered, such as a proxy that expects another path.
                raise
            version = {"if_seq_no": document["_seq_no"], "if_primary_term": document["_primary_term"]}
            return document["_source"], version

    def replace(self, document: dict[str, Any], version: dict[str, int]) -> bool:
        """Replace the document and return True; return False if somebody else has replaced it since it was read."""
        from elasticsearch import ConflictError

        from prefrag.collections.stores import make_index

        with self._connect() as client:
            # Make a hidden index. If the write below had to make it, searches of all indexes would include it.
            make_index(client, KEY_INDEX, {"enabled": False}, number_of_shards=1, hidden=True)
            try:
                condition: dict[str, Any] = {**version} or {"op_type": "create"}
                client.index(index=KEY_INDEX, id=_ID, document=document, **condition)
            except ConflictError:
                return False
        return True

    @contextmanager
    def _connect(self) -> Iterator[Elasticsearch]:
        from elastic_transport import TransportError
        from elasticsearch import ApiError

        from prefrag.collections.stores import elasticsearch_client

        try:
            if self._client is None:
                self._client = elasticsearch_client()
            others = count_other_nodes(connection_settings()["hosts"])
            yield self._client.options(request_timeout=_SECONDS, max_retries=others)
        except (ApiError, TransportError, ValueError, OSError) as error:
            raise KeysUnreadable(
                f"The keys are in Elasticsearch (PREFRAG_STATE), which does not answer ({error}): start it, or correct "
                "PREFRAG_ELASTICSEARCH_URL and its API key. Until then, only the keys in PREFRAG_API_KEYS work."
            ) from error


def is_open_to_others() -> bool:
    """Check whether Elasticsearch lets anybody read the index of keys, even without a password or certificate."""
    from elastic_transport import TransportError
    from elasticsearch import ApiError, Elasticsearch

    connection = connection_settings()
    hosts = connection.pop("hosts")
    listed = hosts if isinstance(hosts, list) else [hosts]
    without_passwords = list(map(without_userinfo, listed))
    # Of the settings, only the certificates stay that check the server.
    certificates = {name: value for name, value in connection.items() if name == "ca_certs"}
    with Elasticsearch(without_passwords, request_timeout=_SECONDS, max_retries=0, **certificates) as anybody:
        try:
            anybody.options(ignore_status=404).get(index=KEY_INDEX, id=_ID)
        except (ApiError, TransportError):
            # Elasticsearch refused, or it closed the connection because it requires a client certificate.
            return False
    return True
