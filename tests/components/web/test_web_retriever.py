"""The web, or the corpus in its place."""

from typing import Any

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from prefrag.components.web.web_retriever import WebRetriever
from tests.components.samples import search_step, state
from tests.fakes import CALLS, ScriptedRetriever
from tests.indexes import index_of


def index(name: str, text: str = "The prize went to Delta.") -> None:
    index_of([Document(id=name, content=text, meta={"title": name})], index_path(name))


def web(index: str | None = None, local_index: str | None = None) -> WebRetriever:
    search = ScriptedRetriever({"prize": "The web on the prize."}, "outside")
    return WebRetriever(search, index, local_index=local_index)


@pytest.fixture(params=["run", "run_async"])
def ask(request: pytest.FixtureRequest) -> Any:
    async def search(retriever: WebRetriever, query: str = "prize", **arguments: Any) -> list[Document]:
        retriever.warm_up()
        if request.param == "run":
            return retriever.run(query, **arguments)["documents"]
        return (await retriever.run_async(query, **arguments))["documents"]

    return search


class TestTheWeb:
    async def test_is_searched_once_there_is_an_index_of_your_own(self, ask: Any):
        index("default")

        documents = await ask(web(), top_k=3)

        assert [document.content for document in documents] == ["The web on the prize."]
        assert CALLS["outside"] == [{"query": "prize", "top_k": 3, "filters": None}]

    async def test_the_web_may_be_a_search_without_number_of_results(self, ask: Any):
        class Plain:
            def run(self, query: str) -> dict[str, Any]:
                return {"documents": [Document(content=query)], "links": []}

        index("default")

        assert [document.content for document in await ask(WebRetriever(Plain()))] == ["prize"]


class TestAStandIn:
    @pytest.mark.parametrize("how", ["parameter", "environment"])
    async def test_answers_in_place_of_the_web(self, ask: Any, monkeypatch: pytest.MonkeyPatch, how: str):
        index("default")
        index("stand-in")
        if how == "environment":
            monkeypatch.setenv("PREFRAG_WEB_INDEX", "stand-in")

        documents = await ask(web("stand-in" if how == "parameter" else None), top_k=3)

        assert [document.id for document in documents] == ["stand-in"]
        assert "outside" not in CALLS

    async def test_is_the_demos_own_while_there_is_only_the_demo(self, ask: Any):
        documents = await ask(web(), "lighthouse", top_k=2)

        assert web().stays_local
        assert len(documents) <= 2
        assert "outside" not in CALLS

    async def test_gives_way_to_the_web_when_an_index_is_made_meanwhile(self, ask: Any):
        retriever = web()
        assert retriever.stays_local

        index("default")

        await ask(retriever)
        assert not retriever.stays_local
        assert len(CALLS["outside"]) == 1

    def test_a_stand_in_keeps_queries_local(self, monkeypatch: pytest.MonkeyPatch):
        for name in ("default", "mydocs", "stand-in"):
            index(name)
        monkeypatch.setenv("PREFRAG_INDEX", "default")
        assert (web().stays_local, web().provider) == (False, "ScriptedRetriever")
        assert (web("stand-in").stays_local, web("stand-in").provider) == (True, "stand-in index")
        assert [web(local_index=name).stays_local for name in ("mydocs", "demo")] == [False, True]

    def test_that_does_not_exist_is_named_at_the_start(self):
        with pytest.raises(FileNotFoundError, match="no collection 'stand-in'"):
            web("stand-in").warm_up()

    async def test_a_missing_stand_in_is_a_recorded_failure(self):
        outside = ScriptedRetriever({"prize": "x"}, "outside")
        source = RetrievalSource(
            "web", web("stand-in"), external=True, retry_policy=RetryPolicy(retries=0, fallback=outside)
        )

        for output in (source.run(state(search_step("prize"))), await source.run_async(state(search_step("prize")))):
            search = output["state"].step.searches[-1]
            assert "no collection 'stand-in'" in (search.error or "")
            assert not search.sent_out
        assert "outside" not in CALLS
