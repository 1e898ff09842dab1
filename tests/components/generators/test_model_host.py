"""Where a model runs, found without resolving any name."""

import socket
from typing import Any

import pytest
from elasticsearch import AsyncElasticsearch, Elasticsearch
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.generators.chat import FallbackChatGenerator, OpenAIChatGenerator
from haystack.components.rankers import LLMRanker
from haystack.utils import Secret
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator
from prefrag.components.generators.model_host import (
    Model,
    RemoteModelRefused,
    find_host,
    find_models,
    is_local,
    read_host,
    refuse_remote_models,
)
from prefrag.components.generators.recorded_chat_generator import RecordedChatGenerator
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.recording import Recording
from prefrag.components.retrievers.dense_retriever import DenseRetriever
from tests.fakes import ScriptedChatGenerator, ScriptedRetriever
from tests.for_each import for_each

KEY = Secret.from_token("sk-secret")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("A name was looked up.")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for name in ("PREFRAG_LLM_BASE_URL", "PREFRAG_JUDGE_BASE_URL", "PREFRAG_LOCAL_HOSTS", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@for_each(
    "hosts, local",
    (["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.8.9.1", "::1", "[::1]", "::ffff:127.0.0.1"], True),
    (["api.example.org", "10.0.0.5", "192.168.0.2", "0.0.0.0", "::", "unknown", "", "2130706433"], False),
    (["127.0.0.1.evil.example", "localhost.evil.example", "ollama"], False),
)
def test_loopback_is_local_and_everything_else_remote(hosts: list[str], local: bool):
    assert {host: is_local(host) for host in hosts} == dict.fromkeys(hosts, local)


@for_each(
    "host, local",
    ("ollama", True),
    ("Ollama.", True),
    ("gpu.corp.example", True),
    ("a.b.corp.example", True),
    ("corp.example", False),
    ("evilcorp.example", False),
    ("gpu.corp.example.evil.example", False),
    ("10.200.0.9", True),
    ("::ffff:10.200.0.9", True),
    ("11.0.0.9", False),
    ("192.168.7.7", True),
    ("192.168.7.8", False),
    ("fd00::8", True),
    ("fe00::8", False),
    ("10.evil.example", False),
)
def test_the_administrator_names_hosts_domains_and_networks(host: str, local: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_LOCAL_HOSTS", "ollama, *.corp.example,10.0.0.0/8,192.168.7.7, fd00::/8,")

    assert is_local(host) is local


@for_each("entry", "*", "http://gpu:8000", "gpu:8000", "10.0.0.0/99", "*corp.example", "a b")
def test_an_entry_that_cannot_be_used_is_named(entry: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_LOCAL_HOSTS", entry)

    with pytest.raises(ValueError, match="PREFRAG_LOCAL_HOSTS holds '"):
        is_local("api.example.org")


@for_each(
    "url, host",
    ("https://user:password@API.example.org:8443/v1?key=1", "api.example.org"),
    ("http://[::1]:8000/v1", "::1"),
    ("gpu:11434", "gpu"),
    ("http://127.0.0.1@evil.example/", "evil.example"),
    ("http://[broken", "unknown"),
    ("", "unknown"),
)
def test_a_host_has_no_user_port_or_path(url: str, host: str):
    assert read_host(url) == host


def block(name: str, **parameters: Any) -> dict[str, Any]:
    return {"type": f"some.package.{name}", "init_parameters": parameters}


class WebLikeSearch:
    """A search with a key, which is not a model."""

    api_key = KEY

    def run(self, query: str) -> dict[str, Any]:
        return {"documents": []}


class KeyedRanker:
    """A user's ranker with the key of a server."""

    def __init__(self) -> None:
        self.key = KEY

    def run(self, query: str, documents: list[Any]) -> dict[str, Any]:
        return {"documents": documents}


class MutedGenerator:
    """A user's generator that does not say where it sends prompts."""

    def run(self, messages: list[Any]) -> dict[str, Any]:
        return {"replies": []}


def openai(url: str | None = None) -> OpenAIChatGenerator:
    return OpenAIChatGenerator(api_key=KEY, api_base_url=url)


@for_each(
    "make, models",
    (lambda: openai(), [Model("llm", "api.openai.com")]),
    (lambda: openai("http://gpu:8000/v1"), [Model("llm", "gpu")]),
    (
        lambda: FallbackChatGenerator([openai("http://localhost/v1"), openai()]),
        [Model("llm", "localhost"), Model("llm", "api.openai.com")],
    ),
    (lambda: OpenAITextEmbedder(api_key=KEY), [Model("embedder", "api.openai.com")]),
    (
        lambda: block("AzureOpenAITextEmbedder", azure_endpoint="https://mine.azure.example"),
        [Model("embedder", "mine.azure.example")],
    ),
    (
        lambda: OpenAIDocumentEmbedder(api_key=KEY, api_base_url="http://127.0.0.1:1/v1"),
        [Model("embedder", "127.0.0.1")],
    ),
    (lambda: block("HuggingFaceTEIRanker", url="http://tei:80"), [Model("ranker", "tei")]),
    (lambda: KeyedRanker(), [Model("ranker", "unknown")]),
    (lambda: LLMRanker(chat_generator=openai()), [Model("llm", "api.openai.com")]),
    (lambda: MutedGenerator(), [Model("llm", "unknown")]),
    (lambda: EmbeddedChatGenerator("model.gguf"), [Model("llm", "localhost")]),
    (lambda: ChatModel(), [Model("llm", "localhost")]),
    (lambda: WebLikeSearch(), []),
    (lambda: TitleMatchRanker(), []),
    (lambda: ScriptedRetriever({}, "local"), []),
    (lambda: block("OpenAITextEmbedder"), [Model("embedder", "api.openai.com")]),
    (lambda: block("OpenAITextEmbedder", api_base_url="http://gpu/v1"), [Model("embedder", "gpu")]),
    (lambda: block("CohereTextEmbedder"), [Model("embedder", "unknown")]),
    (lambda: block("SentenceTransformersTextEmbedder", token={"env_vars": ["T"]}), [Model("embedder", "localhost")]),
    (lambda: block("HuggingFaceAPITextEmbedder", api_params={"url": "http://tei:80"}), [Model("embedder", "tei")]),
    (
        lambda: DenseRetriever(block("OpenAITextEmbedder"), ScriptedRetriever({}, "local")),  # type: ignore[arg-type]
        [Model("embedder", "api.openai.com")],
    ),
    (lambda: [ScriptedRetriever({}, "local"), None, "text", 3], []),
)
def test_the_models_of_a_component_are_found_with_their_hosts(make: Any, models: list[Model]):
    assert find_models(make()) == models


def test_a_model_without_an_address_runs_where_its_variables_say(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gpu:8000/v1")
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "https://user:secret@api.example.org/v1")
    monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", "http://127.0.0.1:8000/v1")

    models = find_models([openai(), block("OpenAITextEmbedder"), ChatModel(), ChatModel(role="judge")])

    assert models[:2] == [Model("llm", "gpu"), Model("embedder", "gpu")]
    assert models[2:] == [Model("llm", "api.example.org"), Model("llm", "127.0.0.1")]


def test_a_choice_among_models_names_every_remote_one():
    chosen = FallbackChatGenerator([openai("http://localhost/v1"), openai("http://gpu/v1"), openai()])

    assert find_host(chosen) == "gpu or api.openai.com"
    assert find_host(FallbackChatGenerator([openai("http://localhost/v1"), openai("http://127.0.0.1/")])) == "localhost"


def test_a_recording_sends_nothing_while_it_is_replayed(tmp_path: Any):
    remote = ScriptedChatGenerator(["1974"], model_host="api.example.org")
    file = tmp_path / "kept.jsonl"
    recorded = RecordedChatGenerator(Recording(str(file), "record"), "llm", remote)
    file.touch()

    assert find_host(recorded) == "api.example.org"
    assert find_host(RecordedChatGenerator(Recording(str(file), "replay"), "llm", remote)) == "localhost"


@for_each("value", "off", "of")
def test_remote_model_is_refused_on_wish_unless_host_is_named(value: str, monkeypatch: pytest.MonkeyPatch):
    """By default, it is allowed."""

    model = ScriptedChatGenerator([], model_host="gpu.corp.example")
    monkeypatch.delenv("PREFRAG_REMOTE_MODEL", raising=False)
    monkeypatch.delenv("PREFRAG_LOCAL_HOSTS", raising=False)
    refuse_remote_models(model)
    monkeypatch.setenv("PREFRAG_REMOTE_MODEL", value)
    with pytest.raises(RemoteModelRefused) as refusal:
        refuse_remote_models(model)
    for part in ("PREFRAG_REMOTE_MODEL is off", "llm at gpu.corp.example", "PREFRAG_LOCAL_HOSTS"):
        assert part in str(refusal.value)
    monkeypatch.setenv("PREFRAG_LOCAL_HOSTS", "*.corp.example")
    refuse_remote_models(model)


@for_each("client", Elasticsearch, AsyncElasticsearch)
def test_the_client_of_a_search_server_is_no_model(client: Any):
    store = ElasticsearchDocumentStore(hosts="http://localhost:9200", index="notes")
    # The state of the store after the first search.
    store._client = store._async_client = client("http://localhost:9200")

    assert find_models([store]) == []
    assert find_models([client("http://localhost:9200")]) == []
