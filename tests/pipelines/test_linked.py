"""The shipped pipelines with linked retrieval: their builders, and what a run observes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from prefrag import pipelines
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.pipelines.linked import build_mspr_linked, build_prefrag_linked
from prefrag.pipelines.loading import Pipeline, find, read
from tests.components.samples import document
from tests.pipelines.scripted import answer, scripted_yaml, search, verdict

BUILDERS: dict[str, Callable[[], Any]] = {"prefrag_linked": build_prefrag_linked, "mspr_linked": build_mspr_linked}
PASSAGES = {
    "Aurora": "The Aurora was a ship that Holm built in 1971.",
    "Holm": "Their greatest success came in 1974.",
    "Sea Trophy": "A trophy that shipyards win.",
    "Trophy": "When somebody did win the trophy there was a feast.",
}


def graph(pipeline: Any) -> dict[str, Any]:
    data = pipeline.to_dict()
    data["connections"] = sorted((line["sender"], line["receiver"]) for line in data["connections"])
    data["components"] = dict(sorted(data["components"].items()))
    data.pop("connection_type_validation", None)
    return data


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch):
    for name in ("PREFRAG_INDEX", "PREFRAG_PIPELINES_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", BUILDERS)
def test_the_builder_and_the_yaml_describe_the_same_graph(name: str):
    assert graph(BUILDERS[name]()) == graph(pipelines.load(name))


@pytest.mark.parametrize("name", BUILDERS)
def test_saving_and_loading_changes_nothing(name: str):
    assert graph(Pipeline.loads(pipelines.load(name).dumps())) == graph(pipelines.load(name))


@pytest.mark.parametrize("name", BUILDERS)
def test_only_the_retriever_of_the_local_source_differs_from_the_plain_pipeline(name: str):
    plain, linked = graph(pipelines.load(name.removesuffix("_linked"))), graph(pipelines.load(name))

    for block in {"local", "local_again"} & set(linked["components"]):
        retriever = linked["components"][block]["init_parameters"]["retriever"]
        assert retriever["type"] == "prefrag.components.retrievers.linked_retriever.LinkedRetriever"
        linked["components"][block]["init_parameters"]["retriever"] = retriever["init_parameters"]["retriever"]
    assert linked == plain


def indexed(name: str, path: Path, *replies: str, **settings: Any) -> str:
    """The YAML with scripted models and web, and its own local retriever over an index of the passages."""
    TantivyDocumentStore(path=str(path)).write_documents([document(title, text) for title, text in PASSAGES.items()])
    data = yaml.safe_load(scripted_yaml(*replies, pipeline=name, **settings))
    shipped = yaml.safe_load(read(find(name)))["components"]["local"]["init_parameters"]["retriever"]
    parts = shipped["init_parameters"]
    store = {
        "type": "prefrag.components.document_stores.tantivy.document_store.TantivyDocumentStore",
        "init_parameters": {"path": str(path)},
    }
    for place, key in (("retriever", "document_store"), ("links", "document_store"), ("engine", "term_statistics")):
        parts[place]["init_parameters"][key] = store
    for block in {"local", "local_again"} & set(data["components"]):
        data["components"][block]["init_parameters"]["retriever"] = shipped
    return yaml.safe_dump(data, sort_keys=False)


@pytest.mark.parametrize(("name", "tool"), [("prefrag_linked", "Search_Engine"), ("mspr_linked", "Search_Local")])
async def test_a_run_observes_what_only_a_title_leads_to(name: str, tool: str, tmp_path: Path):
    # No word of a query stands in the passage about Holm.
    replies = (search("Aurora", tool), search("trophy year", tool), answer(label="CORRECT"))
    verdicts = (verdict(True),) * 4

    pipeline = Pipeline.loads(indexed(name, tmp_path / "index", *replies, verdicts=verdicts))

    result = await pipelines.ask_async(pipeline, "When was the greatest success of who built the Aurora?", top_k=2)

    observed = [event["documents"] for event in result["trace"] if event["kind"] == "observation"]
    assert "Aurora" in observed[0]
    assert "Holm" in {title for titles in observed for title in titles}
    assert result["answer"] == "1974"
    assert result["errors"] == []
