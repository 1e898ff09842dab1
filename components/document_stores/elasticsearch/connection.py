"""The connection settings of Elasticsearch: the addresses of its nodes, and the TLS certificates."""

from typing import Any

from prefrag.errors import Missing
from prefrag.settings import settings


def connection_settings(hosts: object = None) -> dict[str, Any]:
    """Collect the parameters that every Elasticsearch client and store needs.

    For example, the addresses "http://a:9200, http://b:9200" become ``{"hosts": ["http://a:9200", "http://b:9200"]}``.

    :param hosts: One address, several addresses separated by commas, or a list. None means
        `PREFRAG_ELASTICSEARCH_URL`.
    :returns: The addresses under ``hosts``, and the paths of the certificate files that are set.
    :raises Missing: When a certificate file does not exist.
    """
    addresses = hosts or settings.elasticsearch_url
    if isinstance(addresses, str) and "," in addresses:
        stripped = [address.strip() for address in addresses.split(",")]
        addresses = [address for address in stripped if address]
    files = {
        "ca_certs": settings.elasticsearch_ca,
        "client_cert": settings.elasticsearch_cert,
        "client_key": settings.elasticsearch_key,
    }
    parameters: dict[str, object] = {"hosts": addresses}
    for name, path in files.items():
        if path:
            if not path.is_file():
                raise Missing(f"There is no file {path}: set PREFRAG_ELASTICSEARCH_CA, _CERT and _KEY to PEM files.")
            parameters[name] = str(path)
    return parameters


def count_other_nodes(hosts: object) -> int:
    """Count the nodes that a client can try after the first node has not answered.

    :param hosts: The value of ``hosts`` from :func:`connection_settings`.
    :returns: The number of nodes. It is 0 for a single address.
    """
    return len(hosts) - 1 if isinstance(hosts, list) else 0
