"""The shipped pipelines over vectors: loaded, saved and compared with their builders, without PyTorch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from prefrag.pipelines import load
from prefrag.pipelines.dense import (
    build_prefrag_dense,
    build_prefrag_elasticsearch_dense,
    build_prefrag_elasticsearch_hybrid,
    build_prefrag_hybrid,
)
from prefrag.pipelines.loading import Pipeline

BUILDERS = {
    "prefrag_dense": build_prefrag_dense,
    "prefrag_hybrid": build_prefrag_hybrid,
    "prefrag_elasticsearch_dense": build_prefrag_elasticsearch_dense,
    "prefrag_elasticsearch_hybrid": build_prefrag_elasticsearch_hybrid,
}


def graph(pipeline: Any) -> dict[str, Any]:
    data = pipeline.to_dict()
    data["connections"] = sorted((line["sender"], line["receiver"]) for line in data["connections"])
    data["components"] = dict(sorted(data["components"].items()))
    data.pop("connection_type_validation", None)
    return data


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch):
    for name in ("PREFRAG_ELASTICSEARCH_URL", "PREFRAG_INDEX", "PREFRAG_PIPELINES_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", BUILDERS)
def test_the_builder_and_the_yaml_describe_the_same_graph(name: str):
    assert graph(BUILDERS[name]()) == graph(load(name))


@pytest.mark.parametrize("name", BUILDERS)
def test_saving_and_loading_changes_nothing(name: str):
    assert graph(Pipeline.loads(load(name).dumps())) == graph(load(name))


@pytest.mark.parametrize("name", BUILDERS)
def test_only_the_preferred_source_differs_from_the_pipeline_over_words(name: str):
    words = graph(load("prefrag_elasticsearch" if "elasticsearch" in name else "prefrag"))
    vectors = graph(load(name))

    differing = {part for part in words["components"] if words["components"][part] != vectors["components"][part]}
    assert differing - {"judge"} == {"local", "local_again"}
    assert words["connections"] == vectors["connections"]


@pytest.mark.parametrize("name", BUILDERS)
def test_the_default_model_reads_its_instruction_before_the_query_and_gives_vectors_of_length_one(name: str):
    retriever = load(name).to_dict()["components"]["local"]["init_parameters"]["retriever"]["init_parameters"]
    if "hybrid" in name:
        retriever = retriever["retrievers"][1]["init_parameters"]

    embedder = retriever["text_embedder"]["init_parameters"]
    assert embedder["model"] == "BAAI/bge-large-en-v1.5"
    assert embedder["prefix"] == "Represent this sentence for searching relevant passages: "
    assert embedder["normalize_embeddings"] is True


def test_queries_and_passages_are_embedded_with_the_same_model():
    retriever = load("prefrag_dense").to_dict()["components"]["local"]["init_parameters"]["retriever"]
    parts = retriever["init_parameters"]

    assert parts["retriever"]["init_parameters"]["model"] == parts["text_embedder"]["init_parameters"]["model"]


def test_loading_imports_neither_the_embedder_nor_the_vector_index():
    code = (
        "import sys, pipelines\n"
        f"for name in {list(BUILDERS)}: pipelines.load(name)\n"
        "assert not {'sentence_transformers', 'lancedb'} & set(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0
