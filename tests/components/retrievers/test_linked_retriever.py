"""Linked retrieval: what titles lead to, observed documents, and the order. Documents are letters."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DocumentStoreError
from haystack.errors import FilterError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.components.retrievers.linked_retriever import LinkedRetriever
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from tests.components.samples import document, observed_step, search_step, state
from tests.components.two_ways import both_fail

YEAR = {"field": "meta.year", "operator": ">", "value": 2000}


def letters(keys: str) -> list[Document]:
    return [document(key, score=9.0) for key in keys]


def found(output: dict[str, Any]) -> str:
    return "".join(document.id for document in output["documents"])


@component
class Words:
    """Finds these letters for any query."""

    def __init__(self, finds: str):
        self.finds = finds
        self.calls: list[dict[str, Any]] = []

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 10, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        self.calls.append({"query": query, "top_k": top_k, "filters": filters})
        return {"documents": letters(self.finds[:top_k])}


@component
class Mentions:
    """Knows which letters a query or a letter leads to; ``!`` makes it fail."""

    def __init__(self, **to: str):
        self.to = to
        self.calls: list[dict[str, Any]] = []

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, **self.to)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Mentions:
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str = "",
        documents: list[Document] | None = None,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        keys = [query, *(document.id for document in documents or [])]
        self.calls.append({"from": [key for key in keys if key], "top_k": top_k, "filters": filters})
        to = "".join(self.to.get(key, "") for key in keys)
        if "!" in to:
            raise DocumentStoreError("index the files again")
        return {"documents": letters("".join(key for key in dict.fromkeys(to) if key not in keys)[:top_k])}


class Engine:
    """Scores as needed together only the given pairs, in either order."""

    def __init__(self, **scores: float):
        self.scores = scores
        self.calls: list[tuple[str, list[str]]] = []

    def score(self, question: str, pairs: list[tuple[Document, Document]]) -> list[float]:
        names = [first.id + second.id for first, second in pairs]
        self.calls.append((question, names))
        return [self.scores.get(name, self.scores.get(name[::-1], 0.0)) for name in names]


def linked(words: str = "abc", engine: Engine | None = None, links: dict[str, str] | None = None, **settings: Any):
    return LinkedRetriever(Words(words), Mentions(**(links or {})), engine or Engine(), **settings)


async def both(retriever: LinkedRetriever, *arguments: Any, **named: Any) -> dict[str, Any]:
    """Run the retriever in both ways, which must give the same."""
    output = retriever.run(*arguments, **named)
    again = await retriever.run_async(*arguments, **named)
    assert [(document.id, document.score) for document in again["documents"]] == [
        (document.id, document.score) for document in output["documents"]
    ]
    assert (again["errors"], again["lookups"]) == (output["errors"], output["lookups"])
    return output


class TestInit:
    def test_the_default_trees_weigh_words_as_the_store_does(self, tmp_path: Path):
        store = TantivyDocumentStore(path=str(tmp_path))
        server = ElasticsearchDocumentStore(hosts="http://localhost:1", index="none")
        words = ElasticsearchMultiMatchRetriever(server)
        retriever = LinkedRetriever(TantivyBM25Retriever(store), TitleMentionRetriever(store))

        assert isinstance(retriever.engine, TreePairScorer)
        assert retriever.engine.term_statistics is store
        assert retriever.document_store is store
        assert LinkedRetriever(words, TitleMentionRetriever(server)).engine.term_statistics is words


class TestCandidates:
    async def test_candidates_come_by_words_and_by_mentions(self):
        links = {"q": "m", "a": "x", "m": "y", "o": "z"}
        output = await both(linked("ab", links=links), "q", observed=letters("o"))
        assert sorted(found(output)) == sorted("abmxyz")
        assert (await both(linked(""), "q"))["documents"] == []

    @pytest.mark.parametrize(
        ("words", "depths", "observed", "leading"),
        [
            ("oabc", {"first_stage_depth": 2, "observed_depth": 2}, "npo", ["p", "o", "a"]),
            ("oa", {"observed_depth": 0}, "o", ["a"]),
        ],
    )
    async def test_candidates_lead_on_from_the_best_and_the_latest(
        self, words: str, depths: dict[str, int], observed: str, leading: list[str]
    ):
        retriever = linked(words, **depths)

        await both(retriever, "q", observed=letters(observed))

        assert retriever.links.calls[1]["from"] == leading

    async def test_depths_and_filters_reach_the_parts(self):
        retriever = linked(candidates=12, first_stage_depth=3, link_depth=7)

        await both(retriever, "q", top_k=30, filters=YEAR)
        await both(retriever, "q", top_k=2)

        assert retriever.retriever.calls[0] == {"query": "q", "top_k": 30, "filters": YEAR}
        assert retriever.retriever.calls[2]["top_k"] == 12
        assert [(call["top_k"], call["filters"]) for call in retriever.links.calls[:2]] == [(3, YEAR), (7, YEAR)]


class TestOrder:
    async def test_the_order_without_likely_pairs_is_that_of_the_words(self):
        heavy = linked("abc", Engine(bx=1.0, bc=1.0), {"b": "x"}, rank_weight=100.0)

        assert found(await both(linked("abc", links={"a": "x"}), "q")) == "abcx"
        assert found(await both(heavy, "q")) == "abcx"

    async def test_linked_documents_come_to_the_front(self):
        belongs = linked("abc", Engine(ox=0.9, oc=0.8), {"o": "x"}, rank_weight=0.6)
        together = linked("abcd", Engine(cx=0.9), {"c": "x"}, rank_weight=0.1)

        assert found(await both(belongs, "q", observed=letters("o"))) == "cxab"
        assert found(await both(together, "q")) == "cxabd"

    async def test_observed_documents_keep_their_rank(self):
        assert found(await both(linked("oab", Engine(oa=0.9)), "q", observed=letters("o"))) == "oab"

        source = RetrievalSource(
            "local", linked("oab"), ranker=TitleMatchRanker(), retry_policy=RetryPolicy(retries=0), observed_last=True
        )
        reached = source.run(state(observed_step(*letters("o")), search_step("o")))["state"]

        assert [document.id for document in reached.step.searches[-1].documents] == ["a", "b", "o"]

    async def test_pairs_are_scored_for_the_question_or_the_query(self):
        retriever = linked("abcd", Engine(), candidates=2, first_stage_depth=1)

        await both(retriever, "q", question="Why?")
        await both(retriever, "q")

        assert retriever.engine.calls[::2] == [("Why?", ["ab"]), ("q", ["ab"])]

    async def test_the_order_is_cut_and_missing_scores_are_reported(self):
        assert found(await both(linked("abc"), "q", top_k=2)) == "ab"
        assert found(await both(linked("abc", top_k=1), "q")) == "a"
        with pytest.raises(ValueError, match="top_k is 0"):
            linked().run("q", top_k=0)
        silent = Engine()
        silent.score = lambda question, pairs: []  # type: ignore[method-assign]
        with pytest.raises(ValueError, match="gave 0 scores for"):
            linked(engine=silent).run("q")


class TestLookups:
    async def test_lookups_are_the_query_and_each_text_with_titles(self, tmp_path: Path):
        store = TantivyDocumentStore(path=str(tmp_path))
        store.write_documents(letters("abc"))
        retriever = LinkedRetriever(Words("ab"), TitleMentionRetriever(store), Engine())

        # One search for the words, and one each for the titles in the query, in a, in b and in the observed o.
        assert (await both(retriever, "q", observed=letters("o")))["lookups"] == 1 + 1 + 3


class TestFailures:
    async def test_filters_that_do_not_fit_are_not_survived(self):
        class Unfiltered(Mentions):
            def run(self, **call: Any) -> dict[str, Any]:
                raise FilterError("no such field")

        await both_fail(LinkedRetriever(Words("a"), Unfiltered(), Engine()), FilterError, "no such field", "q")

    async def test_failed_links_are_reported_and_the_words_stay(self, caplog: pytest.LogCaptureFixture):
        class Empty(Mentions):
            def run(self, **call: Any) -> dict[str, Any]:
                return {}

        for links, error in (
            (LinkedRetriever(Words("ab"), Empty(), Engine()), "Empty: 'documents'"),
            (linked("ab", links={"q": "!"}), "Mentions: index the files again"),
        ):
            source = RetrievalSource("local", links, retry_policy=RetryPolicy(retries=0))
            search = source.run(state(search_step("q")))["state"].step.searches[-1]
            output = await both(links, "q")
            assert output["errors"] == [search.error] == [error]
            assert [document.id for document in search.documents] == ["a", "b"]
            assert (found(output), output["lookups"]) == ("ab", 2)
            assert f"continues without passages that are mentioned by title. {error}" in caplog.text
        second = await both(linked("ab", links={"q": "m", "a": "!"}), "q")
        assert (found(second), second["errors"]) == ("abm", output["errors"])

    def test_an_index_without_titles_is_reported_at_warm_up(self, caplog: pytest.LogCaptureFixture):
        class WithoutTitles(Mentions):
            def warm_up(self) -> None:
                raise DocumentStoreError("index the files again")

        LinkedRetriever(Words("a"), WithoutTitles(), Engine()).warm_up()
        assert "index the files again" in caplog.text

        store = TantivyDocumentStore(index="absent")
        with pytest.raises(FileNotFoundError):
            LinkedRetriever(TantivyBM25Retriever(store), TitleMentionRetriever(store), Engine()).warm_up()


class TestOverAnIndex:
    def test_the_second_hop_is_found_by_its_observed_title(self, tmp_path: Path):
        store = TantivyDocumentStore(path=str(tmp_path))
        texts = {
            "Aurora": "The Aurora was a ship, built at Holm Yard in 1971.",
            "Holm Yard": "Its greatest success came in 1974.",
            "Sea Prize": "A prize that yards win, in many years.",
            "Prize of the North": "When a yard did win the prize there was a feast.",
        }
        store.write_documents([document(title, text) for title, text in texts.items()])
        retriever = LinkedRetriever(TantivyBM25Retriever(store), TitleMentionRetriever(store))
        first = document("Aurora", texts["Aurora"])

        plain = TantivyBM25Retriever(store).run(query="prize", top_k=10)["documents"]
        output = retriever.run("prize", question="When did the yard that built the Aurora win?", observed=[first])

        assert "Holm Yard" not in [document.id for document in plain]
        assert "Holm Yard" in [document.id for document in output["documents"]]
        assert output["errors"] == []

    def test_runs_at_the_same_time_do_not_disturb_each_other(self):
        retriever = linked("abc", Engine(ox=0.9, px=0.1), {"o": "x", "p": "x"})

        async def ask_all() -> list[dict[str, Any]]:
            return await asyncio.gather(*(retriever.run_async("q", observed=letters(letter)) for letter in "opop"))

        assert [found(output) for output in asyncio.run(ask_all())] == [
            found(retriever.run("q", observed=letters(letter))) for letter in "opop"
        ]


async def test_filters_apply_to_a_retriever_that_takes_none():
    @component
    class Unfiltered:
        @component.output_types(documents=list[Document])
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": [document("o", year=1974), document("n", year=2024)]}

    linked = LinkedRetriever(Unfiltered(), Mentions())

    assert found(linked.run("q", filters=YEAR)) == found(await linked.run_async("q", filters=YEAR)) == "n"
    assert found(linked.run("q")) == "on"
