"""Both stages over words and titles. A document is a letter, and its text is the letters that it leads to."""

from dataclasses import replace
from typing import Any

import pytest
from haystack import Document, component

from prefrag.components.dr_rag.linked_stages import LinkedStages
from prefrag.components.dr_rag.open_question_query import OpenQuestionQuery
from prefrag.components.dr_rag.query_doc_concat import QueryDocConcat
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from prefrag.components.state.state import RunError, State
from tests.components.samples import document, kinds, search_step, settings, state
from tests.for_each import for_each

QUESTION = "q"


@component
class Finder:
    """Finds documents (letters) by query, as scripted."""

    def __init__(self, texts: dict[str, str], **results: str):
        self.texts = texts
        self.found = results
        self.calls: list[dict[str, Any]] = []

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 10, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        self.calls.append({"query": query, "top_k": top_k, "filters": filters})
        if self.found.get(query) == "!":
            raise ConnectionError("out of order")
        letters = self.found.get(query.replace(" ", "_"), "")[:top_k]
        return {"documents": [document(letter, self.texts.get(letter, "")) for letter in letters]}


class Engine:
    """Scores as needed together only the given pairs."""

    together = True

    def __init__(self, **scores: float):
        self.scores = scores
        self.calls: list[list[str]] = []

    def score(self, question: str, pairs: list[tuple[Document, Document]]) -> list[float]:
        assert question == QUESTION
        self.calls.append([first.id + second.id for first, second in pairs])
        return [self.scores.get(first.id + second.id, 0.0) for first, second in pairs]


TEXTS = {"a": "ta", "b": "tb", "m": "tm"}
WORDS = {"q": "ab", "q_ta": "axb", "q_tb": "by", "q_tm": "z"}
LINKS = {"q": "m", "ta": "lx", "tb": "", "tm": "an"}


def retrieval(
    engine: Any = None,
    words: dict[str, str] = WORDS,
    links: dict[str, str] = LINKS,
    selection: Any = "fill",
    **settings: Any,
) -> LinkedStages:
    sources = [
        RetrievalSource("local", Finder(TEXTS, **results), retry_policy=RetryPolicy(retries=0))  # type: ignore[arg-type]
        for results in (words, links)
    ]
    classifier = PairClassifier(engine or Engine(), selection)
    return LinkedStages(*sources, classifier, QueryDocConcat(["content"]), **settings)


def question_state(k: int = 6, **settings: Any) -> State:
    return state(search_step(QUESTION, reply=""), question=QUESTION, sources=("local",), top_k=k, **settings)


def shown(reached: State) -> str:
    return "".join(document.id for document in reached.step.documents)


def test_stages_begin_with_the_question_and_go_on_by_document():
    _, documents, candidates = retrieval().gather(question_state())

    assert [document.id for document in documents] == ["a", "b", "m"]
    assert ["".join(document.id for document in documents) for documents in candidates] == ["lxb", "y", "anz"]


def test_open_words_and_names_of_a_document_are_searched_too():
    words = {**WORDS, "B": "k"}
    made = retrieval(words=words, open_question=OpenQuestionQuery())
    made.source.retriever.texts = {**TEXTS, "b": "tb B"}  # type: ignore[attr-defined]
    made.links.retriever.found = {**LINKS, "tb_B": "l"}  # type: ignore[attr-defined]

    _, _, candidates = made.gather(question_state())

    assert "".join(document.id for document in candidates[1]) == "lk"


def test_embedded_sources_find_the_same_one_after_the_other():
    made = retrieval()
    for part in (made.source, made.links):
        part.retriever.embedded = True  # type: ignore[attr-defined]

    reached = made.run(question_state())["state"]

    assert [call["query"] for call in made.source.retriever.calls] == ["q", "q ta", "q tb", "q tm"]  # type: ignore[attr-defined]
    assert shown(reached) == shown(retrieval().run(question_state())["state"])


