"""Collections and their documents over HTTP, on real indexes."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import httpx
import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.collections import indexing
from prefrag.collections.changes import uploaded_files
from prefrag.collections.changes.uploads import add_uploads
from prefrag.collections.collection import Collection
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import index_lock
from prefrag.components.document_stores.proof import READER, keep_proof
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import data_directory, index_path, resolve_index
from prefrag.evaluation.prove.proof import file_marks, reader_version
from prefrag.server.access.keys import ANYONE, AT_TERMINAL, OWNER, Access, add_key
from prefrag.server.library import collection_routes, opened_document, uploads
from prefrag.server.library.indexing_process import IndexingFailed, IndexingProcesses
from tests.components.document_stores.tantivy.passages import damage
from tests.for_each import for_each
from tests.indexes import index_of
from tests.indexing.pdfs import make_pdf
from tests.server.keyed import (
    WRITER,
    Client,
    as_writer,
    in_shared_application,
    index_here,
    make_index,
    serving,
    write_pipeline,
)
from tests.server.serving import listening, stop

MULTIPART = "multipart/form-data; boundary=x"
FIELD = b"--x\r\nContent-Disposition: form-data; "
FORM = FIELD + b'name="files"; filename="tower.md"\r\n\r\n# Towers\n\nAda built the tower.\n\r\n--x--\r\n'
TOWER = "# Towers\n\nAda built the tower.\n"


# The path at which the command line indexed the document of the served index.
BOARD = Path("/srv/own/board.md")


@pytest.fixture(scope="module")
def tower(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A pipeline that searches for `tower` once."""
    file = write_pipeline(tmp_path_factory.mktemp("yaml"))
    return pipelines.load(file), file


@pytest.fixture(autouse=True)
def served_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index made by the command line; all other names may be used, too."""
    monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")
    monkeypatch.delenv("PREFRAG_WEB")
    monkeypatch.setattr(IndexingProcesses, "index", index_here)
    meta = {"file_path": str(BOARD), "file_hash": "1", "split_count": 1, "title": "Board"}
    index_of([Document(id="board", content="The board met in May.", meta=meta)], index_path("default"))


@pytest.fixture
def client(tower: tuple[Any, Path]) -> Iterator[Client]:
    """A client with a key that may write."""
    with in_shared_application(*tower) as served:
        served.access = WRITER
        yield served


def kept(collection: str) -> dict[str, str]:
    """The uploaded files of a collection, with their texts."""
    folder = LocalCollection(collection).uploads
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*/[!.]*")}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Two events: the indexing of an upload has begun, and it may end."""
    begun, may_end = threading.Event(), threading.Event()

    def wait(self: Any, collection: Collection, incoming: Path) -> Any:
        begun.set()
        assert may_end.wait(30)
        return add_uploads(collection, incoming)

    monkeypatch.setattr(IndexingProcesses, "index", wait)
    return begun, may_end


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "It did not happen within 30 seconds."
        time.sleep(0.01)


class TestWeb:
    @for_each("answer", True, False)
    def test_whoever_started_the_server_decides_on_the_page(self, client: Client, answer: bool):
        LocalCollection("default").keep_consent(not answer)
        client.access = AT_TERMINAL

        reply = client.put("/collections/default/web", json={"open": answer})

        assert (reply.status_code, reply.json()) == (200, {"web": answer})
        [listed] = client.get("/collections").json()["collections"]
        assert (listed["web"], listed["opens_web"]) == (answer, True)

    @for_each("access", ANYONE, OWNER, WRITER, Access("page:token", writes=True), Access("page", is_owner=True))
    def test_nobody_else_decides(self, client: Client, access: Access):
        client.access = access

        reply = client.put("/collections/default/web", json={"open": True})

        assert reply.status_code == 403
        assert "Only whoever started the server" in reply.json()["detail"]
        assert not any(each["web"] or each["opens_web"] for each in client.get("/collections").json()["collections"])

    @for_each("setting", "on", "off", "ask")
    def test_a_setting_decides_for_all_collections(self, client: Client, monkeypatch: pytest.MonkeyPatch, setting: str):
        client.access = AT_TERMINAL
        monkeypatch.setenv("PREFRAG_WEB", setting)

        reply = client.put("/collections/default/web", json={"open": True})

        assert (reply.status_code, LocalCollection("default").read_consent()) == (422, None)
        assert "PREFRAG_WEB decides" in reply.json()["detail"]
        [listed] = client.get("/collections").json()["collections"]
        assert listed["opens_web"] is False

    @for_each("body", {}, {"open": "yes"}, {"open": 1}, {"open": True, "all": True}, [True])
    def test_a_decision_is_true_or_false(self, client: Client, body: object):
        client.access = AT_TERMINAL

        assert client.put("/collections/default/web", json=body).status_code == 422
        assert LocalCollection("default").read_consent() is None

    @for_each("name, status", ("absent", 404), ("demo", 404))
    def test_there_is_none_for_a_missing_collection(self, client: Client, name: str, status: int):
        client.access = AT_TERMINAL

        assert client.put(f"/collections/{name}/web", json={"open": True}).status_code == status


