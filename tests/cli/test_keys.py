"""`prefrag keys`: keys are made, listed and revoked."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefrag.server.access.keys import Keyring, keys_file
from tests.cli.running import prefrag
from tests.for_each import for_each


@pytest.fixture(autouse=True)
def no_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_key_is_printed_once_alone_and_env_file_tells_its_place(tmp_path: Path):
    result = prefrag("keys", "add", "ada")
    (secret,) = result.stdout.splitlines()
    assert secret.startswith("prefrag_")
    assert "only its hash is stored" in result.stderr
    assert Keyring().find(secret) is not None
    assert secret not in prefrag("keys", "list").stdout
    (tmp_path / ".env").write_text(f"PREFRAG_KEYS_FILE={tmp_path / 'mine.json'}\n")
    prefrag("keys", "add", "ben")
    assert (tmp_path / "mine.json").exists()


def test_a_collection_of_a_key_has_to_exist(tmp_path: Path):
    refused = prefrag("keys", "add", "bob", "--collection", "papers")
    assert refused.exit_code == 2
    assert "There is no collection 'papers'" in refused.stderr

    uploads = prefrag("keys", "add", "bob", "--collection", "papers", "--write")
    assert "the first upload makes it" in uploads.stderr

    (tmp_path / "a.txt").write_text("A heron.")
    prefrag("index", tmp_path / "a.txt", "--index", "maps", "--no-web")
    assert prefrag("keys", "add", "eve", "--collection", "maps").exit_code == 0


def test_an_index_that_is_dropped_names_its_keys(tmp_path: Path):
    (tmp_path / "a.txt").write_text("A heron.")
    prefrag("index", tmp_path / "a.txt", "--index", "maps", "--no-web")
    prefrag("keys", "add", "eve", "--collection", "maps")

    assert "Keys name this collection: eve" in prefrag("collections", "drop", "maps", "--yes").stderr


def test_the_collection_that_is_served_may_be_elsewhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_INDEX", "docs")

    assert prefrag("keys", "add", "ada", "--collection", "docs").exit_code == 0


def test_unreadable_keys_do_not_keep_an_index_from_being_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.txt").write_text("A heron.")
    prefrag("index", tmp_path / "a.txt", "--index", "maps", "--no-web")
    (tmp_path / "keys.json").write_text("[{")
    monkeypatch.setenv("PREFRAG_KEYS_FILE", str(tmp_path / "keys.json"))

    result = prefrag("collections", "drop", "maps", "--yes")

    assert "The keys cannot be read" in result.stderr
    assert "is deleted" in result.stdout


def test_list_shows_permissions_and_no_hash_as_json():
    prefrag("keys", "add", "ada", "--collection", "papers", "--collection", "board", "--no-web", "--write")
    secret = prefrag("keys", "add", "ben", "--expires", "2999-12-31").stdout.strip()

    first, second, total = prefrag("keys", "list").stdout.splitlines()
    key, _ = json.loads(prefrag("keys", "list", "--json").stdout)

    assert first.startswith("ada  ...")
    assert "papers, board; web closed; writes; made 20" in first
    assert second.startswith(f"ben  ...{secret[-4:]}  all collections; web open; reads; made 20")
    assert second.endswith(" UTC; expires 2999-12-31 UTC")
    assert total == "2 keys"
    assert key.keys() == {"name", "ending", "made", "expires", "collections", "web", "writes"}
    assert key["collections"] == ["papers", "board"]


def test_the_last_key_that_is_revoked_leaves_keys_required():
    prefrag("keys", "add", "ada")

    result = prefrag("keys", "revoke", "ada")

    assert "0 left" in result.stdout
    assert "Keys are still required" in result.stderr
    assert Keyring().is_required


@for_each(
    "arguments, code",
    (["add", "a b"], 2),
    (["add", "ada", "--collection", "../up"], 2),
    (["add", "ada", "--expires", "2020-01-01"], 2),
    (["add", "ada", "--expires", "tomorrow"], 2),
    (["revoke", "nobody"], 3),
)
def test_what_cannot_be_done_ends_with_its_code(arguments: list[str], code: int):
    assert prefrag("keys", *arguments).exit_code == code
    assert not keys_file().exists() or not json.loads(keys_file().read_text())["keys"]


class TestServingOtherMachines:
    def test_needs_a_key_of_the_file_or_the_environment_that_works(self, started: dict[str, Any]):
        result = prefrag("serve", "--demo", "--host", "0.0.0.0")
        assert result.exit_code == 2
        assert "prefrag keys add NAME" in result.stderr
        assert not started

        prefrag("keys", "add", "ada")
        assert prefrag("serve", "--demo", "--host", "0.0.0.0").exit_code == 0
        assert started.pop("host") == "0.0.0.0"

        prefrag("keys", "revoke", "ada")
        assert prefrag("serve", "--demo", "--host", "0.0.0.0").exit_code == 2
        assert "host" not in started

    def test_requires_the_file_also_of_workers_that_begin_later(self, started: dict[str, Any]):
        prefrag("keys", "add", "ada")
        prefrag("serve", "--demo")

        keys_file().unlink()
        assert Keyring().is_required
