"""A source: which failures a run survives, what its parts are called with, and which queries leave this machine."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline, SuperComponent, default_to_dict
from haystack.components.rankers import LostInTheMiddleRanker, MetaFieldRanker
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import SparseEmbedding
from haystack.document_stores.in_memory import InMemoryDocumentStore

from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.recording import NotRecorded, Recording
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from prefrag.components.state.answer_composer import compose
from prefrag.components.state.state import RunError, Search, State
from prefrag.components.web.domain_filter import DomainFilter
from prefrag.components.web.web_gate import WebGate
from tests.components.samples import QUESTION, answer_step, document, observed_step, search_step, state
from tests.fakes import CALLS, Giving, ScriptedRetriever
from tests.for_each import for_each

YEAR = {"field": "meta.year", "operator": ">", "value": 2000}
DEADLINE = 0.05


class HangingInAThread:
    """Never answers, and has no `run_async`."""

    def __init__(self) -> None:
        self.calls = 0
        self.released = threading.Event()

    def run(self, query: str) -> dict[str, Any]:
        self.calls += 1
        self.released.wait(30)
        return {"documents": []}


class Hanging(HangingInAThread):
    """Never answers, in neither way."""

    async def run_async(self, query: str) -> dict[str, Any]:
        self.calls += 1
        await asyncio.Event().wait()
        return {"documents": []}


class StandIn(Giving):
    """A fake of a service on the network."""

    stays_local = True


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    provider = Hanging()
    yield provider
    provider.released.set()


def source(retriever: Any, **changes: Any) -> RetrievalSource:
    return RetrievalSource(**{"name": "local", "retriever": retriever, "retry_policy": once(), **changes})


def once(timeout: float = 15.0, fallback: Any = None) -> RetryPolicy:
    return RetryPolicy(timeout=timeout, retries=0, fallback=fallback)


def again(retries: int, fallback: Any = None, timeout: float = 15.0) -> RetryPolicy:
    return RetryPolicy(timeout=timeout, retries=retries, backoff=0.0, fallback=fallback)


def numbered(count: int, **meta: Any) -> list[Document]:
    return [document(str(number), score=1.0 / number, **meta) for number in range(1, count + 1)]


def last_search(output: dict[str, Any]) -> Search:
    return output["state"].step.searches[-1]


class TestDocuments:
    async def test_documents_of_a_plain_query_are_like_any_retrievers(self):
        output = source(Giving(*numbered(3)), top_k=2).run("tide tables")

        assert list(output) == ["documents"]
        assert [document.id for document in output["documents"]] == ["1", "2"]
        assert await source(Giving(*numbered(3))).run_async("tide tables", top_k=2) == output

    def test_documents_carry_source_and_address_but_no_vectors(self):
        vector = SparseEmbedding(indices=[0], values=[1.0])
        meta = {
            "source": "other",
            "link": "https://a.example",
            "_summary": True,
            "_whole_text": "Another.",
            "year": 1974,
        }
        stored = Document(id="a", content="A.", embedding=[0.1] * 9, sparse_embedding=vector, meta=meta)
        [first, second] = source(Giving(stored, document("b", url="https://b.example"))).run("a")["documents"]
        assert (first.id, first.embedding, first.sparse_embedding) == ("a", None, None)
        assert first.meta == {"source": "local", "link": "https://a.example", "url": "https://a.example", "year": 1974}
        assert second.meta["url"] == "https://b.example"
        assert stored.meta["source"] == "other", "the retriever's own document stays as it is"


class TestState:
    def test_is_searched_for_what_it_needs_now(self):
        retriever = ScriptedRetriever({}, "local")
        reached = state(search_step("aurora"), top_k=7, filters=YEAR)

        source(retriever).run(reached)
        source(retriever).run(reached.with_step(answer_step()))

        assert CALLS["local"] == [
            {"query": "aurora", "top_k": 7, "filters": YEAR},
            {"query": QUESTION, "top_k": 7, "filters": YEAR},
        ]

    def test_comes_back_with_the_search_and_its_event(self):
        reached = state(search_step("aurora"))

        output = source(Giving(document("Aurora"), Document(id="untitled", content="x"))).run(reached)

        search = last_search(output)
        assert (search.source, search.query, search.provider) == ("local", "aurora", "Giving")
        assert list(output) == ["state"]
        assert [document.id for document in search.documents] == ["Aurora", "untitled"]
        event = output["state"].events[-1].to_dict()
        assert (event["kind"], event["step"], event["titles"]) == ("found", 1, ["Aurora", "untitled"])
        assert (event["sent_out"], event["error"]) == (False, None)
        assert reached.step.searches == (), "the state that went in is as it was"


class TestCandidates:
    def test_candidates_are_at_least_as_many_as_requested(self):
        retriever = ScriptedRetriever({"beta": "B.", "alpha": "A."}, "local")
        ranked = source(retriever, ranker=TitleMatchRanker(), candidates=50, top_k=1)
        [document] = ranked.run("what of beta")["documents"]
        ranked.run("a", top_k=99)
        assert ([call["top_k"] for call in CALLS["local"]], document.meta["title"]) == ([50, 99], "beta")
        assert len(source(Giving(*numbered(2)), top_k=9).run("a")["documents"]) == 2
        assert source(Giving(Document(id="bare")), ranker=TitleMatchRanker()).run("a")["documents"][0].id == "bare"

    @for_each("top_k", 3, 7, 20)
    def test_candidates_are_cut_to_the_number_of_the_request(self, top_k: int):
        ranked = source(Giving(*numbered(30)), ranker=TitleMatchRanker(top_k=5), candidates=50)

        assert len(last_search(ranked.run(state(search_step(), top_k=top_k))).documents) == top_k


class TestArguments:
    def test_go_only_to_retrievers_that_take_them(self):
        plain = Giving(document("a"))
        output = source(plain, candidates=50).run("a")
        assert (plain.queries, len(output["documents"])) == (["a"], 1)
        source(ScriptedRetriever({}, "local")).run(state(search_step(), filters={}))
        assert CALLS["local"][0]["filters"] is None

    def test_all_go_to_a_retriever_that_takes_anything(self):
        taken: dict[str, Any] = {}

        class Anything:
            def run(self, **arguments: Any) -> dict[str, Any]:
                taken.update(arguments)
                return {"documents": []}

        source(Anything()).run("a", top_k=2, filters=YEAR)

        assert taken == {"query": "a", "top_k": 2, "filters": YEAR}


class Aware(Giving):
    """Takes further arguments besides the query."""

    def __init__(self, *documents: Document, errors: tuple[Exception, ...] = ()):
        super().__init__(*documents, errors=errors)
        self.passed: list[tuple[str | None, list[str] | None]] = []

    def run(self, query: str, question: str | None = None, observed: list[Document] | None = None) -> dict[str, Any]:
        self.passed.append((question, None if observed is None else [document.id for document in observed]))
        return super().run(query)


class TestContext:
    SECOND_STEP = state(observed_step(document("a"), document("b")), observed_step(document("a")), search_step("yard"))

    async def test_is_the_question_and_what_has_been_observed(self):
        provider = Aware()

        source(provider).run(self.SECOND_STEP)
        await source(provider).run_async(self.SECOND_STEP)

        assert provider.passed == [(QUESTION, ["a", "b"])] * 2

    def test_is_not_there_for_a_plain_query_nor_for_a_source_outside(self):
        provider = Aware()

        source(provider).run("yard")
        source(provider, name="web", external=True).run(self.SECOND_STEP)

        assert provider.passed == [(None, None)] * 2

    def test_goes_to_each_provider_as_far_as_it_takes_it(self):
        first, second = Aware(errors=(ConnectionError("gone"),)), Giving(document("c"))

        reached = source(first, retry_policy=once(fallback=second)).run(self.SECOND_STEP)

        assert [document.id for document in last_search(reached).documents] == ["c"]
        assert first.passed == [(QUESTION, ["a", "b"])]

    @pytest.mark.parametrize(("retriever", "replayed"), [(Aware, ["early", "late"]), (Giving, ["late", "late"])])
    def test_context_parts_the_searches_of_a_recording(
        self, tmp_path: Path, retriever: type[Giving], replayed: list[str]
    ):
        file = tmp_path / "kept.jsonl"
        first = state(search_step("yard"))
        recorded = Recording(str(file), "record")
        source(retriever(document("early")), recording=recorded).run(first)
        source(retriever(document("late")), recording=recorded).run(self.SECOND_STEP)
        silent = source(retriever(), recording=Recording(str(file), "replay"))
        outputs = [silent.run(first), silent.run(self.SECOND_STEP)]
        assert [last_search(output).documents[0].id for output in outputs] == replayed


class TestFailures:
    class Silent:
        def run(self, query: str) -> dict[str, Any]:
            return {"answers": []}

    @for_each(
        "retriever, error",
        (Giving(errors=(ConnectionError("the disk is gone"),)), "Giving: the disk is gone"),
        (Giving(errors=(KeyError(),)), "Giving: KeyError"),
        (Silent(), "Silent: it gave no `documents`"),
        (Giving("no document"), "Giving: it gave no `documents`"),
    )
    def test_are_an_empty_list_and_a_recorded_error(self, retriever: Any, error: str):
        output = source(retriever).run(state(search_step()))
        assert last_search(output).documents == ()
        assert last_search(output).error == output["state"].events[-1].data["error"] == error


class TestRanker:
    class Broken:
        def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
            raise ValueError("no order today")

    class Silent:
        def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
            return {"answers": []}

    class Slow:
        """Blocks the thread that calls it until it is released."""

        def __init__(self) -> None:
            self.released = threading.Event()
            self.threads: list[int] = []

        def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
            self.threads.append(threading.get_ident())
            self.released.wait(30)
            return {"documents": documents[::-1]}

    @for_each("ranker", LostInTheMiddleRanker(), MetaFieldRanker(meta_field="year", missing_meta="drop"))
    def test_of_haystack_that_takes_no_query_is_called_without(self, ranker: Any):
        documents = [Document(id=str(year), content="x", meta={"year": year}) for year in (1931, 1950, 1940)]
        source = RetrievalSource("local", Giving(*documents), ranker=ranker)

        assert {document.id for document in source.run("a query")["documents"]} == {"1931", "1940", "1950"}

    @for_each("ranker, error", (Broken(), "Broken: no order today"), (Silent(), "Silent: it gave no `documents`"))
    @pytest.mark.parametrize("external", [False, True])
    def test_a_failing_ranker_is_named_and_the_order_stays(self, ranker: Any, error: str, external: bool):
        first, second = Giving(*numbered(3)), Giving(document("other"))
        searching = source(first, ranker=ranker, external=external, retry_policy=again(2, second), top_k=2)

        search = last_search(searching.run(state(search_step(), top_k=2)))

        assert [document.id for document in search.documents] == ["1", "2"]
        assert (search.provider, search.error) == ("Giving", error)
        assert (len(first.queries), second.queries) == (1, []), "no query is sent a second time"
        assert [attempt.provider for attempt in search.attempts if attempt.sent_out] == ["Giving"] * external

    async def test_that_hangs_ends_by_the_deadline_and_blocks_nobody(self):
        ranker = self.Slow()
        searching = source(Giving(*numbered(2)), ranker=ranker, retry_policy=once(DEADLINE))

        ended = [await searching.run_async(state(search_step())), searching.run(state(search_step()))]
        ranker.released.set()

        for search in map(last_search, ended):
            assert (search.error, len(search.documents)) == ("Slow: no reply within 0.05 s", 2)
        assert threading.get_ident() not in ranker.threads

    async def test_has_an_asynchronous_form_that_is_awaited(self):
        class Waiting(self.Broken):  # type: ignore[name-defined]
            async def run_async(self, query: str, documents: list[Document]) -> dict[str, Any]:
                await asyncio.sleep(0)
                return {"documents": documents[::-1]}

        output = await source(Giving(*numbered(2)), ranker=Waiting()).run_async("a")

        assert [document.id for document in output["documents"]] == ["2", "1"]


class Embedding(Giving):
    """Sends its query to a model on another machine."""

    model_host = "embed.example.org"

    def run(self, query: str, text: str = "") -> dict[str, Any]:
        return super().run(query)


class Second(Giving):
    """Another provider."""


@pytest.mark.parametrize("how", ["blocking", "async"])
async def test_a_query_for_another_source_is_refused(how: str):
    web = Giving(document("A page"))
    source = RetrievalSource("web", web, external=True)
    meant_for_local = state(search_step("beta")).with_event("search", source="local", query="beta")

    with pytest.raises(RunError, match="A query for the source 'local' reached 'web': correct the pipeline's connect"):
        source.run(meant_for_local) if how == "blocking" else await source.run_async(meant_for_local)

    assert web.queries == []


class TestAttempts:
    @pytest.mark.parametrize("way", ["run", "run_async"])
    async def test_are_told_one_by_one_also_if_a_later_one_succeeds(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
    ):
        log = tmp_path / "audit.jsonl"
        monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(log))
        policy = again(2, fallback=Second(document("a")))
        searching = source(Giving(errors=[ConnectionError("down")] * 3), external=True, retry_policy=policy)
        ended = searching.run(state(search_step())) if way == "run" else await searching.run_async(state(search_step()))

        told = [*[("Giving", "Giving: down")] * 3, ("Second", None)]
        search, event, result = last_search(ended), ended["state"].events[-1].data, compose(ended["state"])
        assert [(attempt.provider, attempt.error) for attempt in search.attempts] == told
        assert [(attempt["provider"], attempt["error"]) for attempt in event["attempts"]] == told
        assert [(sent["provider"], sent["error"]) for sent in result["queries_sent_out"]] == told
        assert result["counts"]["lookups"] == 4
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert [(line["event"], line["provider"]) for line in lines] == [("query", provider) for provider, _ in told]

    def test_are_not_in_the_trace_if_none_failed(self):
        ended = source(Giving(document("a"))).run(state(search_step()))["state"]

        assert "attempts" not in ended.events[-1].data
        assert [attempt.error for attempt in ended.step.searches[-1].attempts] == [None]

    @for_each(
        "retriever, fallback, calls",
        (Embedding(), None, 1),
        (Giving(errors=[TypeError("broken")]), Embedding(), 1),
        (Embedding(errors=[ConnectionError("down")] * 2), Embedding(), 3),
        (Giving(), Embedding(), 0),
    )
    def test_name_the_models_of_the_providers_that_were_called(self, retriever: Any, fallback: Any, calls: int):
        ended = source(retriever, retry_policy=again(1, fallback)).run(state(search_step()))["state"]

        sent = compose(ended)["sent_to_models"]
        assert [(model["host"], model["calls"]) for model in sent] == [("embed.example.org", calls)][:calls]

    def test_are_made_only_if_the_audit_log_can_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        class Unmounting(Giving):
            def run(self, query: str) -> dict[str, Any]:
                monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "unmounted" / "audit.jsonl"))
                return super().run(query)

        monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "audit.jsonl"))
        first, second = Unmounting(errors=[ConnectionError("down")] * 3), Second()

        with pytest.raises(RunError, match="nothing is sent") as raised:
            source(first, external=True, retry_policy=again(2, second)).run(state(search_step()))

        assert (len(first.queries), second.queries) == (1, [])
        assert [sent["provider"] for sent in compose(raised.value.state, error="x")["queries_sent_out"]] == [
            "Unmounting"
        ]

    async def test_attempts_of_a_broken_run_are_kept(self, hanging: Hanging):
        first = Giving(errors=[ConnectionError("down")])
        reached = state(search_step(), external=("web",))
        searching = source(first, name="web", external=True, retry_policy=again(0, hanging, timeout=30))
        task = asyncio.create_task(searching.run_async(reached))
        while not hanging.calls:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        sent = compose(reached, error="The run was given up.")["queries_sent_out"]

        assert [(query["provider"], query["error"]) for query in sent] == [
            ("Giving", "Giving: down"),
            ("Hanging", "the run ended before a reply came"),
        ]


class TestFilters:
    DOCUMENTS = (document("old", year=1974), document("new", year=2024), document("undated"))

    class Nested(Giving):
        """Takes any argument, as a nested pipeline does, and drops those that it does not know."""

        def run(self, query: str, **arguments: Any) -> dict[str, Any]:
            return super().run(query)

    @for_each("retriever", Giving(*DOCUMENTS), Nested(*DOCUMENTS))
    def test_filters_apply_to_a_local_retriever_that_takes_none(self, retriever: Giving):
        search = last_search(source(retriever).run(state(search_step(), filters=YEAR)))

        assert [document.id for document in search.documents] == ["new"]

    def test_filters_apply_to_a_nested_pipeline_without_the_input(self):
        store = InMemoryDocumentStore()
        store.write_documents([document("old", "Alpha.", year=1974), document("new", "Alpha.", year=2024)])
        inner = Pipeline()
        inner.add_component("search", InMemoryBM25Retriever(store))
        for inputs in ({}, {"filters": ["search.filters"]}):
            nested = SuperComponent(inner, {"query": ["search.query"], **inputs}, {"search.documents": "documents"})
            documents = source(nested).run("alpha", filters=YEAR)["documents"]
            assert [document.id for document in documents] == ["new"]

    def test_that_no_document_can_be_compared_with_end_the_run(self):
        with pytest.raises(RunError, match="The filters do not fit the documents of 'local'"):
            source(Giving(document("a", year="soon"))).run(state(search_step(), filters=YEAR))

    @pytest.mark.parametrize("text", [None, "", " \n"])
    def test_a_page_without_a_text_is_no_result(self, text: str | None):
        retriever = Giving(Document(content=text, meta={"title": "Empty", "url": "https://x.example"}), document("a"))

        search = last_search(source(retriever, external=True).run(state(search_step())))

        assert [document.content for document in search.documents] == [document("a").content]
        assert search.error is None

    def test_are_not_for_pages_of_the_web(self):
        search = last_search(source(Giving(document("a")), external=True).run(state(search_step(), filters=YEAR)))

        assert len(search.documents) == 1


class TestRetries:
    @pytest.mark.parametrize("retries", [0, 1, 3])
    async def test_retries_are_bounded_and_a_bare_query_fails_alike(self, retries: int):
        provider = Giving(errors=tuple(ConnectionError("gone") for _ in range(9)))
        searching = source(provider, retry_policy=again(retries))

        with pytest.raises(RuntimeError, match="The source 'local' failed: Giving: gone"):
            searching.run("a")
        with pytest.raises(RuntimeError, match="The source 'local' failed: Giving: gone"):
            await searching.run_async("a")

        assert len(provider.queries) == 2 * (retries + 1)


class TestDeadline:
    async def test_ends_a_call_that_hangs_in_both_ways(self, hanging: Hanging):
        waiting = source(hanging, retry_policy=once(DEADLINE))

        for output in (waiting.run(state(search_step())), await waiting.run_async(state(search_step()))):
            assert last_search(output).error == "Hanging: no reply within 0.05 s"
            assert last_search(output).documents == ()

    def test_a_deadline_takes_a_thread_unless_embedded(self):
        threads = []

        class Telling(Giving):
            embedded = False

            def run(self, query: str) -> dict[str, Any]:
                threads.append(threading.current_thread() is threading.main_thread())
                return super().run(query)

        class Embedded(Telling):
            embedded = True

        for retriever in (Telling(), Embedded()):
            source(retriever).run("a")

        assert threads == [False, True]

    async def test_a_deadline_ends_a_hanging_call_in_a_thread(self):
        hanging = HangingInAThread()

        first = source(hanging, retry_policy=once(DEADLINE)).run_async(state(search_step()))
        second = source(Giving(document("a"))).run_async(state(search_step()))
        outputs = await asyncio.gather(first, second)
        hanging.released.set()

        assert last_search(outputs[0]).error == "HangingInAThread: no reply within 0.05 s"
        assert last_search(outputs[1]).error is None

    def test_a_deadline_is_of_each_attempt_and_frees_the_process(self, hanging: Hanging):
        before = set(threading.enumerate())
        source(hanging, retry_policy=again(2, timeout=DEADLINE)).run(state(search_step()))
        left = set(threading.enumerate()) - before
        assert hanging.calls == len(left) == 3
        assert all(thread.daemon for thread in left)

    async def test_does_not_hide_that_the_run_was_given_up(self, hanging: Hanging):
        task = asyncio.create_task(source(hanging, retry_policy=again(3, timeout=30)).run_async("a"))
        await asyncio.sleep(0)
        while not hanging.calls:
            await asyncio.sleep(0)
        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert hanging.calls == 1


class TestFallback:
    def test_the_fallback_is_called_once_after_all_attempts_failed(self):
        first, second = Giving(errors=(ConnectionError("rate limit"),) * 9), Giving(document("a"))

        search = last_search(source(first, retry_policy=again(2, second)).run(state(search_step())))

        assert (len(first.queries), len(second.queries)) == (3, 1)
        assert (search.provider, search.error, len(search.documents)) == ("Giving", None, 1)

        second = Giving(document("a"))

        assert source(Giving(), retry_policy=once(fallback=second)).run("a")["documents"] == []
        assert second.queries == []

    async def test_that_fails_too_is_reported_with_the_first(self):
        first, second = Giving(errors=(ConnectionError("one"),)), Giving(errors=(ConnectionError("two"),))

        output = await source(first, retry_policy=once(fallback=second)).run_async(state(search_step()))

        assert last_search(output).error == "Giving: one; Giving: two"

    def test_follows_a_first_provider_that_hangs(self, hanging: Hanging):
        output = source(hanging, retry_policy=once(DEADLINE, Giving(document("a")))).run("a")

        assert len(output["documents"]) == 1

    def test_is_never_called_for_a_stand_in(self):
        stand_in, outside = StandIn(errors=(OSError("broken index"),)), Giving(document("a"))

        search = last_search(
            source(stand_in, retry_policy=once(fallback=outside), external=True).run(state(search_step()))
        )

        assert outside.queries == [], "the query would leave this machine"
        assert search.error == "StandIn: broken index"
        assert not search.sent_out


class TestDomains:
    def test_are_filtered_before_the_best_are_kept(self):
        documents = [document("a", url="https://bad.example"), document("b", link="https://example.org/b")]
        filtered = source(Giving(*documents), gate=WebGate(domains=DomainFilter(denied=["bad.example"])), top_k=1)

        assert [document.id for document in filtered.run("a")["documents"]] == ["b"]


class TestSwitchedOff:
    async def test_an_external_source_switched_off_calls_nobody(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB", "off")
        outside = Giving(document("a"))
        web = source(outside, name="web", external=True)

        output = web.run(state(search_step()))

        assert last_search(output).skipped
        assert output["state"].events == ()
        assert web.run("a") == await web.run_async("a") == {"documents": []}
        assert outside.queries == []
        assert len(source(Giving(document("a"))).run("a")["documents"]) == 1

    def test_a_recording_of_the_web_is_not_played_either(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        recording = Recording(str(tmp_path / "kept.jsonl"))
        web = source(Giving(document("a")), external=True, recording=recording)
        web.run("a")
        monkeypatch.setenv("PREFRAG_WEB", "off")

        assert web.run("a")["documents"] == []

    @for_each("reached", state(search_step(), sources=("web",), preferred="web"), state(answer_step(asked=("web",))))
    def test_an_excluded_source_calls_nobody(self, reached: State):
        local = Giving(document("a"))
        output = source(local).run(reached)
        assert local.queries == []
        assert last_search(output).skipped


class TestLeavingThisMachine:
    @for_each(
        "retriever, changes, sent_out",
        (Giving(document("a")), {"external": True}, True),
        (Giving(errors=(OSError("x"),)), {"external": True}, True),
        (Giving(errors=(OSError("x"),)), {"external": True, "retry_policy": once(fallback=Giving())}, True),
        (Giving(document("a")), {}, False),
        (StandIn(document("a")), {"external": True}, False),
    )
    def test_is_reported_of_an_external_source_that_is_no_stand_in(
        self, retriever: Giving, changes: dict[str, Any], sent_out: bool
    ):
        assert last_search(source(retriever, **changes).run(state(search_step()))).sent_out is sent_out


class TestRecording:
    def recorded(self, path: Path, mode: str, retriever: Any, **changes: Any) -> RetrievalSource:
        return source(retriever, recording=Recording(str(path), mode), external=True, **changes)  # type: ignore[arg-type]

    def test_is_replayed_without_calling_anybody(self, tmp_path: Path):
        path = tmp_path / "kept.jsonl"
        first = self.recorded(path, "record", Giving(*numbered(2))).run(state(search_step()))
        silent = Giving()

        again = self.recorded(path, "replay", silent).run(state(search_step()))

        assert last_search(again).documents == last_search(first).documents
        assert silent.queries == []
        assert last_search(again).provider == "recording"
        assert not last_search(again).sent_out

    async def test_that_does_not_hold_the_search_ends_the_run(self, tmp_path: Path):
        path = tmp_path / "kept.jsonl"
        self.recorded(path, "record", Giving(document("a"))).run("other")
        silent = Giving()

        with pytest.raises(NotRecorded, match="does not contain this search of local: aurora"):
            await self.recorded(path, "replay", silent).run_async(state(search_step("aurora")))
        assert silent.queries == []

    def test_is_of_the_parts_and_settings_that_it_was_made_with(self, tmp_path: Path):
        def searching(year: int, ranker: Any = None, mode: str = "reuse") -> RetrievalSource:
            retriever = ScriptedRetriever({str(year): "Text."}, f"of {year}")
            return self.recorded(tmp_path / "kept.jsonl", mode, retriever, name="web", ranker=ranker)

        assert len(searching(1974).run("1974")["documents"]) == 1
        assert len(searching(1974).run("1974")["documents"]) == 1
        assert len(CALLS["of 1974"]) == 1, "the second search is played"
        for other in (searching(2024), searching(1974, TitleMatchRanker())):
            with pytest.raises(ValueError, match="'web' with other parts or settings: record to another file"):
                other.run("1974")
        assert len(searching(2024, mode="replay").run("1974")["documents"]) == 1, "a replay calls nobody"
        assert searching(2024, mode="record").run("1974")["documents"] == []

    def test_holds_no_password_and_knows_a_store_in_memory_again(self, tmp_path: Path):
        class Client(ScriptedRetriever):
            def to_dict(self) -> dict[str, Any]:
                return default_to_dict(self, hosts="http://user:SECRETPW@search.example:9200")

        path = tmp_path / "kept.jsonl"
        for retriever in (Client({}, "x"), Client({}, "x")):
            self.recorded(path, "reuse", retriever).run("a")
        assert "SECRETPW" not in path.read_text()
        for _ in range(2):
            in_memory = InMemoryBM25Retriever(InMemoryDocumentStore())
            self.recorded(path, "reuse", in_memory, name="memory").run("a")

    def test_replays_a_failure_as_one_that_was_survived(self, tmp_path: Path):
        path = tmp_path / "kept.jsonl"
        self.recorded(path, "record", Giving(errors=(OSError("rate limit"),))).run(state(search_step()))
        silent = Giving()

        search = last_search(self.recorded(path, "replay", silent).run(state(search_step())))

        assert "rate limit" in (search.error or "")
        assert search.documents == ()
        assert silent.queries == []


class TestObservedLast:
    SECOND_STEP = state(observed_step(document("a"), document("b")), search_step("yard"), top_k=2)

    def found(self, *keys: str, **changes: Any) -> list[str]:
        searching = source(Giving(*map(document, keys)), **changes)
        return [document.id for document in last_search(searching.run(self.SECOND_STEP)).documents]

    def test_observed_last_puts_new_documents_before_the_cut(self):
        assert self.found("a", "c", "d") == ["a", "c"]
        assert self.found("a", "c", "d", observed_last=True) == ["c", "d"]
        assert self.found("b", "a", "c", observed_last=True) == ["c", "b"]
        assert self.found("a", "b", "c", observed_last=True, ranker=TitleMatchRanker()) == ["c", "a"]

    def test_knows_a_document_that_was_observed_repaired_for_json(self):
        meta = {"title": "\ud800", "url": "b\udfff", "tags": ["d\udc00"]}
        half = Document(id="a\ud83d", content="A \ud800.", score=float("nan"), meta=meta)
        searching = source(Giving(half, document("c")), observed_last=True)
        repaired = last_search(searching.run(state(search_step()))).documents[0]
        json.dumps(repaired.to_dict(), ensure_ascii=False, allow_nan=False).encode()
        assert (repaired.id, repaired.content, repaired.score, repaired.meta["tags"]) == ("a?", "A ?.", None, ["d?"])
        second = searching.run(state(observed_step(repaired), search_step()))
        assert [document.id for document in last_search(second).documents] == ["c", "a?"]

    def test_has_the_form_of_the_question_whatever_the_store_holds(self):
        meta = {"title": "Jo\u0308rg", "url": "https://example.org/Jo\u0308rg"}
        stored = Document(id="Jo\u0308rg", content="Jo\u0308rg runs the \ufb01sh hall.", meta=meta)
        documents = source(Giving(stored, Document(id="n"))).run("J\u00f6rg")["documents"]
        assert (documents[0].content, documents[0].meta["title"]) == ("J\u00f6rg runs the fish hall.", "J\u00f6rg")
        assert (documents[0].id, documents[0].meta["url"]) == (stored.id, meta["url"]), "both name something outside"
        assert documents[1].content is None

    def test_of_an_external_source_tells_its_provider_nothing(self):
        provider = Aware(document("a"), document("c"))
        reached = source(provider, name="web", external=True, observed_last=True).run(self.SECOND_STEP)
        assert [document.id for document in last_search(reached).documents] == ["c", "a"]
        assert provider.passed == [(None, None)]

    def test_makes_another_search_of_a_recording(self, tmp_path: Path):
        recording = Recording(str(tmp_path / "kept.jsonl"))
        provider = Giving(*map(document, "abcd"))
        searching = source(provider, observed_last=True, recording=recording)

        first = searching.run(state(search_step("yard"), top_k=2))
        second = searching.run(self.SECOND_STEP)

        assert [[document.id for document in last_search(output).documents] for output in (first, second)] == [
            ["a", "b"],
            ["c", "d"],
        ]


class TestLookups:
    class Counting(Giving):
        def run(self, query: str) -> dict[str, Any]:
            return {**super().run(query), "lookups": 23}

    @for_each(
        "retriever, changes, lookups",
        (Giving(), {}, 1),
        (Counting(), {}, 23),
        # Every attempt counts, also at a second provider, and also those that failed.
        (Giving(errors=(ConnectionError(), ConnectionError())), {"retry_policy": again(1, Counting())}, 25),
        (Giving(errors=(TypeError(),)), {"retry_policy": again(1, Giving())}, 2),
        # A ranker looks nothing up.
        (Giving(document("a")), {"ranker": TitleMatchRanker()}, 1),
        # A closed source makes no look-ups.
        (Giving(), {"name": "other"}, 0),
    )
    def test_are_one_or_those_that_a_retriever_counts(self, retriever: Giving, changes: dict[str, Any], lookups: int):
        assert last_search(source(retriever, **changes).run(state(search_step()))).lookups == lookups


def test_warms_up_its_parts():
    warmed: list[str] = []

    class Cold(Giving):
        def warm_up(self) -> None:
            warmed.append("part")

    source(Cold(), retry_policy=once(fallback=Cold())).warm_up()

    assert warmed == ["part", "part"]


async def test_concurrent_calls_of_one_source_do_not_mix():
    retriever = ScriptedRetriever({str(number): "x" for number in range(20)}, "local")
    shared = source(retriever)

    outputs = await asyncio.gather(*(shared.run_async(state(search_step(str(number)))) for number in range(20)))

    assert [[document.meta["title"] for document in last_search(output).documents] for output in outputs] == [
        [str(number)] for number in range(20)
    ]


async def test_a_nested_pipeline_searches_whichever_engine_it_has():
    inner = Pipeline()
    inner.add_component("search", ScriptedRetriever({"alpha": "Alpha."}, "nested"))
    nested = SuperComponent(inner, {"query": ["search.query"]}, {"search.documents": "documents"})

    output = await RetrievalSource("local", nested).run_async("alpha")

    assert [document.content for document in output["documents"]] == ["Alpha."]
