"""Two servers with separate data and one real Elasticsearch, which holds everything that they must agree on."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from elasticsearch import Elasticsearch

from prefrag.collections.changes import shared_uploads
from prefrag.collections.changes.rebuilding import rebuild_index
from prefrag.collections.changes.shared_uploads import UPLOAD_INDEX, SharedChanges, change_shared, settle_shared_changes
from prefrag.collections.changes.uploads import add_uploads
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.indexing import index, list_documents, prune
from prefrag.file_lock import Busy
from prefrag.indexing.file_conversion import is_fingerprint_of
from prefrag.server.access.key_index import KEY_INDEX
from prefrag.server.access.keys import add_key, revoke_key
from prefrag.server.library.feedback import FEEDBACK_INDEX, read_feedback
from tests.server_process import server_process

pytestmark = pytest.mark.slow
OWN = (KEY_INDEX, UPLOAD_INDEX, FEEDBACK_INDEX)
PRESS, FRESH = "prefrag-test-press", "prefrag-test-press-fresh"
TOWER = "# Towers\n\nAda built the tower.\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Elasticsearch]:
    """The Elasticsearch, without the data of earlier servers."""
    url = os.environ.get("PREFRAG_TEST_ELASTICSEARCH_URL")
    if not url:
        pytest.skip("needs a real Elasticsearch: set PREFRAG_TEST_ELASTICSEARCH_URL")
    with Elasticsearch(url) as client:
        if any(client.indices.exists(index=name) for name in OWN):
            pytest.skip("needs an Elasticsearch in which no server keeps its state")
        yield client
        client.indices.delete(index=[*OWN, *client.indices.get(index=f"{PRESS}*")], ignore_unavailable=True)


@pytest.fixture(autouse=True)
def same_state(cluster: Elasticsearch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFRAG_STATE", "elasticsearch")
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", os.environ["PREFRAG_TEST_ELASTICSEARCH_URL"])


@pytest.fixture(scope="module")
def servers(cluster: Elasticsearch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[httpx.Client]]:
    """Two servers, as on two machines, with a key that may write."""
    folder = tmp_path_factory.mktemp("machines")
    variables = {
        "PREFRAG_STATE": "elasticsearch", "PREFRAG_INDEX": PRESS, "PREFRAG_COLLECTIONS": FRESH, "PREFRAG_WEB": "off",
        "PREFRAG_ELASTICSEARCH_URL": os.environ["PREFRAG_TEST_ELASTICSEARCH_URL"],
    }  # fmt: skip
    command = ("-m", "prefrag.cli.main", "serve", "--pipeline", "prefrag_elasticsearch")
    with ExitStack() as running, ThreadPoolExecutor(2) as pool:

        def start(name: str) -> httpx.Client:
            (folder / name).mkdir()
            return running.enter_context(server_process(*command, folder=folder / name, **variables))

        yield list(pool.map(start, ("first", "second")))


class Machines:
    """The two servers, whose lists of documents are compared."""

    def __init__(self, first: httpx.Client, second: httpx.Client) -> None:
        self.first, self.second, self.both = first, second, (first, second)

    def upload(self, machine: httpx.Client, collection: str = PRESS, **files: str) -> Any:
        parts = [("files", (name.replace("_", "."), text)) for name, text in files.items()]
        return machine.post(f"/collections/{collection}/documents", files=parts)

    def listed(self, collection: str = PRESS) -> dict[str, tuple[str, int]]:
        """The id and the number of passages of each document, which must be the same on both servers."""
        first, other = (client.get(f"/collections/{collection}/documents").json() for client in self.both)
        assert first == other
        return {document["name"]: (document["id"], document["passages"]) for document in first.get("documents", [])}

    def found(self, machine: httpx.Client, collection: str = PRESS) -> list[str]:
        """The passages that a question finds, without a language model."""
        reply = machine.post(
            "/prefrag_elasticsearch/run", json={"question": "Who built the tower?", "index": collection}
        ).json()
        return [document["content"] for document in reply["result"]["documents"]]


def wait_for_status(client: httpx.Client, status: int, key: str = "") -> None:
    deadline = time.monotonic() + 10
    while client.get("/access", headers={"Authorization": f"Bearer {key or 'none'}"}).status_code != status:
        assert time.monotonic() < deadline, f"No {status} within ten seconds."
        time.sleep(0.05)


def records(client: Elasticsearch) -> dict[str, int]:
    """The size of each uploaded file by name. There must be nothing else, and no text of a file."""
    client.indices.refresh(index=UPLOAD_INDEX)
    hits = [hit["_source"] for hit in client.search(index=UPLOAD_INDEX, size=1000)["hits"]["hits"]]
    assert {tuple(sorted(hit)) for hit in hits} <= {("bytes", "change", "collection", "kind", "name")}
    return {hit["name"]: hit["bytes"] for hit in hits}


@pytest.fixture
def machines(servers: list[httpx.Client], cluster: Elasticsearch) -> Machines:
    cluster.indices.delete(index=[*OWN, *cluster.indices.get(index=f"{PRESS}*")], ignore_unavailable=True)
    secret = add_key("ada", writes=True)
    for server in servers:
        server.headers["Authorization"] = f"Bearer {secret}"
        wait_for_status(server, 200, secret)
    return Machines(*servers)


def test_key_of_a_machine_closes_all_and_opens_until_revoked(servers: list[httpx.Client], cluster: Elasticsearch):
    for server in servers:
        wait_for_status(server, 200)

    secret = add_key("ben")
    for server in servers:
        wait_for_status(server, 401)
        wait_for_status(server, 200, secret)

    revoke_key("ben")
    for server in servers:
        wait_for_status(server, 401, secret)
    cluster.indices.close(index=KEY_INDEX)
    for server in servers:
        wait_for_status(server, 503, secret)
    cluster.indices.delete(index=KEY_INDEX)


def test_upload_of_a_server_is_found_and_replaced_by_another(
    machines: Machines, cluster: Elasticsearch, tmp_path: Path
):
    """It is also listed and deleted."""

    first, second = machines.both
    long = "The board of the harbour met in May and spoke of buoys. " * 15_000

    assert machines.upload(first, tower_md=TOWER, long_txt=long).json()["skipped"] == []
    assert machines.found(second) == ["Towers\nAda built the tower."]
    assert records(cluster) == {"tower.md": len(TOWER), "long.txt": len(long)}
    assert machines.upload(second, tower_md=TOWER).json()["unchanged"] == 1
    assert machines.upload(second, tower_md=TOWER.replace("Ada", "Bea")).json()["replaced"] == 1
    assert machines.found(first) == ["Towers\nBea built the tower."]
    documents = machines.listed()
    assert {name: passages > 1 for name, (_, passages) in documents.items()} == {"tower.md": False, "long.txt": True}

    reply = second.delete(f"/collections/{PRESS}/documents/{documents['long.txt'][0]}")
    assert reply.json() == {"deleted": documents["long.txt"][1], "file": "deleted"}
    assert [*machines.listed()] == [*records(cluster)] == ["tower.md"]
    # Uploads have no path on any machine, so they are not pruned.
    assert prune(ElasticCollection(PRESS)).deleted == 0
    assert [entry.path for entry in list_documents(ElasticCollection(PRESS))] == [f"upload:{PRESS}/tower.md"]
    (tmp_path / "board.txt").write_text("The board.")
    rebuild_index(PRESS, lambda new: index([tmp_path / "board.txt"], ElasticCollection(new)).written)
    assert [*machines.listed()] == ["board.txt", "tower.md"]


def test_a_collection_is_made_stays_from_the_web_and_is_deleted(machines: Machines, cluster: Elasticsearch):
    corpus = '{"id": "1", "text": "A tower."}\n{"id": "2", "text": "B."}'
    machines.upload(machines.first, FRESH, towers_jsonl=corpus)

    taken = machines.upload(machines.second, FRESH, others_jsonl='{"id": "1", "text": "C."}\n{"id": "3", "text": "D."}')
    assert (taken.json()["written"], taken.json()["skipped"][0]["name"]) == (1, "others.jsonl")
    [fresh] = machines.second.get("/collections").json()["collections"]
    flags = {"default": False, "web": False, "writes": True, "follows": False}
    flags |= {"changed": None, "opens_web": False, "unread": None}
    assert fresh == {"name": FRESH, "files": 2, "passages": 3, **flags}
    assert machines.found(machines.second, FRESH) == ["A tower."]

    assert machines.second.delete(f"/collections/{FRESH}").json() == {"deleted": 3}
    assert (records(cluster), machines.first.get(f"/collections/{FRESH}/documents").status_code) == ({}, 404)
    assert machines.upload(machines.first, "prefrag-test-other", tower_md=TOWER).status_code == 404


def test_refusal_of_elasticsearch_is_named_and_an_old_file_stays(machines: Machines, cluster: Elasticsearch):
    earlier = "---\nyear: 1971\n---\n# Towers\n\nAda built the tower."
    lines = '{"id": "1", "text": "A.", "year": 1970}\n{"id": "2", "text": "B.", "year": "long ago"}'
    assert machines.upload(machines.first, tower_md=earlier).json()["skipped"] == []

    taken = machines.upload(machines.second, tower_md=earlier.replace("1971", "long ago"), towers_jsonl=lines).json()

    assert {file["name"] for file in taken["skipped"]} == {"tower.md", "towers.jsonl"}
    assert all("refused 1 of its passages" in file["reason"] for file in taken["skipped"])
    assert (taken["written"], {name: passages for name, (_, passages) in machines.listed().items()}) == (
        1, {"tower.md": 1, "towers.jsonl": 1}
    )  # fmt: skip
    assert records(cluster) == {"tower.md": len(earlier), "towers.jsonl": len(lines)}


def test_feedback_of_both_servers_is_a_list_in_order_of_arrival(machines: Machines):
    assert [*read_feedback()] == []
    for number in range(6):
        feedback = {"rating": "up", "index": PRESS, "result": {"question": f"Question {number}", "answer": "Ada"}}
        assert machines.both[number % 2].post("/feedback", json=feedback).status_code == 200

    records = [record for record in read_feedback() if record]
    assert [(record.result.question[-1], record.key, record.collection) for record in records] == [
        (str(number), "ada", PRESS) for number in range(6)
    ]


def test_of_two_uploads_of_a_name_at_once_one_wins(machines: Machines, cluster: Elasticsearch):
    machines.upload(machines.first, tower_txt="The tower of nobody.")
    for number in range(5):
        texts = [f"The tower of {name}, number {number}. " * 300 for name in ("Ada", "Bea")]
        with ThreadPoolExecutor(2) as pool:
            sent = [
                pool.submit(machines.upload, machine, tower_txt=text)
                for machine, text in zip(machines.both, texts, strict=True)
            ]
        replies = [reply.result().json() for reply in sent]

        assert [reply["replaced"] for reply in replies] == [reply["written"] for reply in replies]
        [(number, passages)] = machines.listed().values()
        opened = machines.first.get(f"/collections/{PRESS}/documents/{number}").json()
        [winner] = [place for place, text in enumerate(texts) if is_fingerprint_of(opened["hash"], text.encode())]
        assert [*records(cluster).values()] == [len(texts[winner])]
        assert passages == opened["of"] == replies[winner]["written"]
        name = ("Ada", "Bea")[winner]
        content = "".join(machines.found(machines.first))
        assert (name in content, ("Bea", "Ada")[winner] in content) == (True, False)


@pytest.mark.parametrize("decided", [True, False])
def test_change_of_a_dead_server_is_ended_or_undone_by_the_next(
    machines: Machines, cluster: Elasticsearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decided: bool
):
    machines.upload(machines.first, tower_md=TOWER)
    (tmp_path / "tower.md").write_text(TOWER.replace("Ada", "Bea"))
    monkeypatch.setattr(shared_uploads, "LEASE_SECONDS", 3.5)
    monkeypatch.setattr(shared_uploads, "_BEAT_SECONDS", 0.1)
    with monkeypatch.context() as dying:
        # A killed process does not release its claim either.
        where, step = (shared_uploads, "_delete") if decided else (SharedChanges, "_check")
        dying.setattr(where, step, Mock(side_effect=KeyboardInterrupt))
        dying.setattr(SharedChanges, "release", lambda self: self.over.set())
        with pytest.raises(KeyboardInterrupt):
            add_uploads(ElasticCollection(PRESS), tmp_path)
    with pytest.raises(Busy, match="still changing"), change_shared(PRESS, wait=0):
        pass

    settle_shared_changes()

    builder = "Bea" if decided else "Ada"
    assert machines.found(machines.second) == [f"Towers\n{builder} built the tower."]
    assert records(cluster) == {"tower.md": len(TOWER)}
    ElasticCollection(PRESS).drop()
    assert records(cluster) == {}


def test_files_of_an_earlier_version_are_deleted_by_a_change(machines: Machines, cluster: Elasticsearch):
    machines.upload(machines.first, tower_md=TOWER, board_txt="The board.")
    for collection in (PRESS, FRESH):
        part = {"kind": "part", "collection": collection, "change": "a", "data": "QWRh"}
        cluster.index(index=UPLOAD_INDEX, id=f"a:part:{collection}", document=part)

    machines.second.delete(f"/collections/{PRESS}/documents/{machines.listed()['board.txt'][0]}")

    cluster.delete(index=UPLOAD_INDEX, id=f"a:part:{FRESH}")
    assert records(cluster) == {"tower.md": len(TOWER)}
