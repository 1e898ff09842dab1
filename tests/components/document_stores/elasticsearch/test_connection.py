from pathlib import Path

import pytest

from prefrag.components.document_stores.elasticsearch.connection import connection_settings
from prefrag.components.document_stores.store_kinds import find_stores
from prefrag.errors import Missing
from prefrag.pipelines import load
from tests.for_each import for_each


@for_each("url, hosts", ("http://a:1", "http://a:1"), ("http://a:1, http://b:2,", ["http://a:1", "http://b:2"]))
def test_several_addresses_are_separated_by_commas(url: str, hosts: object, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", url)

    assert connection_settings() == {"hosts": hosts}
    assert {str(store._hosts) for store in find_stores(load("prefrag_elasticsearch"))} == {str(hosts)}


def test_the_certificates_reach_the_store_of_a_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "ca.pem").touch()
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_CA", str(tmp_path / "ca.pem"))

    for store in find_stores(load("prefrag_elasticsearch")):
        assert store._kwargs["ca_certs"] == str(tmp_path / "ca.pem")


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_KEY", str(tmp_path / "key.pem"))

    with pytest.raises(Missing, match=r"key\.pem"):
        connection_settings()
