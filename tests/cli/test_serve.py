"""`prefrag serve`: what it starts, and what it refuses."""

import os
from typing import Any
from unittest import mock

import pytest

from prefrag.components.document_stores.tantivy.index_location import FOLLOWED_FOLDER_FILE, index_path
from prefrag.pipelines.asking import limit_deadline
from prefrag.server.http import supervisor
from prefrag.server.http.head_limit import HeadLimit
from tests.cli.running import prefrag
from tests.components.document_stores.tantivy.passages import passage
from tests.for_each import for_each
from tests.indexes import index_of


def test_binds_to_this_machine_by_default_and_warns_of_proxies(started: dict[str, Any]):
    result = prefrag("serve", "--demo")

    assert result.exit_code == 0
    assert "Before you put a proxy or tunnel in front of this service" in result.stderr
    assert started["http"] is HeadLimit
    assert (started["host"], started["port"], started["workers"]) == ("127.0.0.1", 1416, 1)
    assert started["app"] == "prefrag.server.app:create_app"


@for_each(
    "options, code, said",
    *((("--demo", "--host", host), 2, "PREFRAG_API_KEYS") for host in ("0.0.0.0", "::", "192.168.1.5", "example.org")),
    (("--pipelines-dir", "nowhere"), 3, "nowhere"),
)
def test_refuses_other_machines_without_key_and_absent_pipelines(
    started: dict[str, Any], options: tuple[str, ...], code: int, said: str
):
    result = prefrag("serve", *options)
    assert result.exit_code == code
    assert said in result.stderr
    assert not started


def test_serves_other_machines_with_a_key(started: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_API_KEYS", "secret")

    result = prefrag("serve", "--demo", "--host", "0.0.0.0", "--workers", 2)

    assert (result.exit_code, "proxy" in result.stderr) == (0, False)
    assert (started["host"], started["workers"]) == ("0.0.0.0", 2)


def test_a_server_that_cannot_start_ends_with_1(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor, "run", mock.Mock(side_effect=SystemExit(3)))

    assert prefrag("serve", "--demo").exit_code == 1


class TestDocuments:
    @for_each("collection, advice", (None, "PREFRAG_INDEX=demo"), ("absent", "--collection absent"))
    def test_of_ones_own_have_to_be_there(
        self, started: dict[str, Any], monkeypatch: pytest.MonkeyPatch, collection: str | None, advice: str
    ):
        if collection:
            monkeypatch.setenv("PREFRAG_INDEX", collection)
        index_of([passage("a", "A heron.")], index_path(f"papers-{collection}"))
        result = prefrag("serve")

        assert result.exit_code == 3
        assert (
            f". Did you mean 'papers-{collection}'?" if collection else ". There are these collections: papers"
        ) in result.stderr
        assert "prefrag index YOUR_FILES" in result.stderr
        assert advice in result.stderr
        assert not started

    @pytest.mark.parametrize(("options", "collection"), [((), "default"), (("--demo",), "demo")], ids=["own", "demo"])
    def test_of_a_user_are_served_once_indexed_unless_demo_is_named(
        self, started: dict[str, Any], options: tuple[str, ...], collection: str
    ):
        index_of([passage("a", "A heron.")], index_path("default"))

        assert prefrag("serve", *options).exit_code == 0
        assert os.environ["PREFRAG_INDEX"] == collection

    def test_of_the_only_folder_are_served_not_in_elasticsearch(
        self, started: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ):
        index_of([passage("a", "A heron.")], index_path("notes"))
        (index_path("notes") / FOLLOWED_FOLDER_FILE).write_text("/notes", encoding="utf-8")

        assert prefrag("serve").exit_code == 0
        assert os.environ["PREFRAG_INDEX"] == "notes"
        monkeypatch.setenv("PREFRAG_INDEX", "")
        both = prefrag("serve", "--pipeline", "prefrag", "--pipeline", "prefrag_elasticsearch")
        assert (both.exit_code, os.environ["PREFRAG_INDEX"]) == (3, "default")


def test_times_can_be_set_and_no_search_needs_no_documents(started: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_DRAIN_SECONDS", "3")
    assert prefrag("serve", "--pipeline", "no_retrieval", "--deadline", "40").exit_code == 0
    assert started["timeout_graceful_shutdown"] == 3
    assert limit_deadline(None) == 40
