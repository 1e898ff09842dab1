import json
import re
from typing import Any

import pytest
from elastic_transport import ApiResponseMeta, ConnectionTimeout, HttpHeaders, NodeConfig
from elastic_transport import ConnectionError as ServerUnreachable
from elasticsearch import AuthenticationException, BadRequestError, NotFoundError
from haystack import Pipeline
from haystack.document_stores.errors import DocumentStoreError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError
from haystack.utils import Secret
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from tests.components.serialisation import rebuilt
from tests.components.two_ways import both_fail, both_give
from tests.for_each import for_each

OLD = {"field": "meta.year", "operator": "<", "value": 1000}
HIT = {"_source": {"id": "linz", "content": "On the Danube", "title": "Linz", "year": 799}, "_score": 2.5}


FIELDS = ["_id", "content", "title", "country", "year", "file_path"]


class RecordedClient:
    """Records its searches, and answers each with one hit or a failure."""

    def __init__(self, failure: Exception | None = None, reply: Any = None) -> None:
        self.reply = {"hits": {"total": {"value": 1}, "hits": [HIT]}} if reply is None else reply
        self.searches: list[dict[str, Any]] = []
        self.field_requests: list[list[str] | str] = []
        self.failure = failure

    def search(self, **request: Any) -> dict[str, Any]:
        self.searches.append(request)
        if self.failure:
            raise self.failure
        return self.reply

    def field_caps(self, *, index: str, fields: list[str] | str) -> dict[str, Any]:
        self.field_requests.append(fields)
        named = FIELDS if fields == "*" else [name for name in FIELDS if name in fields]
        return {"fields": {name: {} for name in named}}


class RecordedAsyncClient(RecordedClient):
    async def field_caps(self, **request: Any) -> dict[str, Any]:
        return super().field_caps(**request)

    async def search(self, **request: Any) -> dict[str, Any]:
        return super().search(**request)


class Analysis:
    """Analyses as the server does: lower-case words, with UTF-16 offsets that continue from text to text."""

    def __init__(self, gap: int = 1, most: int = 10_000) -> None:
        self.indices = self
        self.gap = gap
        self.most = most
        self.requests: list[list[str]] = []

    def analyze(self, *, index: str, field: str, text: list[str], filter_path: str) -> dict[str, Any]:
        assert (index, field) == ("towns", "content")
        self.requests.append(text)
        tokens, start = [], 0
        for part in text:
            for word in re.finditer(r"\w+|[^\x00-\uffff]", part):
                first, last = utf16(part[: word.start()]), utf16(part[: word.end()])
                token = {"token": word[0].lower(), "start_offset": start + first, "end_offset": start + last}
                tokens.append(token)
            start += utf16(part) + self.gap
        if len(tokens) > self.most:
            raise refusal(BadRequestError, 400)
        return {"tokens": tokens} if tokens else {}


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def retriever_over(**answers: Any) -> tuple[ElasticsearchMultiMatchRetriever, RecordedClient, RecordedAsyncClient]:
    client, async_client = RecordedClient(**answers), RecordedAsyncClient(**answers)
    return ElasticsearchMultiMatchRetriever(store_with(client, async_client)), client, async_client


def store_with(client: RecordedClient | None = None, async_client: RecordedClient | None = None):
    store = ElasticsearchDocumentStore(hosts="http://search.example:9200", index="towns")
    store._client = client
    store._async_client = async_client
    return store


def refusal(kind: type, status: int) -> Exception:
    node = NodeConfig("http", "search.example", 9200)
    meta = ApiResponseMeta(status=status, http_version="1.1", headers=HttpHeaders(), duration=0.1, node=node)
    return kind("refused", meta, {})


def test_searches_title_and_content_summed():
    client = RecordedClient()
    [document] = ElasticsearchMultiMatchRetriever(store_with(client), top_k=3).run(query="Danube")["documents"]
    assert client.searches == [
        {
            "index": "towns",
            "size": 3,
            "_source": {"excludes": ["title_key"]},
            "query": {"multi_match": {"query": "Danube", "type": "most_fields", "fields": ["title^1.25", "content"]}},
        }
    ]
    assert (document.id, document.content, document.score) == ("linz", "On the Danube", 2.5)
    assert document.meta == {"title": "Linz", "year": 799}


