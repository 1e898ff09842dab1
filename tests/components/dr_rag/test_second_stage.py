import asyncio
import json
import threading
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from haystack import Document, component
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError

from prefrag.components.dr_rag.query_doc_concat import QueryDocConcat
from prefrag.components.dr_rag.second_stage import SecondStage
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from prefrag.components.state.state import RunError, State
from tests.components.samples import document, found, kinds, search_step, settings, state
from tests.for_each import for_each

QUESTION = "q"
# A query finds the documents of its letters, in this order.
ORDER = "zyxwabcdef"


@component
class Letters:
    """Finds the document of each letter that is in the query but not in the question."""

    def __init__(self, broken: str = "", order: str = ORDER):
        self.broken = broken
        self.order = order
        self.calls: list[dict[str, Any]] = []

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 10, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        self.calls.append({"query": query, "top_k": top_k, "filters": filters})
        if self.broken and self.broken in query:
            raise ConnectionError("out of order")
        # A first-stage passage that is found again has its own text.
        text = query.split()[-1]
        texts = {letter: text if text.startswith(letter) else None for letter in self.order if letter in query}
        return {"documents": [document(letter, text) for letter, text in texts.items()][:top_k]}


class Engine:
    """Scores as needed together only the given pairs."""

    def __init__(self, *positive: str):
        self.positive = positive

    def score(self, question: str, pairs: list[tuple[Document, Document]]) -> list[float]:
        return [float(first.id + second.id in self.positive) for first, second in pairs]


class BrokenEngine:
    def score(self, question: str, pairs: Any) -> list[float]:
        raise RuntimeError("the classifier is broken")


def source(retriever: Any = None, **settings: Any) -> RetrievalSource:
    return RetrievalSource("local", retriever or Letters(), **{"retry_policy": RetryPolicy(retries=0), **settings})


def passage(key: str, leads_to: str = "") -> Document:
    return document(key, leads_to, source="local")


def after_first_stage(*documents: Document, k: int = 6, **settings: Any) -> State:
    """The state after the first stage; a document's second-stage query finds the letters of its text."""
    step = search_step(QUESTION, found(*documents, query=QUESTION), reply="")
    return state(step, question=QUESTION, sources=("local",), top_k=k, **settings)


def stage(retriever: Any = None, classifier: Any = None, **settings: Any) -> SecondStage:
    return SecondStage(source(retriever), QueryDocConcat(["content"]), classifier, **settings)


def shown(reached: State) -> str:
    return "".join(document.id for document in reached.step.documents)


ABC = (passage("a", "ax"), passage("b", "by"), passage("c", "cz"))


def test_both_stages_become_the_observation():
    reached = stage().run(after_first_stage(*ABC))["state"]

    assert shown(reached) == "abcxyz"
    assert (reached.step.observed, reached.step.source, reached.step.query) == (True, "local", QUESTION)
    assert [document.meta["step"] for document in reached.step.documents] == [1] * 6
    assert [search.query for search in reached.step.searches] == ["q", "q ax", "q by", "q cz"]
    assert [document.id for document in reached.step.searches[1].documents] == ["x", "a"]
    assert kinds(reached) == ["found", "found", "found", "selection", "observation"]


def test_depth_and_filters_of_the_run_reach_the_retriever():
    retriever, filters = Letters(), {"field": "meta.year", "operator": "==", "value": 1}
    reached = stage(retriever, second_stage_depth=7).run(after_first_stage(*ABC, filters=filters))["state"]

    assert [(call["top_k"], call["filters"]) for call in retriever.calls] == [(7, filters)] * 3
    assert reached.settings.top_k == 6


@for_each(
    "k, k1, queries, context",
    pytest.param(6, None, 3, "abcxyz", id="half of k by default"),
    pytest.param(5, None, 3, "abcxy", id="rounded up"),
    pytest.param(4, None, 2, "abxy", id="k 4"),
    pytest.param(3, None, 2, "abx", id="k 3"),
    pytest.param(1, None, 0, "a", id="one document has no second stage"),
    pytest.param(6, 2, 2, "abxy", id="k1 2"),
    pytest.param(4, 1, 1, "ax", id="k1 1"),
    pytest.param(3, 3, 0, "abc", id="k1 leaves no room"),
    pytest.param(2, 3, 0, "ab", id="a request narrows k below k1"),
)
def test_k1_documents_are_of_the_first_stage_and_k_in_all(k, k1, queries, context):
    retriever = Letters()
    reached = stage(retriever, k1=k1).run(after_first_stage(*ABC, k=k))["state"]

    assert len(retriever.calls) == queries
    assert shown(reached) == context


