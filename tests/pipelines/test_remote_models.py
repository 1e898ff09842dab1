"""Every passage is sent to a model on another machine, so each such model is listed and can be refused."""

from typing import Any

import pytest
from haystack.components.embedders import OpenAIDocumentEmbedder
from haystack.utils import Secret

from prefrag.collections.embedding import embed_index
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.generators.model_host import RemoteModelRefused
from prefrag.pipelines import RunFailed, ask, load
from tests.pipelines.remote_parts import REMOTE, dense, remote_judge
from tests.pipelines.scripted import answer, model, retriever, scripted, search


def hybrid() -> dict[str, Any]:
    return {
        "type": "prefrag.components.retrievers.hybrid_retriever.HybridRetriever",
        "init_parameters": {"retrievers": [retriever({}, "words"), dense()]},
    }


def nested_pipeline() -> dict[str, Any]:
    part = {
        "type": "prefrag.components.reasoner.reasoner.Reasoner",
        "init_parameters": {"chat_generator": model("x", model_host=REMOTE)},
    }
    inner: dict[str, Any] = {"components": {"inner": part}, "connections": []}
    return {
        "type": "haystack.core.super_component.super_component.SuperComponent",
        "init_parameters": {
            "pipeline": inner,
            "input_mapping": {"query": ["inner.state"]},
            "output_mapping": {"inner.state": "documents"},
            "is_pipeline_async": False,
        },
    }


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        ({"model_settings": {"model_host": REMOTE}}, REMOTE),
        ({"replace": {"judge.judge": remote_judge()}}, "judge.example.org"),
        ({"replace": {"local.retriever": dense()}}, "embedder at api.openai.com"),
        ({"replace": {"local.retriever": hybrid()}}, "embedder at api.openai.com"),
        ({"replace": {"local.retriever": nested_pipeline()}}, REMOTE),
    ],
    ids=["reasoner", "judge", "embedder", "hybrid", "nested pipeline"],
)
def test_a_pipeline_with_a_remote_model_is_refused_at_load(
    settings: dict[str, Any], host: str, monkeypatch: pytest.MonkeyPatch
):
    scripted(answer(), **settings)
    monkeypatch.setenv("PREFRAG_REMOTE_MODEL", "off")

    with pytest.raises(RemoteModelRefused, match=host):
        scripted(answer(), **settings)


def test_variables_of_a_remote_server_are_refused(monkeypatch: pytest.MonkeyPatch):
    pipeline = load()
    monkeypatch.setenv("PREFRAG_REMOTE_MODEL", "off")
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", f"https://key:secret@{REMOTE}/v1/private")
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "large")

    for start in (load, pipeline.warm_up):
        with pytest.raises(RemoteModelRefused, match=REMOTE) as refusal:
            start()
        assert "secret" not in str(refusal.value)
        assert "private" not in str(refusal.value)


def test_shipped_pipelines_load_where_models_have_to_be_local(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_REMOTE_MODEL", "off")

    for name in ("prefrag", "mspr", "dr_rag_qdc", "prefrag_dense", "prefrag_elasticsearch_hybrid"):
        load(name)


def test_unreadable_hosts_are_refused_at_load(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_LOCAL_HOSTS", "gpu.example, not a host")

    with pytest.raises(ValueError, match="PREFRAG_LOCAL_HOSTS holds 'not a host'"):
        load()


def test_every_call_is_listed_by_host_and_role():
    pipeline = scripted(
        search("alpha"),
        search("beta"),
        answer("1974"),
        model_settings={"model_host": REMOTE},
        replace={"judge.judge": remote_judge()},
    )

    sent = ask("Who built it?", pipeline)["sent_to_models"]

    tokens = {"prompt_tokens": 30, "completion_tokens": 6}
    assert sent == [
        {"host": REMOTE, "remote": True, "role": "llm", "calls": 3, **tokens},
        {
            "host": "judge.example.org",
            "remote": True,
            "role": "judge",
            "calls": 1,
            "prompt_tokens": 10,
            "completion_tokens": 2,
        },
    ]


def test_a_prompt_that_got_no_reply_is_listed_too():
    pipeline = scripted(search("alpha"), "!down", model_settings={"model_host": REMOTE})

    with pytest.raises(RunFailed) as failure:
        ask("Who built it?", pipeline)

    [sent] = failure.value.result["sent_to_models"]
    assert (sent["host"], sent["calls"], sent["prompt_tokens"]) == (REMOTE, 2, 10)


def test_a_search_counts_the_query_that_its_embedder_got():
    embedder = {"type": "tests.fakes.ScriptedEmbedder", "init_parameters": {"model_host": "embed.example.org"}}
    pipeline = scripted(
        search("alpha"),
        answer("1973", "INCORRECT"),
        answer("1974"),
        replace={f"{name}.retriever": dense(embedder) for name in ("local", "local_again")},
    )

    pipeline.warm_up()
    sent = [
        (entry["role"], entry["host"], entry["calls"]) for entry in ask("Who built it?", pipeline)["sent_to_models"]
    ]

    assert sent == [("llm", "localhost", 3), ("embedder", "embed.example.org", 2)]


def test_passages_are_not_embedded_on_another_machine_either(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_REMOTE_MODEL", "off")
    embedder = OpenAIDocumentEmbedder(api_key=Secret.from_token("none"))

    with pytest.raises(RemoteModelRefused, match=r"api\.openai\.com"):
        embed_index(LocalCollection("demo"), embedder=embedder)