def test_a_query_is_sent_with_each_word_once():
    retriever, client, _ = retriever_over()
    retriever.run(query="Who built (Vienna)? Vienna, who?\nU.S.A. - U.S.A", top_k=1)
    retriever.run(query="Ko\u0308ln")
    sent = [search["query"]["multi_match"]["query"] for search in client.searches]
    assert sent == ["Who built (Vienna)? U.S.A. -", "K\u00f6ln"]
    assert client.searches[0]["size"] == 1


async def test_a_run_can_be_filtered_and_both_ways_send_the_same():
    retriever, client, async_client = retriever_over()
    await both_give(retriever, query="Danube", top_k=2, filters=OLD)
    assert async_client.searches == client.searches
    query = client.searches[0]["query"]["bool"]
    assert query["filter"] == [{"bool": {"must": {"range": {"year": {"lt": 1000}}}}}]
    assert query["must"][0]["multi_match"]["query"] == "Danube"


async def test_a_filter_on_an_unknown_field_is_refused():
    retriever, client, async_client = retriever_over()
    misspelt = {"operator": "AND", "conditions": [OLD, {"field": "meta.file", "operator": "==", "value": "a.md"}]}
    message = (
        r"No document has the field 'meta.file'. The fields are: meta.country, meta.file_path, meta.title, meta.year"
    )
    await both_fail(retriever, FilterError, message, query="Danube", filters=misspelt)
    assert client.searches == async_client.searches == []


def test_the_server_is_asked_about_a_field_once():
    client = RecordedClient()
    retriever = ElasticsearchMultiMatchRetriever(store_with(client))
    for _ in range(3):
        retriever.run(query="Danube", filters=OLD)
    assert (client.field_requests, len(client.searches)) == ([["year"]], 3)


@pytest.mark.parametrize("query", ["", "  "])
async def test_a_blank_query_calls_no_server(query):
    retriever, client, async_client = retriever_over()
    assert await both_give(retriever, query=query) == {"documents": []}
    assert client.searches == async_client.searches == []


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (
            {"failure": ServerUnreachable("refused")},
            r"No Elasticsearch answers at http://search.example:9200.*Start it",
        ),
        ({"failure": ConnectionTimeout("slow")}, "request_timeout"),
        ({"failure": refusal(NotFoundError, 404)}, r"no index 'towns'.*prefrag index"),
        ({"failure": refusal(AuthenticationException, 401)}, "PREFRAG_ELASTICSEARCH_API_KEY"),
        ({"reply": {"timed_out": True, "hits": {"hits": []}}}, "only part of the index 'towns'"),
        ({"reply": {"timed_out": False, "_shards": {"total": 5, "failed": 2}, "hits": {"hits": [HIT]}}}, "only part"),
        ({"reply": {"took": 1}}, "did not send a search result"),
        ({"reply": "<html>Sign in</html>"}, "did not send a search result"),
        ({"reply": []}, "did not send a search result"),
    ],
)
async def test_failures_and_partial_searches_say_what_to_do(answer: dict[str, Any], advice: str):
    await both_fail(retriever_over(**answer)[0], DocumentStoreError, advice, query="Danube")


async def test_an_absent_server_is_reported_as_absent():
    retriever = ElasticsearchMultiMatchRetriever(ElasticsearchDocumentStore(hosts="http://127.0.0.1:9", max_retries=0))
    await both_fail(retriever, DocumentStoreError, "No Elasticsearch answers", query="Danube")
    for ask in (lambda: retriever.document_frequencies(["Danube"]), lambda: retriever.analyze("Danube")):
        with pytest.raises(DocumentStoreError, match="No Elasticsearch answers"):
            ask()
    await retriever.close_async()
    retriever.close()


