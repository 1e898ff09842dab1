"""Store the hashes of API keys in Elasticsearch, for several servers that share their keys.

All keys are in a single document, which is always replaced as a whole. `keys.py` uses this module if
``PREFRAG_STATE`` is ``elasticsearch``.
"""

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

# The name of the hidden Elasticsearch index that holds the keys.
KEY_INDEX = "prefrag-keys"
# The id of the only document in that index.
_ID = "keys"
# The time limit for a request to Elasticsearch, in seconds. It is short, because users' requests wait meanwhile.
_SECONDS = 2.0


class KeysUnreadable(PrefragError):
    """The error when the keys cannot be read from Elasticsearch."""

    http_status = 503


class KeyIndex:
    """Reads and replaces the document that holds the keys.

    If the index exists but the document does not, no key works. The effect is the same as if all keys had been revoked.
    """

    def __init__(self) -> None:
        self._client: Elasticsearch | None = None

    def read(self) -> tuple[dict[str, object] | None, dict[str, int]]:
        """Read the document that holds the keys.

        :returns: The document and its version. `replace` needs the version. If nobody has made a key yet, the document
            is None and the version is empty.
        :raises KeysUnreadable: If Elasticsearch does not answer, or refuses the request.
        """
        from elasticsearch import NotFoundError

        with self._connect() as client:
            try:
                # Unlike a search, getting a document by its id finds the newest version without a refresh.
                document = client.get(index=KEY_INDEX, id=_ID)
            except NotFoundError as error:
                if error.error == "index_not_found_exception":
                    return None, {}
                # The index exists, but it has no document.
                if isinstance(error.body, dict) and error.body.get("found") is False:
                    return {"keys": []}, {}
                # Something other than Elasticsearch answered, such as a proxy that expects another path.
                raise
            version = {"if_seq_no": document["_seq_no"], "if_primary_term": document["_primary_term"]}
            return document["_source"], version

    def replace(self, document: dict[str, object], version: dict[str, int]) -> bool:
        """Replace the document, unless somebody else has replaced it since it was read.

        :param document: The new document.
        :param version: The version that `read` returned. If it is empty, the document must not exist yet.
        :returns: True if the document was replaced. False if somebody else was faster; then read it again.
        :raises KeysUnreadable: If Elasticsearch does not answer, or refuses the request.
        """
        from elasticsearch import ConflictError

        from prefrag.collections.stores import make_index

        with self._connect() as client:
            # Make a hidden index. If the write below made the index, searches of all indexes would include it.
            make_index(client, KEY_INDEX, {"enabled": False}, number_of_shards=1, hidden=True)
            try:
                # Elasticsearch writes only if this condition is true.
                condition: dict[str, Any] = version or {"op_type": "create"}
                client.index(index=KEY_INDEX, id=_ID, document=document, **condition)
            except ConflictError:
                return False
        return True

    @contextmanager
    def _connect(self) -> Iterator[Elasticsearch]:
        """Yield a client with short time limits. Turn failures inside the context into `KeysUnreadable`."""
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
    """Check whether Elasticsearch lets anybody read the index of keys.

    This sends one request without the password, API key and client certificate of the settings.

    :returns: True if Elasticsearch answers that request. False if it refuses, or if the connection fails.
    """
    from elastic_transport import TransportError
    from elasticsearch import ApiError, Elasticsearch

    connection = connection_settings()
    hosts = connection.pop("hosts")
    listed = hosts if isinstance(hosts, list) else [hosts]
    without_passwords = [without_userinfo(host) for host in listed]
    # The only setting that stays is `ca_certs`: the certificates with which the client checks the server.
    certificates = {name: value for name, value in connection.items() if name == "ca_certs"}
    with Elasticsearch(without_passwords, request_timeout=_SECONDS, max_retries=0, **certificates) as anybody:
        try:
            anybody.options(ignore_status=404).get(index=KEY_INDEX, id=_ID)
        except (ApiError, TransportError):
            # Elasticsearch refused, or it closed the connection because it requires a client certificate.
            return False
    return True
