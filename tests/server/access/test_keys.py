"""The keys of the service are kept as hashes and read again if their file changes; a lost file opens nothing."""

import errno
import hashlib
import hmac
import json
import logging
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from elasticsearch import NotFoundError
from starlette.testclient import TestClient

from prefrag.errors import BadInput, Missing
from prefrag.server.access import keys
from prefrag.server.access.key_index import KeyIndex, KeysUnreadable
from prefrag.server.access.keys import Access, Keyring, add_key, keys_file, read_keys, revoke_key
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search

Serve = Callable[..., TestClient]
QUESTION = {"question": "In which year did the yard that built alpha win the prize?"}
TODAY = datetime.now(UTC).date()


def change(**fields: Any) -> None:
    """Change fields of the first key in the file, as a person with an editor would."""
    content = json.loads(keys_file().read_text())
    content["keys"][0] |= fields
    keys_file().write_text(json.dumps(content), encoding="utf-8")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


class TestAKey:
    def test_is_random_and_found_by_scanners_and_stored_as_a_hash(self):
        first, second = add_key("ada"), add_key("ben")

        assert first.startswith("prefrag_")
        assert len(first) == len("prefrag_") + 43
        assert first != second
        kept = keys_file().read_text()
        assert first not in kept
        assert first.removeprefix("prefrag_") not in kept
        assert f'"ending": "{first[-4:]}"' in kept
        assert read_keys()[0].hash == hashlib.sha256(first.encode()).hexdigest()
        assert Keyring().find(read_keys()[0].hash) is None

    def test_lies_in_a_private_file_where_the_administrator_says(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        assert keys_file().name == "keys.json"
        monkeypatch.setenv("PREFRAG_KEYS_FILE", str(tmp_path / "secret" / "mine.json"))
        add_key("ada")
        add_key("ben")

        assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
        # Writing leaves only the lock.
        assert {file.name for file in (tmp_path / "secret").iterdir()} == {"mine.json", "mine.json.lock"}

    def test_allows_what_it_was_made_for_and_by_default_reading_all(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_API_KEYS", "first, second")
        secret = add_key("ada", ["papers", "board"], web=False, writes=True)
        assert Keyring().find(secret) == Access("ada", frozenset({"papers", "board"}), writes=True, web=False)
        assert Keyring().find(add_key("ben")) == Access("ben", None, writes=False, web=True)
        assert Keyring().find("second") == Access("environment:2", deploys=True)

    def test_works_on_its_last_day_and_is_not_made_for_a_past_one(self):
        with pytest.raises(BadInput, match="is past"):
            add_key("ada", expires=date(2020, 1, 1))
        assert not keys_file().exists()
        secret = add_key("ada", expires=TODAY)
        assert Keyring().find(secret) is not None
        change(expires=str(TODAY - timedelta(days=1)))
        assert Keyring().find(secret) is None

    @for_each(
        "name, collections",
        *((name, []) for name in ("", " ", "a b", "a\nb", "ada\n", "\x1b[31m", "../ada", "environment:1", "-ada")),
        *((name, []) for name in ("ä", "a" * 65, "\ud800")),
        *(("ada", ["papers", name]) for name in ("", "..", "../up", "a/b", "a b")),
    )
    def test_has_a_plain_name_and_collections_that_can_exist(self, name: str, collections: list[str]):
        with pytest.raises(BadInput, match="have names of"):
            add_key(name, collections)

    def test_keeps_its_name_to_itself_and_an_unknown_is_not_revoked(self):
        add_key("ada")

        with pytest.raises(BadInput, match="There is a key 'ada' already"):
            add_key("ada")
        with pytest.raises(Missing, match="no key 'ben'"):
            revoke_key("ben")
        assert len(read_keys()) == 1

    def test_is_not_lost_where_several_are_made_at_once(self):
        names = [f"key{number}" for number in range(8)]

        with ThreadPoolExecutor(8) as pool:
            secrets = list(pool.map(add_key, names))

        keyring = Keyring()
        assert sorted(key.name for key in read_keys()) == names
        assert [keyring.find(secret).key for secret in secrets] == names  # type: ignore[union-attr]

    def test_is_compared_as_a_whole_with_every_other(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_API_KEYS", "first, second")
        secret = add_key("ada")
        add_key("ben")
        keyring, compared = Keyring(), []
        compare = hmac.compare_digest
        monkeypatch.setattr(hmac, "compare_digest", lambda *both: compared.append(both) or compare(*both))

        assert keyring.find("first").key == "environment:1"  # type: ignore[union-attr]
        assert keyring.find(secret).key == "ada"  # type: ignore[union-attr]
        assert keyring.find("wrong") is None
        assert len(compared) == 12
        assert {len(text) for both in compared for text in both} == {64}


class TestTheFile:
    def test_is_not_read_again_otherwise(self, monkeypatch: pytest.MonkeyPatch):
        secret = add_key("ada")
        keyring = Keyring()
        monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("it was read"))

        assert keyring.find(secret) is not None

    @pytest.mark.parametrize(
        "damage",
        [
            b"",
            b"{",
            b"[]",
            b"\xff\xfe",
            b'{"keys": [{"name": "ada"}]}',
            b'{"keys": {}}',
            b" " * 1_000_001,
            b'{"keys": [], "more": 1}',
        ],
    )
    def test_refuses_every_key_when_it_is_damaged(self, damage: bytes, caplog: pytest.LogCaptureFixture):
        secret = add_key("ada")
        keyring = Keyring()
        keys_file().write_bytes(damage)

        with caplog.at_level(logging.ERROR):
            assert [keyring.find(secret) for _ in range(3)] == [None] * 3

        assert keyring.is_required
        (line,) = caplog.messages
        assert str(keys_file()) in line
        assert "prefrag keys add" in line

    @pytest.mark.parametrize(
        "fields", [{"web": "no"}, {"collections": "papers"}, {"collections": []}, {"expires": "soon"}, {"reads": False}]
    )
    def test_refuses_a_restriction_that_it_does_not_understand(self, fields: dict[str, Any]):
        secret = add_key("ada")
        change(**fields)

        assert Keyring().find(secret) is None

    def test_that_is_damaged_is_not_written_over_and_can_return(self, monkeypatch: pytest.MonkeyPatch):
        """Other keys are left alone; it works again once it is restored."""

        monkeypatch.setenv("PREFRAG_API_KEYS", "first")
        secret = add_key("ada")
        keyring = Keyring()
        whole = keys_file().read_bytes()
        keys_file().write_bytes(b"{")

        assert keyring.find(secret) is None
        assert Keyring().find("first") is not None
        for attempt in (lambda: add_key("ben"), lambda: revoke_key("ada"), read_keys):
            with pytest.raises(BadInput, match="cannot be read"):
                attempt()
        assert keys_file().read_bytes() == b"{"

        keys_file().write_bytes(whole)
        assert keyring.find(secret) is not None

    def test_that_could_not_be_opened_for_a_moment_is_read_again(self, monkeypatch: pytest.MonkeyPatch):
        secret = add_key("ada")
        keyring = Keyring()
        add_key("ben")
        error = OSError(errno.EMFILE, "Too many open files")
        with monkeypatch.context() as broken:
            broken.setattr(Path, "open", Mock(side_effect=error))
            assert keyring.find(secret) is None

        assert keyring.find(secret) == Access("ada")

    def test_that_vanishes_or_cannot_be_opened_leaves_keys_required(self, caplog: pytest.LogCaptureFixture):
        secret = add_key("ada")
        keyring = Keyring()
        keys_file().unlink()
        assert keyring.find(secret) is None
        assert keyring.find("") is None
        assert keyring.is_required
        assert caplog.text.count("is gone: all of its keys") == 1
        keys_file().mkdir()
        keyring = Keyring()
        assert keyring.is_required
        assert keyring.find("anything") is None
        assert "cannot be read" in caplog.text

    def test_that_the_administrator_names_has_to_be_there(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        assert not Keyring().is_required

        monkeypatch.setenv("PREFRAG_KEYS_FILE", str(tmp_path / "unmounted" / "keys.json"))

        assert Keyring().is_required
        assert not Keyring().has_keys


class TestKeysThatServersShare:
    @pytest.fixture
    def document(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """The keys' document in the index: None, the keys, or the failure to read it."""
        kept: list[Any] = [None]

        def read(self: KeyIndex) -> Any:
            if isinstance(kept[0], Exception):
                raise kept[0]
            return kept[0], {"if_seq_no": len(kept)}

        def replace(self: KeyIndex, document: Any, version: dict[str, int]) -> bool:
            if is_current := version == {"if_seq_no": len(kept)}:
                kept[0:1] = [document, None]
            return is_current

        monkeypatch.setenv("PREFRAG_STATE", "elasticsearch")
        monkeypatch.setattr(KeyIndex, "read", read)
        monkeypatch.setattr(KeyIndex, "replace", replace)
        monkeypatch.setattr(keys, "_INDEX_SECONDS", 0.0)
        return kept

    def test_close_an_unaware_server_and_end_with_their_revocation(self, document: list[Any], serve: Serve):
        client, local = serve(), {"Host": "localhost"}
        assert client.get("/access", headers=local).status_code == 200

        secret = add_key("ada")
        assert secret not in str(document)
        assert not keys_file().exists()
        assert client.get("/access", headers=local).status_code == 401
        assert client.get("/access", headers=bearer(secret)).json()["key"] == "ada"

        revoke_key("ada")
        assert client.get("/access", headers=bearer(secret)).status_code == 401
        document[0] = None
        assert client.get("/access", headers=local).status_code == 401

    def test_that_are_unreadable_admit_only_keys_of_the_environment(
        self, document: list[Any], serve: Serve, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PREFRAG_API_KEYS", "first")
        client = serve()
        secret = add_key("ada")
        for failure in (KeysUnreadable("No answer."), {"keys": [{"name": "ada"}]}):
            kept, document[0] = document[0], failure
            closed = client.get("/access", headers=bearer(secret))

            assert (closed.status_code, "cannot be read" in closed.json()["detail"]) == (503, True)
            assert client.get("/access", headers=bearer("first")).status_code == 200
            assert (client.get("/live").status_code, Keyring().is_required) == (200, True)
            document[0] = kept
        assert client.get("/access", headers=bearer(secret)).status_code == 200

    def test_are_none_only_where_elasticsearch_itself_says_so(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_STATE", "elasticsearch")
        replies: list[tuple[str, Any, Any]] = [
            ("index_not_found_exception", {"error": {"type": "index_not_found_exception"}}, None),
            ("{}", {"_index": "prefrag-keys", "found": False}, {"keys": []}),
            ("", "<h1>Not found: no index of this name</h1>", KeysUnreadable),
        ]
        for message, body, expected in replies:
            index = KeyIndex()
            absent = Mock(get=Mock(side_effect=NotFoundError(message, Mock(status=404), body)))
            index._client = Mock(options=Mock(return_value=absent))
            try:
                found: Any = index.read()[0]
            except KeysUnreadable as error:
                found = type(error)
            assert found == expected

    def test_take_the_place_of_a_file_which_leaves_them_required(
        self, document: list[Any], monkeypatch: pytest.MonkeyPatch
    ):
        with monkeypatch.context() as earlier:
            earlier.setenv("PREFRAG_STATE", "files")
            add_key("ada")

        assert (Keyring().is_required, Keyring().has_keys) == (True, False)
        monkeypatch.setenv("PREFRAG_KEYS_FILE", str(keys_file()))
        with pytest.raises(BadInput, match="unset one of them"):
            Keyring()


class TestARunningServer:
    @pytest.fixture
    def client(self, serve: Serve) -> TestClient:
        return serve(search("alpha"), answer("1974"))

    def test_takes_a_new_key_and_refuses_a_revoked_one(self, client: TestClient):
        access = client.get("/access", headers={"Host": "localhost"}).json()
        assert access == {"key": None, "web": True, "writes": False, "needs_key": False, "started": False}

        secret = add_key("ada", writes=True)
        assert client.get("/access", headers={"Host": "localhost"}).status_code == 401
        access = client.get("/access", headers=bearer(secret)).json()
        assert access == {"key": "ada", "web": True, "writes": True, "needs_key": True, "started": False}
        assert client.post("/prefrag/run", json=QUESTION, headers=bearer(secret)).status_code == 200

        revoke_key("ada")
        assert client.post("/prefrag/run", json=QUESTION, headers=bearer(secret)).status_code == 401
        # If the file holds no keys, a key is still required.
        assert client.get("/access", headers={"Host": "localhost"}).status_code == 401
        assert (Keyring().is_required, Keyring().has_keys) == (True, False)

    def test_says_a_key_has_no_web_and_is_closed_on_a_damaged_file(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ):
        """Also if the file vanishes."""

        closed, opened = add_key("ada", web=False), add_key("ben")
        assert client.get("/access", headers=bearer(closed)).json()["web"] is False
        assert client.get("/access", headers=bearer(opened)).json()["web"] is True
        monkeypatch.setenv("PREFRAG_WEB", "off")
        assert client.get("/access", headers=bearer(opened)).json()["web"] is False

        keys_file().write_bytes(b"{")
        assert client.get("/access", headers=bearer(opened)).status_code == 401
        os.remove(keys_file())
        assert client.get("/access", headers={"Host": "localhost"}).status_code == 401
        assert client.get("/live").status_code == 200

    def test_lets_only_the_keys_of_the_environment_deploy(self, serve: Serve, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_OPEN_DEPLOY", "on")
        monkeypatch.setenv("PREFRAG_API_KEYS", "first, second")
        client, secret = serve(), add_key("ada", writes=True)

        wrong = ["", "Bearer ", "Bearer first, second", "Basic second", "second", "Bearer sec\u00f6nd"]
        for headers in ({b"authorization": header.encode("latin-1")} for header in wrong):
            response = client.post("/deploy_files", json={}, headers=headers)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
        assert client.post("/deploy_files", json={}, headers=bearer(secret)).status_code == 403
        # The first route exists and refuses the empty body; the second is open to nobody, so it does not exist.
        assert client.post("/deploy_files", json={}, headers=bearer("second")).status_code == 422
        assert client.post("/v1/files", json={}, headers=bearer("first")).status_code == 404
