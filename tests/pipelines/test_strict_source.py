"""A preferred source that fails, and what becomes of the question."""

from __future__ import annotations

from typing import Any

import pytest

from prefrag import pipelines
from prefrag.pipelines import RunFailed
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, scripted, search

QUESTION = "In which year did the yard that built alpha win the prize?"
METHODS = {"prefrag": "Search_Engine", "prefrag_elasticsearch": "Search_Engine", "mspr": "Search_Local"}


def broken(method: str, **settings: Any) -> Any:
    """Load a pipeline whose local index is gone, and whose model searches twice before it answers."""
    queries = (search("alpha", tool=METHODS[method]), search("delta", tool=METHODS[method]))
    replace = {f"local.{name}": value for name, value in settings.items()}
    if method == "mspr":
        replace["reviewer.enabled"] = False
    return scripted(*queries, answer("1974"), pipeline=method, errors={"local": "the index is gone"}, replace=replace)


@pytest.mark.parametrize("method", METHODS)
class TestPreferredSourceThatFails:
    async def test_ends_the_run_before_anything_is_sent_out_where_it_is_strict(self, method: str):
        pipeline = broken(method, strict=True)

        with pytest.raises(RunFailed, match="The source 'local' failed: .*the index is gone.* It is strict") as failure:
            await pipelines.ask_async(pipeline, QUESTION)

        result = failure.value.result
        assert "web" not in CALLS
        assert result["queries_sent_out"] == []
        assert result["counts"]["total_web"] == 0
        found, error = result["trace"][-2:]
        assert (found["kind"], found["source"]) == ("found", "local")
        assert (error["kind"], error["caller"]) == ("error", "source 'local'")
        assert "the index is gone" in error["message"]

    async def test_leaves_the_question_to_the_web_by_default(self, method: str):
        result = await pipelines.ask_async(broken(method), QUESTION)

        assert result["answer"] == "1974"
        assert len(result["queries_sent_out"]) >= 1
        assert any("the index is gone" in error for error in result["errors"])


def test_a_part_that_fails_beside_one_that_finds_nothing_is_no_failure():
    found = {"kind": "found", "source": "local", "titles": [], "error": "BM25: gone", "provider": "HybridRetriever"}

    assert pipelines.search_failures({"trace": [found]}) == {}
    assert pipelines.search_failures({"trace": [found | {"provider": ""}]}) == {"local": "BM25: gone"}
