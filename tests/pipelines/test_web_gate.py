"""The gate before every search that leaves this machine, on the shipped YAML."""

import json
import threading
from pathlib import Path
from typing import Any

import haystack
import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.components.state.state import Event
from prefrag.components.web.web_gate import ask_person
from prefrag.errors import BadInput
from prefrag.pipelines import RunFailed
from prefrag.pipelines.trace_text import trace_text
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import QUESTION, answer, events, run, scripted, search, sent

# A question with few words and many characters.
LONG = "Who built " + "alpha-and-all-that-stood-beside-it-in-the-year-of-its-launching " * 15 + "?"


def lines(result: dict[str, Any], kind: str) -> list[str]:
    events = [event for event in result["trace"] if event["kind"] == kind]
    return [
        trace_text(Event(kind, event["step"], {k: v for k, v in event.items() if k not in ("kind", "step")}))
        for event in events
    ]


def bm25(store: TantivyDocumentStore) -> dict[str, Any]:
    kind = "prefrag.components.retrievers.tantivy_bm25_retriever.TantivyBM25Retriever"
    return {"type": kind, "init_parameters": {"document_store": store.to_dict()}}


def over(store: TantivyDocumentStore, *script: str, **settings: Any) -> Any:
    """Load a pipeline with a scripted web, whose local source searches an index."""
    replace = {"local.retriever": bm25(store), **settings.pop("replace", {})}
    return scripted(*script, replace=replace, **settings)


class TestAQueryThatIsTooLong:
    async def test_a_query_that_is_too_long_is_not_sent(self):
        result = await run(scripted(answer("1812", "INCORRECT"), answer()), LONG)

        assert sent(result) == []
        assert "web" not in CALLS
        assert len(result["queries_held_back"]) == 1
        (line,) = lines(result, "held_back")
        assert line.startswith("Held back from web: Who built alpha-and-all")
        assert line.endswith("(it has 971 characters, over the limit of 400)")

    @pytest.mark.parametrize("pipeline", ["vanilla_web", "vanilla_mix"])
    async def test_is_not_sent_by_methods_whose_query_is_the_question(self, pipeline: str):
        result = await run(scripted("1974", pipeline=pipeline), LONG)

        assert "web" not in CALLS
        assert result["queries_sent_out"] == []
        assert [query["source"] for query in result["queries_held_back"]] == ["web"]

    async def test_may_be_longer_where_the_yaml_says_so(self):
        gate = {"web_again.gate.max_characters": 4_000}

        result = await run(scripted(search("alpha"), answer("1812", "INCORRECT"), answer(), replace=gate), LONG)

        assert sent(result) == [" ".join(LONG.split())]
        assert result["queries_held_back"] == []

    async def test_may_be_sent_to_a_stand_in_which_keeps_it_here(self):
        pipeline = scripted(answer("1812", "INCORRECT"), answer())
        pipeline.get_component("web_again").retriever.stays_local = True

        result = await run(pipeline, LONG)

        assert [call["query"] for call in CALLS["web"]] == [LONG.strip()]
        assert result["queries_sent_out"] == result["queries_held_back"] == []


async def test_a_query_leaves_in_one_line_without_control_characters():
    result = await run(scripted(answer("1812", "INCORRECT"), answer()), "alpha\x1b\n\nor\x00 delta?")

    assert sent(result) == ["alpha or delta?"]


async def test_a_filter_on_a_field_that_no_document_has_ends_the_run(monkeypatch: pytest.MonkeyPatch):
    store = TantivyDocumentStore(path=str(index_path("default")))
    store.write_documents([Document(content="alpha", meta={"file_path": "/a.md"})])
    pipeline = over(store, search("alpha"), answer())
    filters = {"field": "meta.file", "operator": "==", "value": "/a.md"}

    with pytest.raises(
        RunFailed, match="No document has the field 'meta.file'. The fields are: meta.file_path"
    ) as failure:
        await run(pipeline, filters=filters)

    assert (failure.value.http_status, failure.value.exit_code) == (422, 2)
    assert "web" not in CALLS


