"""DR-RAG on its shipped YAML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, default_from_dict, default_to_dict

from prefrag import pipelines
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.pair_classifier.pair_scorer import ClassifierMissing
from prefrag.components.pair_classifier.transformer_pair_scorer import TransformerPairScorer
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.pipelines.loading import find, read
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import model, retriever, retry_policy

NAMES = ("dr_rag_qdc", "dr_rag_cis", "dr_rag_cfs")
DENSE = tuple(f"{name}_dense" for name in NAMES)
QUESTION = "Who led the yard that built alpha, beta and chi?"
# The scripted retriever finds the documents that a query names, so a document's text decides what it leads to.
DOCUMENTS = {
    "alpha": "Built with dust and echo.",
    "beta": "Built by fern.",
    "chi": "Built by gulf.",
    "dust": "Of no use.",
    "echo": "Led by Ada.",
    "fern": "Led by Ben.",
    "gulf": "Led by Cyd.",
}


class KnownPairs:
    """Accepts the given pairs of titles."""

    def __init__(self, positive: list[list[str]]):
        self.positive = positive

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, positive=self.positive)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KnownPairs:
        return default_from_dict(cls, data)

    def score(self, question: str, pairs: list[tuple[Document, Document]]) -> list[float]:
        CALLS.setdefault("classifier", []).append(len(pairs))
        return [float([first.meta["title"], second.meta["title"]] in self.positive) for first, second in pairs]


def scripted(
    name: str,
    *replies: str,
    positive: list[list[str]] | None = None,
    documents: dict[str, str] = DOCUMENTS,
    first_error: str | None = None,
    second_error: str | None = None,
    replace: dict[str, Any] | None = None,
) -> Any:
    """Load a shipped pipeline with a model, a retriever and a classifier that reply from a script."""
    parts: dict[str, Any] = {
        "ChatModel": model(*replies),
        # In the YAML, the second stage repeats the first one's source; here they fail separately.
        "local.retriever": retriever(documents, "local", first_error),
        "second_stage.source.retriever": retriever(documents, "local", second_error),
        "local.ranker": None,
        "RetrievalSource.retry_policy": retry_policy(),
        # Without a reader, the scripted answer is not checked against the passages.
        "Reasoner.reader": None,
    }
    if positive is not None:
        parts["TreePairScorer"] = KnownPairs(positive)
    return pipelines.load(name, parts | (replace or {}))


def titles(result: dict[str, Any]) -> list[str]:
    return [document["title"] for document in result["documents"]]


def nodes(name: str) -> dict[str, Any]:
    return {key: block["init_parameters"] for key, block in pipelines.load(name).to_dict()["components"].items()}


@for_each("name", *NAMES + DENSE)
def test_the_settings_of_the_paper_are_the_defaults(name: str):
    parts = nodes(name)

    assert parts["start"]["top_k"] == 6
    assert (parts["second_stage"]["k1"], parts["second_stage"]["second_stage_depth"]) == (None, 10)
    if "qdc" in name:
        assert parts["second_stage"]["classifier"] is None
    else:
        classifier = parts["second_stage"]["classifier"]["init_parameters"]
        assert (classifier["drop"], classifier["accept"], classifier["threshold"]) == ("second_stage", "first", 0.5)


@for_each("name", *NAMES)
def test_mentioned_titles_are_boosted_where_the_yaml_says_so(name: str, tmp_path: Path):
    first, second = (nodes(name)[part] for part in ("local", "second_stage"))
    assert first["ranker"]["type"].endswith("TitleMatchRanker")
    assert second["source"]["init_parameters"]["ranker"] is None
    assert second["source"]["init_parameters"]["retriever"] == first["retriever"]

    # The YAML's comment describes this change.
    file = tmp_path / "boosted.yaml"
    own = r"init_parameters:\n +name: local\n +retriever: \*retriever"
    file.write_text(re.sub(own, "init_parameters: *local", read(find(name))))
    assert nodes(str(file))["second_stage"]["source"]["init_parameters"] == nodes(str(file))["local"] == first


@pytest.mark.parametrize("name", ["dr_rag_cis", "dr_rag_cfs"])
async def test_the_second_stage_without_concatenation(name: str):
    pipeline = scripted(name, "Ada", positive=[], replace={"QueryDocConcat.parts": []})

    result = await pipelines.ask_async(pipeline, QUESTION)

    assert [call["query"] for call in CALLS["local"]] == [QUESTION] * 4
    assert titles(result) == ["alpha", "beta", "chi"]


@pytest.mark.parametrize(("written", "answer"), [("\n\n**Final Answer:** Ada", "Ada"), ("", "")])
async def test_the_prompt_of_table_9_has_a_field_of_analysis(written: str, answer: str):
    analysis = "Alpha was built with echo, and Ada led echo."
    pipeline = scripted("dr_rag_qdc", analysis + written, replace={"reasoner.prompt": "answer_with_analysis"})
    result = await pipelines.ask_async(pipeline, QUESTION)
    prompt = CALLS["model"][0]["prompt"]
    assert prompt.index("] alpha\n") < prompt.index("Final Answer:") < prompt.index(f"Question: {QUESTION}")
    assert prompt.endswith("Thought:")
    assert (result["answer"], result["forced"]) == (answer, False)
    if answer:
        assert result["steps"][-1]["thought"] == analysis
    else:
        assert result["errors"] == ["No answer could be read from the model's replies."]


@pytest.mark.parametrize(
    ("name", "positive", "selected"),
    [
        ("dr_rag_qdc", None, ["alpha", "beta", "chi", "dust", "fern", "gulf"]),
        ("dr_rag_cis", [["alpha", "echo"], ["beta", "fern"]], ["alpha", "beta", "chi", "fern"]),
        ("dr_rag_cfs", [["alpha", "echo"], ["beta", "fern"]], ["alpha", "beta", "chi", "echo", "fern"]),
    ],
)
async def test_a_call_has_the_documents_selected_from_both_stages(name: str, positive: Any, selected: list[str]):
    result = await pipelines.ask_async(scripted(name, "Ada", positive=positive), QUESTION)
    assert (result["answer"], result["usage"]["calls"]) == ("Ada", {"reasoner": 1})
    assert titles(result) == selected
    [call] = CALLS["model"]
    assert sorted(title for title in DOCUMENTS if f"] {title}\n" in call["prompt"]) == sorted(selected)
    assert (result["label"], result["forced"], result["errors"]) == (None, False, [])
    assert result["counts"] == {
        **{"total_local": 4, "total_web": 0, "total": 4, "used_local": 1, "used": 1, "lookups": 4},
        "sources": {"local": {"total": 4, "used": 1}},
    }
    assert result["queries_sent_out"] == []
    first, *second = CALLS["local"]
    assert first["query"] == QUESTION
    assert sorted(call["query"] for call in second) == [
        f"{QUESTION} {title} {DOCUMENTS[title]}" for title in ("alpha", "beta", "chi")
    ]


async def test_an_empty_or_failed_first_stage_still_gives_an_answer():
    for name, positive in zip(NAMES, (None, [], []), strict=True):
        CALLS.clear()
        result = await pipelines.ask_async(scripted(name, "Ada", positive=positive, documents={}), QUESTION)
        assert (result["answer"], result["documents"], result["counts"]["total"]) == ("Ada", [], 1)
        assert "No passages were found." in CALLS["model"][0]["prompt"]
        assert len(CALLS["model"]) == 1
    result = await pipelines.ask_async(scripted("dr_rag_qdc", "Ada", first_error="index gone"), QUESTION)
    assert (result["answer"], result["counts"]["total"]) == ("Ada", 1)
    assert any("index gone" in error for error in result["errors"])


@pytest.mark.parametrize("name", ["dr_rag_cis", "dr_rag_cfs"])
async def test_without_a_trained_transformer_the_error_names_qdc(name: str):
    pipeline = scripted(name, "Ada", replace={"TreePairScorer": TransformerPairScorer()})

    with pytest.raises(ClassifierMissing, match=r"PREFRAG_PAIR_CLASSIFIER.*dr_rag_qdc"):
        await pipelines.ask_async(pipeline, QUESTION)

    assert CALLS == {}, "nothing is retrieved for a run that cannot end"


async def test_finds_over_the_index_what_the_question_alone_does_not(tmp_path: Path):
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    store.write_documents(
        [
            Document(id="d1", content="The keel of the Aurora was laid by Brennan Yard.", meta={"title": "Aurora"}),
            Document(id="d2", content="Ada Holm founded it in 1901.", meta={"title": "Brennan Yard"}),
            *(Document(id=f"n{n}", content=f"Ada founded a school, {n}.", meta={"title": "School"}) for n in range(9)),
        ]
    )
    searched = {"ChatModel": model("Ada Holm"), "TantivyDocumentStore": store, "local.ranker": None}
    pipeline = pipelines.load("dr_rag_qdc", searched)

    result = await pipelines.ask_async(pipeline, "Where was the keel of the Aurora laid?", top_k=2)

    assert [document["id"] for document in result["documents"]] == ["d1", "d2"]


@for_each("name", "dr_rag_cis", "dr_rag_cfs", "dr_rag_cis_dense", "dr_rag_cfs_dense")
def test_the_shipped_trees_weigh_words_as_the_index_does(name: str):
    pipeline = pipelines.load(name)

    second_stage = pipeline.get_component("second_stage")
    engine = second_stage.classifier.engine
    assert isinstance(engine, TreePairScorer)
    assert (engine.model, engine.label) == (None, "pair")
    retriever = second_stage.source.retriever
    searched = retriever.retriever if name.endswith("_dense") else retriever
    assert engine.term_statistics.to_dict() == searched.document_store.to_dict()


# Over words and titles


PASSAGES = {
    "Aurora (ship)": "Aurora is a schooner of 1901. Its keel was laid at Brennan Yard, and it sank in a storm.",
    "Brennan Yard": "Brennan Yard is a company in Kilmore. Ada Holm started it with her brothers.",
    "Kilmore": "Kilmore is a village in the west, known for its salmon.",
    **{f"Storm {n}": f"The storm of 19{n} sank a schooner." for n in range(10, 30)},
}


def linked(tmp_path: Path, *replies: str, **settings: Any) -> Any:
    """Load the shipped pipeline over an index of its own, with a scripted model."""
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    store.write_documents([Document(id=key, content=text, meta={"title": key}) for key, text in PASSAGES.items()])
    parts = {"ChatModel": model(*replies), "TantivyDocumentStore": store}
    return pipelines.load(
        "dr_rag_linked", parts | {f"PairClassifier.{name}": value for name, value in settings.items()}
    )


@pytest.mark.parametrize("selection", ["fill", "cfs"])
async def test_a_link_leads_to_what_no_word_of_the_question_does(tmp_path: Path, selection: str):
    pipeline = linked(tmp_path, "Ada Holm", selection=selection, threshold=0.2)

    result = await pipelines.ask_async(pipeline, "Who founded the shipbuilder of the schooner Aurora?", top_k=3)

    assert result["answer"] == "Ada Holm"
    assert {"Aurora (ship)", "Brennan Yard"} <= {document["id"] for document in result["documents"]}
    assert {document["source"] for document in result["documents"]} == {"local"}
    assert result["usage"]["calls"] == {"reasoner": 1}
