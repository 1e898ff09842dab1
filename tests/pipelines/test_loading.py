"""Finding and loading pipelines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.pipelines import load, names
from prefrag.pipelines.loading import Pipeline, find, read
from prefrag.pipelines.prefrag import build_prefrag, local_source, web_source


def graph(pipeline: Any) -> dict[str, Any]:
    data = pipeline.to_dict()
    data["connections"] = sorted((line["sender"], line["receiver"]) for line in data["connections"])
    data["components"] = dict(sorted(data["components"].items()))
    data.pop("connection_type_validation", None)
    return data


def test_the_builder_and_the_yaml_describe_the_same_graph():
    assert graph(build_prefrag()) == graph(load("prefrag"))


def test_the_builder_and_the_yaml_agree_on_three_sources():
    tools = [
        {"name": "Search_1", "source": "local", "description": "The curated documents of the house."},
        {"name": "Search_2", "source": "archive", "description": "The archive of older documents."},
        {"name": "Search_3", "source": "web", "description": "The web."},
    ]
    sources = [local_source(), local_source("archive", index="archive"), web_source()]

    assert graph(build_prefrag(sources, tools=tools)) == graph(load("prefrag_three_sources"))


@pytest.mark.parametrize("name", names())
def test_every_shipped_pipeline_survives_saving_and_loading(name: str):
    pipeline = load(name)

    assert graph(Pipeline.loads(pipeline.dumps())) == graph(pipeline)


def test_the_shipped_names_are_those_of_the_design():
    assert {"prefrag", "prefrag_elasticsearch", "prefrag_three_sources"} <= set(names())


def test_the_settings_of_the_paper_are_the_defaults():
    components = load("prefrag").to_dict()["components"]

    start = components["start"]["init_parameters"]
    assert (start["max_steps"], start["max_supplements"], start["top_k"]) == (3, 1, 5)
    sampling = components["reasoner"]["init_parameters"]["generation_kwargs"]
    assert (sampling["temperature"], sampling["top_p"]) == (0.1, 0.9)
    switch = components["judge"]["init_parameters"]
    judges = switch["judge"]["init_parameters"]
    assert not switch["judge_first_step"]
    assert judges["model_judge"]["init_parameters"]["on_unparsable"] == "switch"
    assert judges["tree_judge"]["init_parameters"]["threshold"] == 0.5


def test_variables_of_the_environment_are_put_in(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://search.example:9200")

    local = load("prefrag_elasticsearch").to_dict()["components"]["local"]["init_parameters"]

    store = local["retriever"]["init_parameters"]["document_store"]["init_parameters"]
    assert store["hosts"] == "http://search.example:9200"
    assert store["index"] == "default"


@pytest.mark.parametrize("name", [name for name in names() if "elasticsearch" in name])
def test_the_name_of_an_index_stays_a_text(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_INDEX", "007")

    assert '"index": "007"' in json.dumps(load(name).to_dict())


def test_a_variable_without_default_that_is_not_set_is_named(tmp_path: Path):
    file = tmp_path / "own.yaml"
    file.write_text("components: {a: ${PREFRAG_NOT_THERE}}")

    with pytest.raises(ValueError, match="PREFRAG_NOT_THERE"):
        load(str(file))


def test_a_folder_of_ones_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = load("prefrag").to_dict()
    data["components"]["start"]["init_parameters"]["top_k"] = 7
    (tmp_path / "prefrag.yaml").write_text(yaml.safe_dump(data))
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))

    assert load("prefrag").to_dict()["components"]["start"]["init_parameters"]["top_k"] == 7


@pytest.mark.parametrize("name", ["nonsense", "/nowhere/own.yaml"])
def test_a_pipeline_that_is_not_there_is_named(name: str):
    with pytest.raises(ValueError, match="There is no pipeline"):
        load(name)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("preferred: local", "preferred: moon", "preferred source 'moon'"),
        ("on_unparsable: switch", "on_unparsable: guess", "on_unparsable is 'guess'"),
        ("reflection: reply", "reflection: maybe", "reflection is 'maybe'"),
        ("threshold: 0.5", "threshold: 50", "between 0 and 1"),
        ("prefrag.components.rankers.title_match_ranker.TitleMatchRanker", "components.nowhere.Ranker", "nowhere"),
        ("judge.kept", "judge.maybe", "maybe"),
        ("connections:", "connections: [", "cannot be loaded"),
    ],
)
def test_a_mistake_in_the_yaml_is_told_in_words(tmp_path: Path, old: str, new: str, message: str):
    text = Path("yaml_pipelines/prefrag.yaml").read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "own.yaml"
    file.write_text(text.replace(old, new))

    with pytest.raises(ValueError, match=message):
        load(str(file))


def test_the_elasticsearch_pipeline_differs_from_the_embedded_one_only_in_its_local_documents():
    embedded, elasticsearch = graph(load("prefrag")), graph(load("prefrag_elasticsearch"))

    assert elasticsearch["connections"] == embedded["connections"]
    for data in (embedded, elasticsearch):
        for name in ("local", "local_again"):
            data["components"][name]["init_parameters"].pop("retriever")
        for name in ("web", "web_again"):
            data["components"][name]["init_parameters"]["retriever"]["init_parameters"].pop("demo_stand_in")
        judges = data["components"]["judge"]["init_parameters"]["judge"]["init_parameters"]
        judges["tree_judge"]["init_parameters"].pop("term_statistics")
    assert elasticsearch["components"] == embedded["components"]


def test_the_demo_never_stands_in_for_the_web_of_a_house_whose_documents_are_in_elasticsearch():
    assert load("prefrag").get_component("web").retriever.stays_in_house
    assert not load("prefrag_elasticsearch").get_component("web").retriever.stays_in_house


EMBEDDED = [name for name in names() if {"&index", "WebRetriever"} <= set(re.split(r"[ .\n]", read(find(name))))]


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_demo_never_stands_in_for_the_web_of_an_index_that_is_named_in_the_yaml(name: str, tmp_path: Path):
    file = tmp_path / "own.yaml"
    file.write_text(read(find(name)).replace("index: &index null", "index: &index mydocs"))
    TantivyDocumentStore(path=str(index_path("mydocs"))).write_documents([Document(content="A passage.")])

    webs = [part for _, part in load(str(file)).walk() if isinstance(part, RetrievalSource) and part.name == "web"]

    assert webs
    assert not any(source.retriever.stays_in_house for source in webs)


@pytest.mark.parametrize("name", names())
def test_every_web_search_of_a_shipped_pipeline_is_closed_by_the_switch(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_WEB", "off")
    sources = [part for _, part in load(name).walk() if isinstance(part, RetrievalSource) and part.name == "web"]

    for source in sources:
        assert source.run(query="a secret")["documents"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "cannot be loaded"),
        ("", "cannot be loaded"),
        ("components: {}\nconnections: []", "no component answer"),
    ],
)
def test_a_file_that_is_no_pipeline_is_told_in_words(tmp_path: Path, text: str, message: str):
    file = tmp_path / "own.yaml"
    file.write_text(text)

    with pytest.raises(ValueError, match=message):
        load(str(file))