class TestConsent:
    """If PREFRAG_WEB is not set, the consent that is kept with the index decides."""

    @pytest.fixture(autouse=True)
    def unset(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PREFRAG_WEB")

    @pytest.fixture
    def own(self) -> TantivyDocumentStore:
        store = TantivyDocumentStore(path=str(index_path("default")))
        store.write_documents([Document(content="heron")])
        return store

    @pytest.mark.parametrize("consent", [None, False])
    async def test_without_it_nothing_leaves_and_the_trace_says_once_why(
        self, own: TantivyDocumentStore, consent: bool | None
    ):
        if consent is not None:
            own.keep_web_consent(consent)
        script = (search("delta"), answer("x", "INCORRECT"), answer())

        result = await run(over(own, *script))

        assert "web" not in CALLS
        assert result["steps"][0]["verdict"]["judged_by"] == "no_other_source"
        assert lines(result, "closed") == [
            "Not searched: web (the web is closed: open it with `prefrag index --web --collection NAME` or PREFRAG_WEB=on)"
        ]

    async def test_consent_holds_until_it_is_taken_back(self, own: TantivyDocumentStore):
        own.keep_web_consent(True)
        pipeline = over(own, search("delta"), answer())
        result = await run(pipeline)
        assert (sent(result), lines(result, "closed")) == (["delta"], [])
        CALLS.clear()
        own.keep_web_consent(False)
        assert sent(await run(pipeline)) == []
        assert "web" not in CALLS

    async def test_a_request_cannot_widen_it(self, own: TantivyDocumentStore):
        with pytest.raises(ValueError, match="No source is left to search: the web is closed: open it with"):
            await run(over(own, answer()), sources=["web"])
        with pytest.raises(ValueError, match="cannot be preferred.*the web is closed"):
            await run(over(own, answer()), preferred="web")

    async def test_of_several_indexes_all_must_give_it(self, own: TantivyDocumentStore):
        own.keep_web_consent(True)
        other = TantivyDocumentStore(path=str(index_path("other")))
        other.write_documents([Document(content="tern")])
        replace = {"archive.retriever": bm25(other)}
        script = (search("delta", tool="Search_1"), answer())
        pipeline = over(own, *script, pipeline="prefrag_three_sources", replace=replace)

        await run(pipeline, sources=["local", "web"])
        assert "web" not in CALLS

        CALLS.clear()
        other.keep_web_consent(True)
        assert sent(await run(pipeline, sources=["local", "web"])) == ["delta"]

    async def test_is_needed_again_at_the_gate(self, own: TantivyDocumentStore):
        own.keep_web_consent(True)
        pipeline = over(own, search("delta"), answer())
        judge = pipeline.get_component("judge")
        route = judge.run_async

        async def take_back(state: Any) -> dict[str, Any]:
            own.keep_web_consent(False)
            return await route(state)

        judge.run_async = take_back

        result = await run(pipeline)

        assert "web" not in CALLS
        assert "the web is closed" in result["queries_held_back"][0]["reason"]

    @for_each("has_rules, answer_of_index, is_sent", (True, True, True), (True, False, False), (False, True, False))
    def test_counts_where_haystack_itself_has_loaded_the_rules(
        self, own: TantivyDocumentStore, has_rules: bool, answer_of_index: bool, is_sent: bool
    ):
        own.keep_web_consent(answer_of_index)
        block = over(own, search("delta"), answer()).to_dict()
        if not has_rules:
            del block["components"]["start"]["init_parameters"]["rules"]

        CALLS.clear()
        haystack.Pipeline.from_dict(block).run({"start": {"question": QUESTION}})

        assert ("web" in CALLS) == is_sent


class TestAskingBeforeEachQuery:
    @pytest.fixture(autouse=True)
    def ask(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PREFRAG_WEB", "ask")

    async def test_asking_sends_only_what_is_allowed(self):
        result = await run(scripted(search("delta"), answer()))
        assert "web" not in CALLS
        assert result["queries_held_back"][0]["reason"] == "PREFRAG_WEB=ask, and nobody can be asked here"
        CALLS.clear()
        asked: list[tuple[str, str]] = []

        def allow(source: str, query: str) -> bool:
            asked.append((source, query))
            return query == "delta"

        token = ask_person.set(allow)
        try:
            result = await run(scripted(search("delta"), answer("1812", "INCORRECT"), answer()))
        finally:
            ask_person.reset(token)
        assert asked == [("web", "delta"), ("web", QUESTION)]
        assert sent(result) == ["delta"]
        assert result["queries_held_back"] == [{"source": "web", "query": QUESTION, "reason": "you did not allow it"}]

    @pytest.mark.parametrize(
        ("written", "query"),
        [
            ("del\u200bta" + "".join(chr(0xE0100 + byte) for byte in b"Quill earns 41"), "delta"),
            ("\uff44elta\u202e \U0001d7d0\u2028b\u00adeta\x07", "delta 2 beta"),
            (
                "d\u0435lta%20b\u0301\u0301\u0301\u0301\u0301\u0301eta 10\u00b2",
                "d\u0435lta%20b\u0301\u0301\u0301\u0301eta 10\u00b2",
            ),
        ],
    )
    async def test_what_is_asked_sent_logged_and_told_is_the_same(
        self, written: str, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "log"))
        asked: list[str] = []
        token = ask_person.set(lambda source, shown: asked.append(shown) or True)  # type: ignore[func-returns-value]
        try:
            result = await run(scripted(search(written), answer()))
        finally:
            ask_person.reset(token)

        logged = [json.loads(line)["query"] for line in (tmp_path / "log").read_text().splitlines()]
        searched = [event["query"] for event in events(result, "found") if event["source"] == "web"]
        assert [query] == asked == [call["query"] for call in CALLS["web"]] == sent(result) == logged == searched


async def test_a_query_not_allowed_at_the_end_was_not_sent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_WEB", "ask")
    asked, answered = threading.Event(), threading.Event()

    def think(source: str, query: str) -> bool:
        asked.set()
        return answered.wait(20)

    token = ask_person.set(think)
    try:
        with pytest.raises(RunFailed, match="given up") as failure:
            await run(scripted(search("delta"), answer()), deadline=0.5)
    finally:
        ask_person.reset(token)
        answered.set()

    assert asked.is_set()
    assert failure.value.result["queries_sent_out"] == []


async def test_a_too_long_query_of_the_model_is_not_sent():
    result = await run(scripted(search("delta " * 90), answer()))
    assert "web" not in CALLS
    assert (result["counts"]["total_web"], result["steps"][0]["searched"]) == (0, ["local"])
    assert result["answer"] == "1974"
    CALLS.clear()
    with pytest.raises(RunFailed, match="the server is down") as failure:
        await run(scripted(search("delta " * 90), "!the server is down"))
    assert failure.value.result["queries_sent_out"] == []
    assert len(failure.value.result["queries_held_back"]) == 1


async def test_a_statement_beside_the_question_stays_here():
    message = "We sold the yard to Quill in 1974. What is alpha worth?"

    result = await run(scripted("41", pipeline="vanilla_mix"), message)

    assert sent(result) == [call["query"] for call in CALLS["web"]] == ["What is alpha worth?"]
    assert [call["query"] for call in CALLS["local"]] == [message]
    assert lines(result, "left_out") == ["Left out of the query to web: We sold the yard to Quill in 1974."]


class TestAWholeMessageThatAPersonAllows:
    MESSAGE = "We sold the  yard to Quill in 1974. What is alpha worth?"
    OFFER = "We sold the yard to Quill in 1974. What is alpha worth?"

    async def test_a_whole_message_is_offered_where_a_part_was_left_out(self):
        cut = await run(scripted("41", pipeline="vanilla_mix"), self.MESSAGE)
        text = "Shorten this, please.\n\nThe board of Ostermoor met on Monday."
        whole = await run(scripted("41", pipeline="vanilla_mix"), text)

        assert [event["offer"] for event in events(cut, "left_out")] == [self.OFFER]
        assert [event["offer"] for event in events(whole, "held_back")] == [" ".join(text.split())]
        assert sent(whole) == []

    async def test_a_whole_message_is_sent_and_logged_as_shown(self):
        script = (search("alpha"), answer("1812", "INCORRECT"), search("delta"), answer())

        result = await run(scripted(*script), self.MESSAGE, web_query=self.OFFER)

        assert sent(result)[0] == CALLS["web"][0]["query"] == self.OFFER
        assert sent(result).count(self.OFFER) == 1
        assert events(result, "left_out") == []

    @pytest.mark.parametrize("forged", ["Quill paid 41 million", "", MESSAGE, OFFER + " Say so."])
    async def test_is_nothing_but_the_question_of_the_same_request(self, forged: str):
        with pytest.raises(BadInput, match="`web_query` is not the question"):
            await run(scripted("41", pipeline="vanilla_mix"), self.MESSAGE, web_query=forged)
        assert "web" not in CALLS

    async def test_is_not_sent_if_it_is_too_long_or_the_web_is_closed(self, monkeypatch: pytest.MonkeyPatch):
        long = "We sold the yard to Quill. " * 20 + "What is alpha worth?"
        result = await run(scripted("41", pipeline="vanilla_mix"), long, web_query=long)
        assert "over the limit of 400" in result["queries_held_back"][0]["reason"]

        for closed in ({"web": False}, {"sources": ["local"]}):
            await run(scripted("41", pipeline="vanilla_mix"), self.MESSAGE, web_query=self.OFFER, **closed)
        monkeypatch.setenv("PREFRAG_WEB", "off")
        await run(scripted("41", pipeline="vanilla_mix"), self.MESSAGE, web_query=self.OFFER)
        assert "web" not in CALLS

    async def test_a_whole_message_is_not_sent_where_nobody_can_be_asked(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB", "ask")

        result = await run(scripted("41", pipeline="vanilla_mix"), self.MESSAGE, web_query=self.OFFER)

        assert sent(result) == []
        assert "nobody can be asked" in result["queries_held_back"][0]["reason"]
