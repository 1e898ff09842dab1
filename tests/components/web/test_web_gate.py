"""The gate decides which queries are sent and which are held back."""

from dataclasses import replace
from typing import Any

import pytest

from prefrag.components.recording import RECORDING
from prefrag.components.state.state import RunError, Search, State
from prefrag.components.web.web_gate import HeldBack, WebGate
from tests.components.samples import document, search_step, settings, state
from tests.for_each import for_each


def after(*searches: Search) -> State:
    """A run with these searches; only the source `web` is external."""
    return replace(state(replace(search_step(), searches=searches)), settings=settings(external=("web",)))


class TestALimit:
    def test_counts_characters_and_is_at_least_one(self):
        WebGate(max_characters=10).check("web", "x" * 10, None)
        with pytest.raises(HeldBack, match="it has 11 characters, over the limit of 10"):
            WebGate(max_characters=10).check("web", "x" * 11, None)
        with pytest.raises(ValueError, match="max_characters is 0"):
            WebGate(max_characters=0)


class TestASearchBefore:
    @for_each("failed", Search("local", "x", error="gone"), Search("local", "x", provider=RECORDING, error="gone"))
    def test_that_failed_ends_the_run(self, failed: Search):
        with pytest.raises(
            RunError, match="The source 'local' failed: gone. For this reason, the query was not sent to 'web'"
        ) as error:
            WebGate().check("web", "x", after(failed))

        assert [event.kind for event in error.value.state.events] == ["held_back", "error"]

    @for_each(
        "searches",
        (Search("local", "x", provider="BM25"),),
        (Search("local", "x", (document("a"),), provider="Hybrid", error="one part: gone"),),
        (Search("local", "x", skipped=True, error="gone"),),
        (Search("web", "x", error="rate limit"),),
        (Search("local", "x", error="busy"), Search("local", "y", provider="BM25")),
    )
    def test_that_did_not_fail_or_came_after_one_lets_the_query_pass(self, searches: Any):
        WebGate().check("web", "x", after(*(searches if isinstance(searches, tuple) else (searches,))))


@for_each("value, is_open", ("on", True), ("ask", True), ("off", False), ("onn", False), ("", False))
def test_the_environment_decides_where_it_is_set(monkeypatch: pytest.MonkeyPatch, value: str, is_open: bool):
    monkeypatch.setenv("PREFRAG_WEB", value)

    assert WebGate().is_open is is_open


def test_a_closed_web_holds_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PREFRAG_WEB")

    with pytest.raises(HeldBack, match="open it with `prefrag index --web --collection NAME` or PREFRAG_WEB=on"):
        WebGate().check("web", "x", None)


@for_each("query", "rope\U000e0149 making", "rope\u200b making", "rope \u202emaking", "e\u0301")
def test_a_query_that_cannot_all_be_seen_is_held_back(query: str):
    with pytest.raises(HeldBack, match="cannot be seen"):
        WebGate().check("web", query, None)