def test_documents_of_two_sources_with_one_id_are_two():
    engine = Engine()
    words, links = Finder({"a": "ta"}, q="a"), Finder({"a": "other"}, q="", ta="a")
    sources = RetrievalSource("local", words), RetrievalSource("links", links)
    start = state(search_step(QUESTION, reply=""), question=QUESTION, sources=("local", "links"))
    reached = LinkedStages(*sources, PairClassifier(engine)).run(start)["state"]
    assert engine.calls == [["aa"]]
    assert [search.source for search in reached.step.searches if search.documents] == ["local", "links"]
    assert LinkedStages(*sources).classifier.selection == "fill"


def test_pairs_are_scored_in_one_call_and_searches_recorded():
    engine = Engine()

    reached = retrieval(engine).run(question_state())["state"]

    assert engine.calls == [["al", "ax", "ab", "am", "by", "ba", "bm", "ma", "mn", "mz", "mb"]]
    queries = [search.query for search in reached.step.searches]
    assert queries == ["q", "q", "ta", "tb", "tm", "q ta", "q tb", "q tm"]
    assert kinds(reached) == ["found"] * 8 + ["selection", "observation"]
    assert reached.step.query == QUESTION


async def test_the_best_pairs_become_the_observation():
    best = retrieval(Engine(al=0.5, by=0.9))

    for output in (best.run(question_state(k=4)), await best.run_async(question_state(k=4))):
        reached = output["state"]
        assert shown(reached) == "byal"
        assert reached.step.observed
        assert all(document.meta["source"] == "local" for document in reached.step.documents)
        assert [search.query for search in reached.step.searches][:4] == ["q", "q", "ta", "tb"]
    assert shown(retrieval().run(question_state(k=4))["state"]) == "abml"


@for_each("selection", "cfs", "cis")
def test_selections_of_the_paper_keep_half_for_the_first_stage(selection: str):
    engine = Engine(al=0.9, ax=0.9, by=0.9)

    assert shown(retrieval(engine, selection=selection).run(question_state(k=4))["state"]) == "ably"


def test_depths_and_filters_of_the_run_reach_the_retrievers():
    filters = {"field": "meta.year", "operator": "==", "value": 1}
    made = retrieval(first_stage_depth=1, second_stage_depth=3)
    made.run(question_state(filters=filters))

    calls = made.source.retriever.calls  # type: ignore[attr-defined]
    assert [call["top_k"] for call in calls] == [1, 3, 3]
    assert all(call["filters"] == filters for call in calls + made.links.retriever.calls)  # type: ignore[attr-defined]


def test_failed_look_ups_of_titles_are_recorded():
    reached = retrieval(Engine(by=0.9), links={"q": "!"}).run(question_state(k=2))["state"]
    assert shown(reached) == "by"
    assert "out of order" in str(reached.step.searches[1].error)

    nothing = retrieval(words={}, links={}).run(question_state())["state"]
    assert shown(nothing) == ""
    assert [search.query for search in nothing.step.searches] == ["q", "q"]


def test_a_classifier_that_fails_ends_the_run_with_its_state():
    class Broken:
        def score(self, question: str, pairs: Any) -> list[float]:
            raise RuntimeError("the classifier is broken")

    with pytest.raises(RunError, match="classifier is broken") as raised:
        retrieval(Broken()).run(question_state())

    assert len(raised.value.state.step.searches) == 8


@pytest.mark.parametrize("outside", [0, 1], ids=["words", "titles"])
def test_local_documents_are_no_queries_to_an_external_source(outside: int):
    words, links = Finder(TEXTS, q="a"), Finder(TEXTS, q="m")
    sources = [RetrievalSource("local", words), RetrievalSource("local", links)]
    sources[outside] = RetrievalSource("web", (words, links)[outside], external=True)

    with pytest.raises(RunError, match="documents of 'local' to the external source 'web'"):
        LinkedStages(*sources).run(replace(question_state(), settings=settings(external=("web",))))

    assert [call["query"] for call in (words, links)[outside].calls] == ["q"]