def test_a_classifier_selects_with_the_k_of_the_run():
    classifier = PairClassifier(Engine("ax", "cz"), k=1)

    assert shown(stage(classifier=classifier).run(after_first_stage(*ABC))["state"]) == "abcxz"
    assert shown(stage(classifier=classifier).run(after_first_stage(*ABC, k=4))["state"]) == "abx"


def test_the_trace_reports_how_the_documents_were_selected():
    classifier = PairClassifier(Engine("ax"), selection="cis")
    event = stage(classifier=classifier).run(after_first_stage(passage("a", "axy")))["state"].events[-2]

    assert (event.kind, event.data["method"], event.data["documents"]) == ("selection", "cis", ["a", "x"])
    assert event.data["pairs"] == [
        {"documents": ["a", "y"], "score": 0.0, "positive": False},
        {"documents": ["a", "x"], "score": 1.0, "positive": True},
    ]
    json.dumps(event.to_dict())


def test_a_repeated_document_makes_one_query():
    retriever = Letters()
    nothing = stage(retriever).run(after_first_stage())["state"]

    assert retriever.calls == []
    assert (shown(nothing), nothing.step.source, nothing.step.observed) == ("", None, True)
    assert nothing.step.note == "No passages were found."
    assert shown(stage(retriever).run(after_first_stage(ABC[0], ABC[0], ABC[1]))["state"]) == "abxy"
    assert sorted(call["query"] for call in retriever.calls) == ["q ax", "q by"]


@for_each(
    "classifier", None, PairClassifier(Engine("ab", "ac"), accept="all"), PairClassifier(Engine("ab", "ac"), "cis")
)
def test_documents_of_two_sources_with_one_id_are_two(classifier: PairClassifier | None):
    first = found(document("a", "ab", source="local"), query=QUESTION)
    other = found(document("a", "ac", source="archive"), source="archive", query=QUESTION)
    step = search_step(QUESTION, first, other, reply="")

    reached = stage(classifier=classifier).run(state(step, question=QUESTION, sources=("local", "archive"), top_k=4))

    assert sorted((document.id, document.content) for document in reached["state"].step.documents) == [
        ("a", "ab"),
        ("a", "ac"),
        ("b", "About b."),
        ("c", "About c."),
    ]


def test_a_failed_retrieval_or_stage_is_recorded_and_survived():
    reached = stage(Letters(broken="by")).run(after_first_stage(*ABC))["state"]

    assert shown(reached) == "abcxz"
    assert [bool(search.error) for search in reached.step.searches] == [False, False, True, False]
    assert "out of order" in str(reached.step.searches[2].error)
    assert shown(stage(Letters(broken="q")).run(after_first_stage(*ABC))["state"]) == "abc"


def test_a_source_that_the_run_may_not_search_is_not_searched():
    retriever = Letters()
    other = RetrievalSource("archive", retriever)
    reached = SecondStage(other, QueryDocConcat(["content"])).run(after_first_stage(*ABC))["state"]

    assert retriever.calls == []
    assert shown(reached) == "abc"
    assert [search.skipped for search in reached.step.searches] == [False, True, True, True]


@pytest.mark.parametrize("engine", [BrokenEngine(), "transformer"])
async def test_a_failing_classifier_ends_the_run_with_its_trace(engine):
    second_stage = stage(classifier=PairClassifier(engine))

    for run in (second_stage.run_async, partial(asyncio.to_thread, second_stage.run)):
        with pytest.raises(RunError, match=r"classifier is broken|dr_rag_qdc") as raised:
            await run(after_first_stage(*ABC))
        assert kinds(raised.value.state) == ["found", "found", "found", "error"]


async def test_run_async_gives_the_same():
    def outcome(reached: State) -> Any:
        return shown(reached), [search.query for search in reached.step.searches], kinds(reached)

    for classifier in (None, PairClassifier(Engine("ax", "by"))):
        second_stage = stage(classifier=classifier)
        reached = (await second_stage.run_async(after_first_stage(*ABC)))["state"]
        assert outcome(reached) == outcome(second_stage.run(after_first_stage(*ABC))["state"])


async def test_the_retrievals_are_made_at_the_same_time():
    @component
    class Meeting:
        """Answers only when three queries are waiting at the same time."""

        def __init__(self) -> None:
            self.waiting = asyncio.Barrier(3)

        @component.output_types(documents=list[Document])
        def run(self, query: str) -> dict[str, Any]:
            raise NotImplementedError

        @component.output_types(documents=list[Document])
        async def run_async(self, query: str) -> dict[str, Any]:
            await self.waiting.wait()
            return {"documents": [document("x")]}

    reached = await stage(Meeting()).run_async(after_first_stage(*ABC))

    assert [search.error for search in reached["state"].step.searches] == [None] * 4


class TestParallelSearches:
    async def test_have_the_context_of_their_run_in_both_forms(self):
        label: ContextVar[str] = ContextVar("label", default="")

        @component
        class Reading:
            @component.output_types(documents=list[Document])
            def run(self, query: str) -> dict[str, Any]:
                return {"documents": [document(label.get() or "none")]}

        label.set("RUN-1")
        reached = after_first_stage(*ABC)
        for ended in (stage(Reading()).run(reached)["state"], (await stage(Reading()).run_async(reached))["state"]):
            assert [search.documents[0].id for search in ended.step.searches[1:]] == ["RUN-1"] * 3

    async def test_end_together_if_one_ends_the_run(self):
        begun, ended = [], []

        @component
        class Refusing:
            @component.output_types(documents=list[Document])
            def run(self, query: str) -> dict[str, Any]:
                raise NotImplementedError

            @component.output_types(documents=list[Document])
            async def run_async(self, query: str) -> dict[str, Any]:
                begun.append(query)
                if len(begun) == 3:
                    raise FilterError("no such field")
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.append(query)

        with pytest.raises(RunError, match="no such field"):
            await stage(Refusing()).run_async(after_first_stage(*ABC))

        assert sorted(ended) == sorted(begun[:2])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    def test_have_all_ended_when_the_blocking_form_fails(self):
        ended = []

        @component
        class Refusing:
            @component.output_types(documents=list[Document])
            def run(self, query: str) -> dict[str, Any]:
                if query == "q ax":
                    raise FilterError("no such field")
                threading.Event().wait(0.05)
                ended.append(query)
                return {"documents": []}

        with pytest.raises(RunError, match="no such field"):
            stage(Refusing()).run(after_first_stage(*ABC))

        assert sorted(ended) == ["q by", "q cz"]


def test_the_stages_may_have_different_retrievers():
    store = InMemoryDocumentStore()
    store.write_documents([Document(id="k", content="ax and a keel"), Document(id="l", content="nothing")])

    reached = stage(InMemoryBM25Retriever(store)).run(after_first_stage(ABC[0], k=2))["state"]

    assert shown(reached) == "ak"


class TestOutside:
    """Second-stage queries hold text that the first stage found, so they must not leave this machine."""

    async def test_local_documents_are_no_queries_to_an_external_source(self):
        web = Letters()
        second = SecondStage(RetrievalSource("web", web, external=True), QueryDocConcat(["content"]))

        with pytest.raises(
            RunError, match="documents of 'local' to the external source 'web': give the second stage a local source"
        ):
            await second.run_async(after_first_stage(passage("a", "x"), external=("web",)))

        assert web.calls == []

    @for_each("name", "web", "other_web")
    def test_documents_from_outside_may_go_there(self, name: str):
        second = SecondStage(RetrievalSource("web", Letters(), external=True), QueryDocConcat(["content"]))
        found_there = document("a", "x", source=name)
        reached = replace(after_first_stage(found_there), settings=settings(sources=("web",), external=("other_web",)))

        assert shown(second.run(reached)["state"]) == "ax"
