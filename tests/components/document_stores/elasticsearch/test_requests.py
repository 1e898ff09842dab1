"""What is reported if Elasticsearch fails."""

import pytest
from elastic_transport import ConnectionError as ServerUnreachable
from haystack.document_stores.errors import DocumentStoreError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.elasticsearch.requests import explain_failures
from tests.for_each import for_each


@for_each("hosts", "http://elastic:SECRETPW@es:9200", ["http://es:9200", "https://elastic:SECRETPW@es2:9200"])
def test_no_message_has_the_password(hosts: str | list[str]):
    store = ElasticsearchDocumentStore(hosts=hosts)

    advice = r"http://es:9200.*PREFRAG_ELASTICSEARCH_URL"
    with pytest.raises(DocumentStoreError, match=advice) as failure, explain_failures(store):
        raise ServerUnreachable("refused")

    assert "SECRETPW" not in str(failure.value)
