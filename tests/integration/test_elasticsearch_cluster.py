"""What clusters need, tested on the single real node that PREFRAG_TEST_ELASTICSEARCH_URL names."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from elasticsearch import Elasticsearch
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.changes.rebuilding import rebuild_index
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.indexing import index
from prefrag.collections.stores import elasticsearch_store
from prefrag.components.document_stores.elasticsearch.consent import read_web_consent
from prefrag.errors import BadInput


@pytest.fixture
def note(tmp_path: Path) -> Path:
    (tmp_path / "note.txt").write_text("A square in Vienna.", encoding="utf-8")
    return tmp_path / "note.txt"


@pytest.fixture(autouse=True)
def no_leftovers(name: str, client: Elasticsearch) -> Iterator[None]:
    yield
    made = client.indices.get(index=f"{name}*", expand_wildcards="all")
    client.options(ignore_status=404).indices.delete(index=",".join(made) or "none")


def fill(note: Path, name: str) -> int:
    return index([note], ElasticCollection(name)).written


class TestRebuild:
    def test_replaces_an_index_then_an_alias_and_keeps_its_answer(self, name: str, note: Path, client: Elasticsearch):
        fill(note, name)
        ElasticCollection(name).keep_consent(False)
        for text in ("A tower in Graz.", "A bridge in Linz."):
            note.write_text(text)
            rebuild_index(name, lambda new: fill(note, new))

            [hit] = client.search(index=name)["hits"]["hits"]
            assert (hit["_source"]["content"], len(client.indices.get(index=f"{name}*"))) == (text, 1)
            assert read_web_consent(elasticsearch_store(index=name)) is False
            assert [
                summary.passages
                for summary in (collection.summary() for collection in ElasticCollection.all())
                if summary.name == name
            ] == [1]
        ElasticCollection(name).drop()
        assert not client.indices.exists(index=f"{name}*", allow_no_indices=False)

    def test_that_fails_leaves_the_old_one(self, name: str, note: Path, client: Elasticsearch):
        fill(note, name)

        with pytest.raises(DocumentStoreError, match="holds 1 of 2 passages"):
            rebuild_index(name, lambda new: fill(note, new) + 1)

        assert (client.count(index=name)["count"], [*client.indices.get(index=f"{name}*")]) == (1, [name])

    def test_that_was_killed_is_cleaned_up_by_the_next(
        self, name: str, note: Path, client: Elasticsearch, monkeypatch: pytest.MonkeyPatch
    ):
        def die(new: str) -> int:
            fill(note, new)
            raise KeyboardInterrupt

        with monkeypatch.context() as killed:
            # A killed process deletes nothing, so nothing is deleted here.
            killed.setattr("prefrag.collections.changes.rebuilding._holds_name", lambda *_: True)
            with pytest.raises(KeyboardInterrupt):
                rebuild_index(name, die)
        assert (client.indices.exists(index=name).body, len(client.indices.get(index=f"{name}.*"))) == (False, 1)

        rebuild_index(name, lambda new: fill(note, new))

        assert len(client.indices.get(index=f"{name}.*")) == 1
        assert client.count(index=name)["count"] == 1

    def test_of_a_foreign_index_is_refused(self, name: str, note: Path, client: Elasticsearch):
        client.indices.create(index=name)

        with pytest.raises(BadInput, match="not made by prefrag"):
            rebuild_index(name, lambda new: fill(note, new))


def test_shards_replicas_and_a_second_node_are_settings(
    name: str, note: Path, client: Elasticsearch, elasticsearch_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", f"http://127.0.0.1:1,{elasticsearch_url}")
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_SHARDS", "2")
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_REPLICAS", "0")

    assert fill(note, name) == 1

    made = client.indices.get_settings(index=name)[name]["settings"]["index"]
    assert (made["number_of_shards"], made["number_of_replicas"]) == ("2", "0")
    ElasticCollection(name).keep_consent(False)
    assert [read_web_consent(elasticsearch_store(index=name)) for _ in range(4)] == [False] * 4


def test_a_missing_shard_is_no_smaller_index(name: str, note: Path, client: Elasticsearch):
    fill(note, name)
    client.indices.close(index=name)
    client.indices.delete(index=name)
    lost = {"index.routing.allocation.require._name": "no-such-node", "number_of_replicas": 0}
    mapping = elasticsearch_store(index=name)._custom_mapping
    client.indices.create(index=name, mappings=mapping, settings=lost, wait_for_active_shards="0", timeout="1s")

    [listed] = [
        summary for summary in (collection.summary() for collection in ElasticCollection.all()) if summary.name == name
    ]

    assert listed.passages is None
    assert "shard" in str(listed.problem)


def test_both_certificates_are_used_for_indexing_and_asking(
    name: str, note: Path, tmp_path: Path, elasticsearch_url: str, monkeypatch: pytest.MonkeyPatch
):
    openssl = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    named = ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*openssl, *named, *files], check=True, capture_output=True)
    with closing(tls_proxy(tmp_path, elasticsearch_url)) as proxy:
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", f"https://127.0.0.1:{proxy.getsockname()[1]}")
        with pytest.raises(DocumentStoreError, match="certificate"):
            fill(note, name)
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_CA", str(tmp_path / "cert.pem"))
        with pytest.raises(DocumentStoreError):
            fill(note, name)
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_CERT", str(tmp_path / "cert.pem"))
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_KEY", str(tmp_path / "key.pem"))

        assert fill(note, name) == 1
        assert elasticsearch_store(index=name).count_documents() == 1
        assert read_web_consent(elasticsearch_store(index=name)) is None


def tls_proxy(folder: Path, url: str) -> socket.socket:
    """A TLS proxy before a server, which lets in only clients with the certificate in the folder."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "cert.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    listener = socket.create_server(("127.0.0.1", 0))
    behind = urlsplit(url)

    def copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                target.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, target):
                end.close()

    def accept() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                client = context.wrap_socket(plain, server_side=True)
            except OSError:
                plain.close()
                continue
            server = socket.create_connection((behind.hostname, behind.port))
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            threading.Thread(target=copy, args=(server, client), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener
