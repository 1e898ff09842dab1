"""No retrieval for a question about things that many passages name."""

from typing import Any

import pytest
from haystack import Document

from prefrag.components.adaptive_rag.popularity_router import PopularityRouter, count_passages_with_name
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.state.state import RunSettings, State
from tests.components.samples import document
from tests.fakes import ScriptedRetriever
from tests.for_each import for_each

BOTH = "Is Karlsplatz in Vienna?"


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> TantivyBM25Retriever:
    store = TantivyDocumentStore(path=str(tmp_path_factory.mktemp("popularity") / "index"))
    texts = ["Karlsplatz is in Vienna.", "Trams of Vienna.", "The Vienna of 1900."]
    store.write_documents([Document(content=text, meta={"title": f"t{place}"}) for place, text in enumerate(texts)])
    return TantivyBM25Retriever(store)


def route(retriever: Any, question: str, **settings: Any) -> tuple[str, dict[str, Any]]:
    """The output and the event."""
    at = State(question, RunSettings(sources=("local",), preferred="local"))
    ((name, state),) = PopularityRouter(retriever, **settings).run(at).items()
    (event,) = state.events
    assert (event.kind, event.data["retrieves"]) == ("popularity", name == "retrieve")
    return name, dict(event.data)


@for_each(
    "question, threshold, taken, counts",
    ("Where is Vienna?", 3, "no_retrieval", {"Vienna": 3}),
    ("Where is Vienna?", 4, "retrieve", {"Vienna": 3}),
    # The name in the fewest passages decides.
    (BOTH, 2, "retrieve", {"Karlsplatz": 1, "Vienna": 3}),
    (BOTH, 1, "no_retrieval", {"Karlsplatz": 1, "Vienna": 3}),
    # A retrieval is always made for a name that the corpus lacks, and for a question without names.
    ("Where is Graz?", 1, "retrieve", {"Graz": 0}),
    ("where is it?", 0, "retrieve", {}),
)
def test_a_question_is_searched_for_below_the_threshold(
    retriever: Any, question: str, threshold: int, taken: str, counts: dict[str, int]
):
    name, event = route(retriever, question, threshold=threshold)

    assert (name, event["counts"], event["threshold"]) == (taken, counts, threshold)


async def test_it_waits_for_a_retriever_that_can_be_waited_for(retriever: Any):
    at = State(BOTH, RunSettings(sources=("local",), preferred="local"))

    assert [*await PopularityRouter(retriever, threshold=1).run_async(at)] == ["no_retrieval"]


def test_only_passages_that_the_filters_let_through_are_counted(retriever: Any):
    filters = {"field": "meta.title", "operator": "==", "value": "t1"}
    at = State("Where is Vienna?", RunSettings(sources=("local",), preferred="local", filters=filters))

    ((_, state),) = PopularityRouter(retriever).run(at).items()
    assert state.events[-1].data["counts"] == {"Vienna": 1}


def test_an_uncountable_name_is_searched_and_many_are_few(retriever: Any):
    name, event = route(ScriptedRetriever({}, "local", error="index gone"), BOTH)
    assert (name, event["counts"], event["error"]) == ("retrieve", {}, "index gone")
    many = ", ".join(f"City{chr(65 + place)}ville" for place in range(20))
    assert len(route(retriever, f"Where are {many}?")[1]["counts"]) == 8


@for_each("text, count", ("The Zürich of ZURICH", 1), ("Zürichs trams", 0), ("Neu-Zurich", 1), ("", 0))
def test_a_name_counts_as_whole_words_in_any_case_and_accents(text: str, count: int):
    assert count_passages_with_name("Zürich", [document("x", content=text)]) == count