class TestList:
    def test_names_readable_collections_and_if_the_key_may_write(self, client: Client):
        make_index("maps", "One.", "Two.")
        make_index("broken", "One.")
        damage(index_path("broken"), "store")

        same = {"web": False, "writes": True, "follows": False, "opens_web": False, "unread": 0}
        listed = client.get("/collections").json()

        assert [datetime.fromisoformat(each.pop("changed")).tzinfo for each in listed["collections"]] == [UTC, UTC]
        assert listed == {
            "takes_new": True,
            "collections": [
                {"name": "default", "default": True, "files": 1, "passages": 1, **same},
                {"name": "maps", "default": False, "files": 0, "passages": 2, **same},
            ],
        }
        client.access = Access("ada")
        assert [each["writes"] for each in client.get("/collections").json()["collections"]] == [False, False]

    @for_each("setting, web", ("on", True), ("off", False), ("ask", False), ("", True))
    def test_says_whether_questions_may_go_to_the_web(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, setting: str, web: bool
    ):
        TantivyDocumentStore(index="default").keep_web_consent(True)
        monkeypatch.setenv("PREFRAG_WEB", setting)

        assert [each["web"] for each in client.get("/collections").json()["collections"]] == [web]

    def test_names_the_followed_folder_to_a_local_user_alone(self, client: Client, tmp_path: Path):
        LocalCollection.of_folder(tmp_path)

        told = {}
        for access in (WRITER, ANYONE, OWNER, AT_TERMINAL):
            client.access = access
            [listed] = [one for one in client.get("/collections").json()["collections"] if one["follows"]]
            told[access] = listed.get("path")

        assert told == {WRITER: None, ANYONE: None, OWNER: str(tmp_path), AT_TERMINAL: str(tmp_path)}

    @for_each("setting, writes, takes", ("all", True, True), ("maps", True, False), ("", True, False))
    def test_offers_new_collections_only_where_it_takes_them(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, setting: str, writes: bool, takes: bool
    ):
        monkeypatch.setenv("PREFRAG_COLLECTIONS", setting)
        client.access = Access("ada", writes=writes)

        offered = client.get("/collections").json()["takes_new"]

        assert offered is takes
        assert (client.upload("brand-new", tower_md=TOWER).status_code == 200) is offered

    def test_a_key_for_some_collections_makes_no_new_one(self, client: Client):
        client.access = Access("ada", frozenset({"default"}), writes=True)

        assert client.get("/collections").json()["takes_new"] is False
        assert client.upload("brand-new", tower_md=TOWER).status_code == 404

    def test_names_the_documents_but_not_where_they_lie(self, client: Client):
        client.upload("default", tower_md=TOWER)

        response = client.get("/collections/default/documents")

        documents = {each.pop("name"): each for each in response.json()["documents"]}
        assert documents["board.md"]["uploaded"] is False
        assert documents["tower.md"]["uploaded"] is True
        tower = documents["tower.md"]
        assert (tower["passages"], tower["kind"], tower["size"]) == (1, "markdown", len(TOWER))
        assert tower["modified"] <= "9999"
        assert {each["folder"] for each in documents.values()} == {""}
        assert str(BOARD.parent) not in response.text
        assert os.environ["PREFRAG_DATA_DIR"] not in response.text
        assert client.get("/collections/absent/documents").status_code == 404

    def test_names_relative_folders_and_what_could_not_be_read(self, client: Client, tmp_path: Path):
        for name, text in {"a.txt": "One.", "letters/2024/b.txt": "Two.", "letters/empty.txt": ""}.items():
            (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "own" / name).write_text(text, encoding="utf-8")
        indexing.index([tmp_path / "own"], LocalCollection("own"))

        response = client.get("/collections/own/documents")

        listed = response.json()
        assert {each["name"]: each["folder"] for each in listed["documents"]} == {"a.txt": "", "b.txt": "letters/2024"}
        assert listed["failed"] == [{"name": "empty.txt", "folder": "letters", "reason": "it is empty"}]
        assert str(tmp_path) not in response.text

        kept = {str(tmp_path / "own" / "a.txt"): f"read in part: {tmp_path}/fonts is absent"}
        (index_path("own") / "prefrag-skipped.json").write_text(json.dumps(kept), encoding="utf-8")
        [failed] = client.get("/collections/own/documents").json()["failed"]
        assert failed["reason"] == "read in part: fonts is absent"

    def test_come_in_pages_if_a_limit_is_given_and_whole_if_none_is(self, client: Client, tmp_path: Path):
        for number in range(5):
            (tmp_path / f"{number}.txt").write_text(f"Note {number}.", encoding="utf-8")
        indexing.index([tmp_path], LocalCollection("own"))
        whole = client.get("/collections/own/documents").json()

        listed: list[Any] = []
        places: list[Any] = [0]
        while places[-1] is not None and len(places) < 9:
            part = client.get(f"/collections/own/documents?limit=2&offset={places[-1]}").json()
            listed += part["documents"]
            places.append(part["next"])

        assert whole.keys() == {"documents", "failed"}
        assert (listed, places) == (whole["documents"], [0, 2, 4, None])
        assert client.get("/collections/own/documents?limit=2&offset=99").json()["documents"] == []
        for wrong in ("limit=0", "limit=-1", "offset=-1", "limit=x"):
            assert client.get(f"/collections/own/documents?{wrong}").status_code == 422, wrong

    def test_an_uploaded_file_is_asked_about_alone_by_its_hash(self, client: Client):
        client.upload("default", other_md="# Other towers\n\nBen built the other tower.\n")
        [taken] = client.upload("default", tower_md=TOWER, photo_raw=b"0").json()["documents"]

        opened = client.get(f"/collections/default/documents/{taken['id']}").json()

        only = {"field": "meta.file_hash", "operator": "in", "value": [opened["hash"]]}
        found = client.ask(filters=only).json()["result"]["documents"]
        assert {each["file"] for each in found} == {"tower.md"}

    def test_of_elasticsearch_fails_while_it_is_down(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Uploads need a place there."""

        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://127.0.0.1:1")
        file = write_pipeline(tmp_path / "yaml", local="prefrag_elasticsearch")
        with in_shared_application(pipelines.load(file), file) as client:
            client.access = WRITER
            listed, refused = client.get("/collections"), client.upload("default", tower_md=TOWER)
            monkeypatch.setenv("PREFRAG_STATE", "elasticsearch")
            failed, wrong = client.upload("default", tower_md=TOWER), client.upload("Default", tower_md=TOWER)

        assert [one.status_code for one in (listed, refused, failed, wrong)] == [500, 422, 500, 404]
        assert "PREFRAG_STATE=elasticsearch on each server" in refused.json()["detail"]
        assert "No Elasticsearch answers at (withheld)" in failed.json()["detail"]
        assert kept("default") == {}

    def test_questions_are_made_beside_requests_once_for_a_state(self, client: Client):
        client.upload("halls", hall_md="# North Hall\n\nThe North Hall was built in 1966 by the harbour.\n")
        route = "/collections/halls/questions"

        assert client.get(route).json() == {"questions": [], "pending": True}
        wait_until(lambda: not client.get(route).json()["pending"])

        made = {"questions": [{"question": "When was the North Hall built?", "name": "hall.md"}], "pending": False}
        assert client.get(route).json() == made
        with patch("prefrag.server.library.suggested_questions.find_questions", side_effect=AssertionError):
            assert client.get(route).json() == made
        assert client.get("/collections/absent/questions").status_code == 404

    def test_measurement_of_a_collection_is_shown_with_its_date(self, client: Client):
        client.upload("halls", hall_md="# North Hall\n\nThe North Hall was built in 1966 by the harbour.\n")
        assert client.get("/collections/halls/proof").json() == {"sentence": ""}
        marks = file_marks(LocalCollection("halls"))
        measured = {"sentence": "Of 3.", "date": "2026-11-29", "reader": reader_version(), "files": marks}
        keep_proof(resolve_index("halls"), READER, "prefrag", measured)

        assert client.get("/collections/halls/proof").json() == {"sentence": "Of 3. Measured on 2026-11-29."}
        assert client.get("/collections/absent/proof").status_code == 404

    def test_is_in_the_description_of_the_service(self, client: Client):
        paths = client.get("/openapi.json").json()["paths"]

        assert set(paths["/collections"]) == {"get"}
        assert set(paths["/collections/{name}"]) == {"delete"}
        assert set(paths["/collections/{name}/documents"]) == {"get", "post"}
        assert set(paths["/collections/{name}/documents/{document}"]) == {"delete", "get"}
        assert "multipart/form-data" in paths["/collections/{name}/documents"]["post"]["requestBody"]["content"]


class TestOpen:
    LONG = "# Towers\n\n" + "".join(f"## Tower {n}\n\n{'Ada built this tower of stone. ' * 25}\n\n" for n in range(4))

    def test_gives_a_document_in_order_or_what_surrounds_the_passage(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ):
        """The latter of a long one."""

        client.upload("default", tower_md=self.LONG)
        opened = client.get(client.document("default", "tower.md")).json()
        passages = opened.pop("passages")
        assert [each["heading"] for each in passages] == sorted(each["heading"] for each in passages)
        assert " ".join(each["content"] for each in passages).count("Ada built") == 100
        assert (opened["name"], opened["kind"], opened["of"], opened["first"]) == ("tower.md", "markdown", 5, 1)
        assert (opened["file"], opened["original"]) == ("same", True)
        by_passage = client.get(f"/collections/default/passages/{passages[3]['id']}").json()
        assert by_passage == {**opened, "passages": passages}
        assert os.environ["PREFRAG_DATA_DIR"] not in json.dumps(by_passage)
        monkeypatch.setattr(opened_document, "MOST_PASSAGES", 3)
        around = client.get(f"/collections/default/passages/{passages[-1]['id']}").json()
        assert (around["first"], around["of"], len(around["passages"])) == (3, 5, 3)

    def test_says_that_the_file_has_changed_or_is_gone(self, client: Client):
        client.upload("default", tower_md=TOWER)
        route = client.document("default", "tower.md")
        [file] = LocalCollection().uploads.glob("*/tower.md")

        file.write_text("# Other", encoding="utf-8")
        assert client.get(route).json()["file"] == "changed"
        assert client.get(f"{route}/original").text == "# Other"

        file.unlink()
        file.symlink_to("/etc/passwd")
        opened = client.get(route).json()
        assert (opened["file"], opened["original"], len(opened["passages"])) == ("gone", False, 1)
        assert client.get(f"{route}/original").status_code == 404

    @for_each("version", "prefrag-3", "prefrag-12")
    def test_a_file_that_another_version_read_has_not_changed(self, client: Client, tmp_path: Path, version: str):
        file = tmp_path / f"{version}.md"
        file.write_text(TOWER, encoding="utf-8")
        stored = hashlib.blake2b(TOWER.encode(), digest_size=16, person=version.encode()).hexdigest()
        meta = {"file_path": str(file), "file_hash": stored, "split_id": 0}
        index_of([Document(id="own", content="Ada built it.", meta=meta)], index_path(version))

        assert client.get(f"/collections/{version}/passages/own").json()["file"] == "same"
        file.write_text(TOWER.replace("Ada", "Bea"), encoding="utf-8")
        assert client.get(f"/collections/{version}/passages/own").json()["file"] == "changed"

    def test_says_nothing_of_a_file_of_which_no_hash_is_stored(self, client: Client, tmp_path: Path):
        file = tmp_path / "tower.md"
        file.write_text(TOWER, encoding="utf-8")
        own = Document(id="own", content="Ada built it.", meta={"file_path": str(file), "split_id": 0})
        index_of([own], index_path("own"))

        opened = client.get("/collections/own/passages/own").json()

        assert (opened["file"], opened["original"]) == (None, True)

    def test_gives_the_file_as_an_attachment_that_runs_nothing(self, client: Client):
        client.upload("default", page_html="<script>alert(1)</script><p>Ada built the tower of stone.</p>")

        response = client.get(f"{client.document('default', 'page.html')}/original")

        assert response.headers["content-type"] == "application/octet-stream"
        assert response.headers["content-disposition"] == 'attachment; filename="page.html"'
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"

    def test_gives_files_to_other_machines_only_where_that_is_set(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ):
        client.upload("default", tower_md=TOWER)
        route = client.document("default", "tower.md")
        monkeypatch.setattr(collection_routes, "comes_from_this_machine", lambda scope: False)

        assert client.get(f"{route}/original").status_code == 403
        assert client.get(f"{route}/pages/1").status_code == 403
        assert client.get(route).json()["original"] is False
        monkeypatch.setenv("PREFRAG_ORIGINALS", "on")
        assert client.get(f"{route}/original").text == TOWER

    def test_tells_what_of_the_file_could_not_be_read(self, client: Client):
        pytest.importorskip("pypdfium2", reason="the extra 'files' is not installed")
        client.upload("default", keel_pdf=make_pdf(["The keel is laid.", None]), tower_md=TOWER)

        opened = [client.get(client.document("default", name)).json() for name in ("keel.pdf", "tower.md")]

        assert [one.get("loss", "")[:35] for one in opened] == ["pictures without text on page 2: `o", ""]

    def test_draws_the_pages_of_a_pdf(self, client: Client):
        pytest.importorskip("pypdfium2", reason="the extra 'files' is not installed")
        client.upload("default", keel_pdf=make_pdf(["The keel is laid."]), tower_md=TOWER)
        route = client.document("default", "keel.pdf")

        drawn = client.get(f"{route}/pages/1", params={"sentence": "The keel is laid."}).json()

        assert (drawn["page"], len(drawn["marks"])) == (1, 1)
        refused = client.get(f"{route}/pages/2")
        assert (refused.status_code, "it has 1 page" in refused.json()["detail"]) == (422, True)
        assert client.get(f"{client.document('default', 'tower.md')}/pages/1").status_code == 422

    def test_opens_nothing_absent_or_closed_to_the_key(self, client: Client):
        """A collection that the key may not read is closed."""

        client.upload("default", tower_md=TOWER)
        for absent in ("documents/none", "documents/none/original", "passages/none", "passages/a/../b"):
            response = client.get(f"/collections/default/{absent}")
            assert response.status_code == 404
            assert "no such" in response.json()["detail"] or response.json()["detail"] == "Not Found"
        route = client.document("default", "tower.md")
        passage = client.get(route).json()["passages"][0]["id"]
        client.access = Access("boole", collections=frozenset({"maps"}))
        others = f"/collections/default/passages/{passage}", "/collections/default/questions"
        for closed in (route, f"{route}/original", f"{route}/pages/1", *others):
            assert client.get(closed).status_code == 404


class TestUpload:
    def test_makes_a_collection_found_at_once_and_kept_from_the_web(self, client: Client):
        response = client.upload("fresh", tower_md=TOWER, notes_txt="Nothing of note.")

        report = response.json()
        assert [each["name"] for each in report.pop("documents")] == ["notes.txt", "tower.md"]
        assert report == {"written": 2, "replaced": 0, "unchanged": 0, "deleted": 0, "skipped": []}
        assert client.found("fresh") == ["Towers\nAda built the tower."]
        assert kept("fresh") == {"tower.md": TOWER, "notes.txt": "Nothing of note."}
        assert TantivyDocumentStore(index="fresh").read_web_consent() is False

    def test_reaches_a_pipeline_in_use_and_keeps_the_web_answer(self, client: Client):
        TantivyDocumentStore(index="default").keep_web_consent(True)
        assert client.found() == []

        client.upload("default", tower_md=TOWER)

        assert client.found() == ["Towers\nAda built the tower."]
        assert TantivyDocumentStore(index="default").read_web_consent() is True

    def test_of_an_unchanged_file_writes_nothing(self, client: Client):
        """Of a changed one it replaces or deletes its passages."""

        lines = [json.dumps({"id": str(n), "text": f"The tower of number {n}."}) for n in range(3)]
        client.upload("fresh", tower_md=TOWER, towers_jsonl="\n".join(lines))
        assert client.upload("fresh", tower_md=TOWER).json()["unchanged"] == 1
        assert client.upload("fresh", tower_md=TOWER.replace("Ada", "Bea")).json()["replaced"] == 1
        assert client.upload("fresh", towers_jsonl=lines[0]).json()["deleted"] == 2
        assert sorted(client.found("fresh")) == ["The tower of number 0.", "Towers\nBea built the tower."]
        assert "Bea" in kept("fresh")["tower.md"]

    def test_that_is_unreadable_is_named_and_leaves_the_earlier_file(self, client: Client):
        client.upload("fresh", photo_raw=b"\x00\x01")
        assert client.get("/collections/fresh/documents").status_code == 404
        assert os.listdir(data_directory() / "uploads") == []

        response = client.upload("fresh", tower_md=TOWER, photo_raw=b"\x00\x01", empty_txt="")
        skipped = {each["name"]: each["reason"] for each in response.json()["skipped"]}
        assert skipped["photo.raw"] == "pictures hold no text"
        assert skipped["empty.txt"] == "it is empty"
        assert [each["name"] for each in response.json()["documents"]] == ["tower.md"]

        client.upload("fresh", tower_md=b"\x00\x00")
        assert kept("fresh") == {"tower.md": TOWER}
        assert client.found("fresh") == ["Towers\nAda built the tower."]

    def test_that_fails_leaves_neither_file_nor_passage(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        client.upload("fresh", tower_md=TOWER)

        failing = Mock(side_effect=IndexingFailed("The disk of /srv/data/index is full.", 500))
        monkeypatch.setattr(IndexingProcesses, "index", failing)
        response = client.upload("fresh", tower_md="Changed.", notes_txt="New.")

        assert (response.status_code, response.json()) == (500, {"detail": "The disk of index is full."})
        assert kept("fresh") == {"tower.md": TOWER}
        assert client.names("fresh") == ["tower.md"]


class TestLeaveToWrite:
    @for_each("access", ANYONE, Access("ada"), Access("ada", frozenset({"default"})))
    def test_is_needed_to_upload_and_delete_and_checked_early(
        self, client: Client, access: Access, monkeypatch: pytest.MonkeyPatch
    ):
        """Before the body is read."""

        monkeypatch.setattr(uploads, "receive_files", lambda *args: pytest.fail("The body was read."))
        document = client.document("default", "board.md")
        client.access = access

        replies = [
            client.upload("default", tower_md=TOWER),
            client.delete(document),
            client.delete("/collections/default"),
        ]

        assert {reply.status_code for reply in replies} == {403}
        assert all("API key that may write" in reply.json()["detail"] for reply in replies)
        assert client.names("default") == ["board.md"]

    def test_reaches_only_collections_of_the_key_and_no_other_site(self, client: Client):
        client.upload("fresh", tower_md=TOWER)
        client.access = Access("ada", frozenset({"default"}), writes=True)
        assert client.upload("fresh", notes_txt="x").status_code == 404
        assert client.upload("other", notes_txt="x").status_code == 404
        assert client.delete("/collections/fresh").status_code == 404
        asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "DELETE"}
        assert client.options("/collections/default", headers=asked).status_code >= 400

    @for_each("name", "default-web", "demo", "a b", "..", "%2e%2e", "x" * 65, "CON", "aux.x")
    def test_reaches_no_name_that_is_none_of_a_collection(self, client: Client, name: str):
        assert client.upload(name, tower_md=TOWER).status_code in (404, 405)
        assert not (data_directory() / "uploads").exists() or os.listdir(data_directory() / "uploads") == []

    def test_comes_with_a_key_of_the_file(self, tower: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch):
        writer = {"Authorization": f"Bearer {add_key('ada', ['fresh'], web=False, writes=True)}"}
        reader = {"Authorization": f"Bearer {add_key('bea')}"}
        monkeypatch.setenv("PREFRAG_WEB", "on")
        with listening(PREFRAG_PIPELINES_DIR=str(tower[1].parent)) as served:
            route = f"{served.address}/collections/fresh/documents"
            files = {"files": ("tower.md", TOWER)}

            statuses = [httpx.post(route, files=files, headers=key).status_code for key in ({}, reader, writer)]
            [seen] = httpx.get(f"{served.address}/collections", headers=writer).json()["collections"]

        assert statuses == [401, 403, 200]
        assert seen.items() >= {"name": "fresh", "files": 1, "passages": 1, "web": False, "writes": True}.items()


class TestDeletion:
    def test_of_an_uploaded_document_takes_passages_and_file_alone(self, client: Client):
        corpus = '{"id": "1", "text": "A."}\n{"id": "2", "text": "B."}'
        client.upload("fresh", tower_md=TOWER, notes_txt="Nothing.", towers_jsonl=corpus)
        for absent in ("0" * 24, "board.md", "..", "a/b"):
            assert client.delete(f"/collections/default/documents/{absent}").status_code in (404, 403)
        assert client.names("default") == ["board.md"]
        response = client.delete(client.document("fresh", "tower.md"))
        assert response.json() == {"deleted": 1, "file": "deleted"}
        assert client.found("fresh") == []
        assert client.delete(client.document("fresh", "towers.jsonl")).json()["deleted"] == 2
        assert list(kept("fresh")) == client.names("fresh") == ["notes.txt"]

    def test_of_a_document_from_elsewhere_leaves_its_file(self, client: Client, tmp_path: Path):
        (tmp_path / "tower.md").write_text(TOWER, encoding="utf-8")
        indexing.index([tmp_path / "tower.md"])

        response = client.delete(client.document("default", "tower.md"))

        assert response.json() == {"deleted": 1, "file": "kept"}
        assert (tmp_path / "tower.md").exists()
        assert client.names("default") == ["board.md"]

        (index_path("default") / "prefrag-folder").write_text(str(tmp_path.resolve()), encoding="utf-8")
        indexing.index([tmp_path / "tower.md"])
        followed = client.delete(client.document("default", "tower.md")).json()
        assert "indexed again when it changes or the server starts again. To keep it out" in followed["note"]
        assert client.get("/collections").json()["collections"][0]["follows"]

    def test_of_a_collection_takes_all_and_lets_it_be_made_again(self, client: Client):
        client.upload("fresh", tower_md=TOWER, notes_txt="Nothing.")
        client.found("fresh")

        assert client.delete("/collections/fresh").json() == {"deleted": 2}
        assert client.ask("fresh").status_code == 404
        assert not index_path("fresh").exists()
        assert os.listdir(data_directory() / "uploads") == []

        client.upload("fresh", tower_md=TOWER.replace("Ada", "Bea"))
        assert client.found("fresh") == ["Towers\nBea built the tower."]

    @pytest.mark.parametrize("name", ["default", "maps"])
    def test_of_what_the_command_line_made_is_refused(self, client: Client, name: str):
        make_index("maps", "A map.")
        client.upload(name, tower_md=TOWER)

        assert client.delete(f"/collections/{name}").status_code == 403
        assert index_path(name).exists()


class TestAtTheSameTime:
    @pytest.fixture
    def client(self, tower: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
        monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tower[1].parent))
        with serving() as served:
            served.access = WRITER
            yield served

    def test_a_question_is_answered_during_an_upload(self, client: Client, request: pytest.FixtureRequest):
        client.upload("fresh", tower_md=TOWER)
        begun, may_end = request.getfixturevalue("held")

        with ThreadPoolExecutor(1) as pool:
            upload = pool.submit(client.upload, "fresh", notes_txt="The tower again.")
            assert begun.wait(30)
            during = client.found("fresh")
            listed = client.names("fresh")
            may_end.set()
            assert upload.result().status_code == 200

        assert (during, listed) == (["Towers\nAda built the tower."], ["tower.md"])
        assert len(client.found("fresh")) == 2

    def test_uploads_all_arrive_and_questions_end_during_a_deletion(self, client: Client):
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda n: client.upload("fresh", **{f"n{n}_txt": f"Tower {n}."}), range(4)))
            names = client.names("fresh")
            client.found("fresh")
            questions = [pool.submit(client.ask, "fresh") for _ in range(6)]
            deleted = client.delete("/collections/fresh")

        assert [reply.status_code for reply in replies] == [200] * 4
        assert sorted(names) == [f"n{n}.txt" for n in range(4)]
        assert deleted.status_code == 200
        # An answer, no answer, or no source that could be searched; no other failure.
        assert {question.result().status_code for question in questions} <= {200, 404, 502}

    def test_changes_wait_only_so_long(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(uploaded_files, "WAIT_SECONDS", 0.2)
        document = client.document("default", "board.md")

        with index_lock("uploads-default"):
            replies = [client.upload("default", tower_md=TOWER), client.delete(document)]

        assert [(reply.status_code, reply.headers["retry-after"]) for reply in replies] == [(503, "10")] * 2
        assert client.names("default") == ["board.md"]
        assert client.delete(document).status_code == 200
        assert os.listdir(data_directory() / "uploads") == []


class TestRoom:
    @pytest.mark.parametrize(
        ("setting", "most", "collection"),
        [("COLLECTION_FILES", "1", "fresh"), ("COLLECTION_BYTES", "210", "fresh"), ("COLLECTIONS", "1", "second")],
    )
    def test_of_what_is_kept_refuse_an_upload_before_it_is_read(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, setting: str, most: str, collection: str
    ):
        monkeypatch.setenv(f"PREFRAG_MAX_{setting}", most)
        assert client.upload("fresh", tower_md=TOWER).status_code == 200

        with patch.object(uploads, "receive_files") as read:
            refused = client.upload(collection, more_txt=TOWER)

        assert (refused.status_code, f"PREFRAG_MAX_{setting}" in refused.json()["detail"]) == (507, True)
        assert not read.called
        assert client.delete("/collections/fresh").status_code == 200
        assert client.upload(collection, more_txt=TOWER).status_code == 200

    def test_of_a_key_are_its_share_of_the_reads_even_if_it_left(
        self, tower: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch
    ):
        keys = {name: add_key(name) for name in ("ada", "bob")}
        begun, may_end = threading.Semaphore(0), threading.Event()

        def wait(collection: Collection, limit: int | None, offset: int) -> dict[str, Any]:
            begun.release()
            assert may_end.wait(30)
            return {}

        monkeypatch.setattr(collection_routes, "describe_documents", wait)
        monkeypatch.setattr(uploaded_files, "WAIT_SECONDS", 0.2)
        with listening(PREFRAG_PIPELINES_DIR=str(tower[1].parent)) as served, ThreadPoolExecutor() as pool:

            def read(key: str, path: str) -> int:
                headers = {"Authorization": f"Bearer {keys[key]}"}
                return httpx.get(f"{served.address}/collections{path}", headers=headers, timeout=30).status_code

            slow = [pool.submit(read, "ada", "/default/documents") for _ in range(2)]
            assert all(begun.acquire(timeout=30) for _ in slow)
            assert [each.result() for each in slow] == [503, 503]
            statuses = read("ada", "/default/questions"), read("bob", "/default/questions")
            may_end.set()

        assert statuses == (429, 200)

    def test_of_a_key_is_its_bytes_a_day_and_its_share_of_places(
        self, tower: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch, held: tuple[threading.Event, threading.Event]
    ):
        keys = {name: add_key(name, writes=True) for name in ("ada", "bob")}
        monkeypatch.setenv("PREFRAG_UPLOAD_BYTES_A_DAY", "500")
        monkeypatch.setattr(collection_routes, "_UPLOADS_AT_ONCE", 2)
        monkeypatch.setattr(uploaded_files, "WAIT_SECONDS", 0.2)
        monkeypatch.setattr(collection_routes, "_MOST_WAITING", 0)
        begun, may_end = held
        with listening(PREFRAG_PIPELINES_DIR=str(tower[1].parent)) as served, ThreadPoolExecutor() as pool:

            def upload(key: str) -> httpx.Response:
                files = {"files": (f"{key}.md", TOWER)}
                headers = {"Authorization": f"Bearer {keys[key]}"}
                url = f"{served.address}/collections/{key}/documents"
                return httpx.post(url, files=files, headers=headers, timeout=30)

            first = pool.submit(upload, "ada")
            assert begun.wait(30)
            shared = upload("ada")
            begun.clear()
            other = pool.submit(upload, "bob")
            assert begun.wait(30)
            may_end.set()
            assert [first.result().status_code, other.result().status_code] == [200, 200]
            spent = upload("ada")

        assert [shared.status_code, spent.status_code] == [429, 429]
        assert all(word in shared.json()["detail"] for word in ("uploads", "PREFRAG_SHARE"))
        assert "PREFRAG_UPLOAD_BYTES_A_DAY" in spent.json()["detail"]
        assert int(spent.headers["retry-after"]) > 3600


class TestLeaving:
    """A client disconnects, on a real connection."""

    @pytest.fixture
    def address(self, tower: tuple[Any, Path]) -> Iterator[str]:
        with listening(PREFRAG_PIPELINES_DIR=str(tower[1].parent)) as served, as_writer():
            yield served.address

    def send(self, address: str, body: bytes, length: int) -> socket.socket:
        host, _, port = address.removeprefix("http://").partition(":")
        connection = socket.create_connection((host, int(port)), timeout=30)
        head = (
            f"POST /collections/fresh/documents HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        )
        connection.sendall(head.encode() + body)
        return connection

    def test_before_all_has_arrived_leaves_nothing(self, address: str):
        connection = self.send(address, FORM[:-10], len(FORM))
        wait_until(lambda: list(data_directory().glob("uploads/fresh/*/tower.md")))

        connection.close()

        wait_until(lambda: os.listdir(data_directory() / "uploads") == [])
        assert not index_path("fresh").exists()

    def test_once_all_has_arrived_does_not_stop_the_indexing(
        self, address: str, held: tuple[threading.Event, threading.Event]
    ):
        begun, may_end = held
        connection = self.send(address, FORM, len(FORM))
        assert begun.wait(30)
        connection.close()
        may_end.set()

        wait_until(lambda: TantivyDocumentStore(path=str(index_path("fresh"))).count_documents() == 1)
        assert kept("fresh") == {"tower.md": TOWER}


def test_a_server_that_stops_takes_back_what_is_not_indexed(tower: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch):
    begun, stopped = threading.Event(), threading.Event()

    def wait(self: Any, collection: Collection, incoming: Path) -> Any:
        begun.set()
        assert stopped.wait(30)
        raise IndexingFailed("The indexing broke off.", 500)

    monkeypatch.setattr(IndexingProcesses, "index", wait)
    monkeypatch.setattr(IndexingProcesses, "stop", lambda self: stopped.set())
    with listening(PREFRAG_PIPELINES_DIR=str(tower[1].parent), drain=0) as served, as_writer():
        route = f"{served.address}/collections/fresh/documents"
        with ThreadPoolExecutor(1) as pool:
            upload = pool.submit(httpx.post, route, files={"files": ("tower.md", TOWER)}, timeout=30)
            assert begun.wait(30)
            stop(served)
            assert upload.result().status_code == 503

    assert os.listdir(data_directory() / "uploads") == []


class TestLimits:
    def test_of_the_bytes_of_an_upload(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_MAX_UPLOAD_BYTES", "2000000")
        large = b"\x00" * 1_500_000

        assert client.upload("fresh", photo_raw=large).status_code == 200
        response = client.upload("fresh", photo_raw=large, again_raw=large)
        assert (response.status_code, "2,000,000 bytes" in response.json()["detail"]) == (413, True)
        monkeypatch.setenv("PREFRAG_MAX_UPLOAD_BYTES", "0")
        response = client.upload("fresh", a_txt="A.")
        assert (response.status_code, "PREFRAG_MAX_UPLOAD_BYTES" in response.json()["detail"]) == (422, True)

    def test_of_the_bytes_that_a_client_does_not_declare(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_MAX_UPLOAD_BYTES", "1000")
        body = iter([FIELD + b'name="files"; filename="a.txt"\r\n\r\n', *[b"x" * 100] * 100])

        response = client.post("/collections/fresh/documents", content=body, headers={"content-type": MULTIPART})
        assert response.status_code == 413

    def test_of_the_number_of_files_and_of_every_other_body(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(uploads, "MOST_FILES", 2)
        large = "x" * 1_100_000

        response = client.upload("fresh", a_txt="A.", b_txt="B.", c_txt="C.")

        assert (response.status_code, "more than 2 files" in response.json()["detail"]) == (413, True)
        assert client.get("/collections/fresh/documents").status_code == 404
        assert client.post("/collections/fresh/documents", json={"files": large}).status_code == 413
        assert client.post("/prefrag/run", files={"files": large}).status_code == 413


class TestForm:
    @for_each(
        "kind, body, status",
        ("application/json", b"{}", 415),
        ("text/plain", b"x", 415),
        ("multipart/form-data", b"x", 415),
        (MULTIPART, b"", 422),
        (MULTIPART, b"nonsense", 422),
        (MULTIPART, b"--x--\r\n", 422),
        (MULTIPART, FIELD + b'name="files"; filename="a.txt"\r\n\r\nhalf', 422),
        (MULTIPART, FIELD + b'name="title"\r\n\r\nA\r\n--x--\r\n', 422),
        (MULTIPART, b"--x\r\n\r\nA\r\n--x--\r\n", 422),
    )
    def test_that_is_none_is_refused(self, client: Client, kind: str, body: bytes, status: int):
        response = client.post("/collections/fresh/documents", content=body, headers={"content-type": kind})

        assert response.status_code == status
        assert os.listdir(data_directory() / "uploads") == []

    def test_with_two_files_of_one_name_takes_the_first(self, client: Client):
        files = [("files", ("a/x.txt", "First.")), ("files", ("b/x.txt", "Second."))]

        response = client.post("/collections/fresh/documents", files=files)

        assert [each["name"] for each in response.json()["skipped"]] == ["b/x.txt"]
        assert kept("fresh") == {"x.txt": "First."}

    @for_each("names, taken, refused", (["x.txt", "x.txt"], [0], [1]), (["x.raw", "b  c.txt", "b c.txt"], [1], [0, 2]))
    def test_is_answered_by_the_places_of_its_files(
        self, client: Client, names: list[str], taken: list[int], refused: list[int]
    ):
        files = [("files", (name, "Words.")) for name in names]

        report = client.post("/collections/fresh/documents", files=files).json()

        assert [each["position"] for each in report["documents"]] == taken
        assert [each["position"] for each in report["skipped"]] == refused
