"""The local source fails, and the question may be answered without it."""

from typing import Any

import pytest

from prefrag import pipelines
from prefrag.pipelines import RunFailed
from prefrag.pipelines.loading import YAML_PIPELINES, read_block
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, scripted, search

QUESTION = "In which year did the yard that built alpha win the prize?"
METHODS = {
    "prefrag": "Search_Engine",
    "prefrag_patient": "Search_Engine",
    "prefrag_elasticsearch": "Search_Engine",
    "mspr": "Search_Local",
}


def broken(method: str) -> Any:
    """Load a pipeline whose local index is gone and whose model searches twice before it answers."""
    queries = (search("alpha", tool=METHODS[method]), search("delta", tool=METHODS[method]))
    replace = {"reviewer.enabled": False} if method == "mspr" else {}
    return scripted(*queries, answer("1974"), pipeline=method, errors={"local": "the index is gone"}, replace=replace)


@pytest.mark.parametrize("method", METHODS)
class TestLocalSourceThatFails:
    async def test_ends_the_run_in_place_of_a_search_of_the_web(self, method: str):
        with pytest.raises(RunFailed, match="The source 'local' failed: .*the index is gone") as failure:
            await pipelines.ask_async(broken(method), QUESTION)

        result = failure.value.result
        assert "web" not in CALLS
        assert result["queries_sent_out"] == []
        (query,) = result["queries_held_back"]
        assert (query["source"], query["reason"]) == ("web", "'local' failed")
        assert result["counts"]["total_web"] == 0
        assert [event["kind"] for event in result["trace"][-2:]] == ["held_back", "error"]

    async def test_is_survived_where_the_run_may_not_search_the_web(self, method: str):
        result = await pipelines.ask_async(broken(method), QUESTION, sources=["local"])

        assert result["answer"] == "1974"
        assert any("the index is gone" in error for error in result["errors"])


async def test_a_supplement_after_a_failed_search_sends_nothing():
    script = (search("alpha", tool="Search_Local"), answer("1812", "INCORRECT"), answer("1974"))
    pipeline = scripted(*script, pipeline="prefrag_without_preference", errors={"local": "the index is gone"})

    with pytest.raises(RunFailed, match="The source 'local' failed"):
        await pipelines.ask_async(pipeline, QUESTION)

    assert "web" not in CALLS


def test_a_failed_part_beside_an_empty_one_is_no_failure():
    event = {"kind": "found", "source": "local", "titles": [], "error": "BM25: gone", "provider": "HybridRetriever"}

    assert pipelines.search_failures({"trace": [event]}) == {}
    assert pipelines.search_failures({"trace": [event | {"provider": ""}]}) == {"local": "BM25: gone"}


async def test_a_silent_elasticsearch_is_named_and_nothing_leaves(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://127.0.0.1:1")
    block = read_block(YAML_PIPELINES / "prefrag_elasticsearch.yaml")["components"]["local"]["init_parameters"]
    pipeline = scripted(
        search("alpha"),
        answer("1974"),
        pipeline="prefrag_elasticsearch",
        replace={"local.retriever": block["retriever"]},
    )

    with pytest.raises(RunFailed, match="No Elasticsearch answers at http://127.0.0.1:1") as failure:
        await pipelines.ask_async(pipeline, QUESTION)

    assert ".. " not in str(failure.value)
    assert failure.value.result["queries_sent_out"] == []
    assert "web" not in CALLS
    await pipeline.get_component("local").retriever.document_store.async_client.close()
