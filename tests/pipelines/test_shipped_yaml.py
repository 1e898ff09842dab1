"""The shipped YAML has the settings of the papers, and the pipelines differ only as intended."""

import re
from pathlib import Path

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.pipelines import load, names
from prefrag.pipelines.blocks import blocks, class_of
from prefrag.pipelines.loading import Pipeline, find, read, read_block
from tests.for_each import for_each
from tests.pipelines.comparing import graph, parameters, shipped

BASELINES = ["no_retrieval", "vanilla_local", "vanilla_web", "vanilla_mix", "react", "react_mix", "self_rag", "crag"]
VARIANTS = ["prefrag_classifier", "prefrag_direct", "prefrag_without_preference", "prefrag_without_reflection"]
DENSE = ["prefrag_dense", "prefrag_hybrid", "prefrag_elasticsearch_dense", "prefrag_elasticsearch_hybrid"]


@for_each("name", *names())
def test_every_shipped_pipeline_survives_saving_and_loading(name: str):
    pipeline = shipped(name)

    assert graph(Pipeline.loads(pipeline.dumps())) == graph(pipeline)


def test_the_shipped_names_are_those_of_the_design():
    assert {"prefrag", "prefrag_elasticsearch", "prefrag_three_sources"} <= set(names())


def test_the_settings_of_the_paper_are_the_defaults():
    components = shipped("prefrag").to_dict()["components"]

    start = components["start"]["init_parameters"]
    assert (start["max_steps"], start["max_supplements"], start["top_k"]) == (3, 1, 5)
    sampling = components["reasoner"]["init_parameters"]["generation_kwargs"]
    assert (sampling["temperature"], sampling["top_p"]) == (0.1, 0.9)
    switch = components["judge"]["init_parameters"]
    judges = switch["judge"]["init_parameters"]
    assert not switch["judge_first_step"]
    assert judges["model_judge"]["init_parameters"]["on_doubt"] == "keep"
    assert judges["tree_judge"]["init_parameters"]["cost_of_leaving"] == 2


def test_the_demo_is_no_stand_in_beside_elasticsearch():
    assert shipped("prefrag").get_component("web").retriever.stays_local
    assert not shipped("prefrag_elasticsearch").get_component("web").retriever.stays_local


EMBEDDED = [name for name in names() if {"&index", "WebRetriever"} <= set(re.split(r"[ .\n]", read(find(name))))]


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_web_needs_an_answer_or_a_stand_in(name: str, monkeypatch: pytest.MonkeyPatch):
    start, stores = shipped(name).get_component("start"), own_indexes()
    web = [part for _, part in shipped(name).walk() if isinstance(part, RetrievalSource) and part.name == "web"]

    def open_sources() -> tuple[str, ...]:
        return tuple(start.run("Who built it?")["state"].settings.sources)

    monkeypatch.delenv("PREFRAG_WEB")
    assert "web" in open_sources(), "the demo has a stand-in"
    assert all(source.retriever.stays_local for source in web)

    for store in stores:
        store.write_documents([Document(content="A passage.")])
    assert "web" not in open_sources()
    assert web
    assert not any(source.retriever.stays_local for source in web)
    for store in stores:
        store.keep_web_consent(True)
    assert "web" in open_sources()

    for store in stores:
        store.keep_web_consent(False)
    monkeypatch.setenv("PREFRAG_WEB_INDEX", "demo-web")
    assert "web" in open_sources(), "nothing leaves"


def own_indexes() -> list[TantivyDocumentStore]:
    return [TantivyDocumentStore(path=str(index_path(index))) for index in ("default", "archive")]


def test_the_demo_is_no_stand_in_for_an_index_of_the_yaml(tmp_path: Path):
    TantivyDocumentStore(path=str(index_path("mydocs"))).write_documents([Document(content="A passage.")])
    file, beside = tmp_path / "own.yaml", {}
    for name in reversed(EMBEDDED):
        file.write_text(read(find(name)).replace("index: &index null", "index: &index mydocs"))
        webs = [block["init_parameters"] for block in blocks(read_block(file)) if class_of(block) == "WebRetriever"]
        beside[name] = {web["local_index"] for web in webs}

    webs = [part for _, part in load(file).walk() if isinstance(part, RetrievalSource) and part.name == "web"]

    assert beside == {name: {"mydocs"} for name in EMBEDDED}
    assert webs
    assert not any(source.retriever.stays_local for source in webs)


def test_web_searches_of_shipped_pipelines_obey_the_switch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_WEB", "off")
    parts = [(name, part) for name in names() for _, part in shipped(name).walk()]
    sources = [(name, part) for name, part in parts if isinstance(part, RetrievalSource) and part.external]

    assert len(sources) > 20
    assert [name for name, source in sources if source.run(query="a secret")["documents"]] == []


@for_each("name", *BASELINES + VARIANTS)
def test_answer_formats_and_sampling_are_the_same_everywhere(name: str):
    # PrefRAG uses the same answer format for all baselines (appendix B.3).
    reasoner, of_prefrag = parameters(name)["reasoner"], parameters("prefrag")["reasoner"]

    for setting in ("answer_format", "generation_kwargs"):
        assert reasoner[setting] == of_prefrag[setting]


def test_direct_and_without_preference_differ_in_words_alone():
    direct, without = graph("prefrag_direct"), graph("prefrag_without_preference")

    for block in ("reasoner", "forced"):
        for data in (direct, without):
            for tool in data["components"][block]["init_parameters"]["tools"]:
                tool.pop("description")
    assert direct == without


@for_each("name, is_stated", ("prefrag_direct", True), ("prefrag_without_preference", False), ("react", False))
def test_only_direct_states_which_source_is_preferred(name: str, is_stated: bool):
    tools = parameters(name)["reasoner"]["tools"]

    assert any("prefer" in tool["description"].lower() for tool in tools) is is_stated


@for_each("name", *DENSE)
def test_the_default_embedder_has_unit_vectors_and_instructs(name: str):
    retriever = parameters(name)["local"]["retriever"]["init_parameters"]
    if "hybrid" in name:
        retriever = retriever["retrievers"][1]["init_parameters"]

    embedder = retriever["text_embedder"]["init_parameters"]
    assert embedder["model"] == "BAAI/bge-large-en-v1.5"
    assert embedder["prefix"] == "Represent this sentence for searching relevant passages: "
    assert embedder["normalize_embeddings"] is True


def test_queries_and_passages_are_embedded_with_the_same_model():
    parts = parameters("prefrag_dense")["local"]["retriever"]["init_parameters"]

    assert parts["retriever"]["init_parameters"]["model"] == parts["text_embedder"]["init_parameters"]["model"]