class TestAnalysisOfManyTexts:
    TEXTS = ("Squares of Vienna", "", "the", "  ", "!", "a \U0001f600 b\U0001f600", "Linz", "Linz")
    TOKENS = (
        ["squares", "of", "vienna"],
        [],
        ["the"],
        [],
        [],
        ["a", "\U0001f600", "b", "\U0001f600"],
        ["linz"],
        ["linz"],
    )

    @for_each("texts, tokens, requests", (TEXTS, TOKENS, 1), (("", " "), ([], []), 0))
    def test_takes_one_request_and_of_nothing_none(self, texts: Any, tokens: Any, requests: int):
        server = Analysis()
        assert ElasticsearchMultiMatchRetriever(store_with(server)).analyze_many(texts) == list(tokens)
        assert len(server.requests) == requests

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=6))
    def test_gives_what_each_text_gives_alone(self, texts: list[str]):
        retriever = ElasticsearchMultiMatchRetriever(store_with(Analysis()))
        assert retriever.analyze_many(texts) == [retriever.analyze(text) for text in texts]

    def test_requests_no_more_than_the_server_analyses_at_once(self):
        server = Analysis()
        texts = ["a " * 2_500, "\U0001f600" * 3_000, "b", "c " * 6_000, "d"]
        tokens_of_texts = ElasticsearchMultiMatchRetriever(store_with(server)).analyze_many(texts)
        assert [len(tokens) for tokens in tokens_of_texts] == [2_500, 3_000, 1, 6_000, 1]
        assert [len(request) for request in server.requests] == [1, 2, 1, 1]

    @for_each("server", Analysis(most=4), Analysis(gap=0), Analysis(gap=100))
    def test_texts_are_requested_alone_where_together_refused(self, server: Analysis):
        assert ElasticsearchMultiMatchRetriever(store_with(server)).analyze_many(self.TEXTS) == list(self.TOKENS)
        assert len(server.requests) > 1

    def test_refused_for_a_single_text_is_an_error(self):
        retriever = ElasticsearchMultiMatchRetriever(store_with(Analysis(most=1)))
        with pytest.raises(DocumentStoreError, match="refused"):
            retriever.analyze_many(["Linz", "on the Danube"])


@for_each("filters", {"operator": "AND"}, "at", {"field": "meta.a", "value": 1})
def test_a_filter_that_makes_no_sense_is_named(filters):
    with pytest.raises(FilterError):
        ElasticsearchMultiMatchRetriever(store_with(RecordedClient())).run(query="Danube", filters=filters)


def test_settings_that_make_no_sense_are_named():
    with pytest.raises(ValueError, match="top_k"):
        ElasticsearchMultiMatchRetriever(store_with(), top_k=0)
    with pytest.raises(ValueError, match="at least 1"):
        ElasticsearchMultiMatchRetriever(store_with()).run(query="Danube", top_k=0)
    with pytest.raises(ValueError, match="must be an ElasticsearchDocumentStore, not InMemoryDocumentStore"):
        ElasticsearchMultiMatchRetriever(InMemoryDocumentStore())


def test_the_mapping_analyses_title_and_content_alike():
    properties = ElasticsearchMultiMatchRetriever.recommended_mapping("german")["properties"]
    assert properties["title"] == properties["content"] == {"type": "text", "analyzer": "german"}
    assert properties["title_key"]["type"] == "keyword"


def test_serialises_without_the_key(monkeypatch):
    monkeypatch.setenv("TOWNS_KEY", "hush")
    store = ElasticsearchDocumentStore(
        hosts="http://search.example:9200",
        index="towns",
        api_key=Secret.from_env_var("TOWNS_KEY"),
        custom_mapping=ElasticsearchMultiMatchRetriever.recommended_mapping(),
    )
    retriever = ElasticsearchMultiMatchRetriever(store, top_k=3)
    data = retriever.to_dict()
    assert "hush" not in json.dumps(data)
    assert rebuilt(retriever).top_k == 3

    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    assert Pipeline.loads(pipeline.dumps()).get_component("retriever").to_dict() == data
