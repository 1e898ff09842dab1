"""The audit log: everything that leaves is logged first; if it cannot be logged, it does not leave."""

import hashlib
import json
import os
import platform
import stat
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.audit_log import check_audit_log
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.pipelines import RunFailed
from tests.fakes import CALLS
from tests.indexes import index_of
from tests.pipelines.remote_parts import REMOTE, dense, remote_judge
from tests.pipelines.scripted import answer, scripted, search

QUESTION = "In which year did the yard that built alpha win the prize?"
LONG = "delta " * 90


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "audit.jsonl"))
    return tmp_path / "audit.jsonl"


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def test_none_is_kept_unless_the_administrator_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    result = pipelines.ask(QUESTION, scripted(search("delta"), answer()))

    assert result["queries_sent_out"]
    assert list(tmp_path.iterdir()) == []


class TestALine:
    def test_of_a_query_says_what_left_to_where_and_for_which_run(self, log: Path):
        pipelines.ask(QUESTION, scripted(search("delta"), answer()))

        (line,) = lines(log)
        assert len(line.pop("run")) == 32
        assert line.pop("time").startswith("20")
        assert line == {
            "machine": platform.node(),
            "process": os.getpid(),
            "pipeline": "prefrag",
            "collection": "",
            "event": "query",
            "source": "web",
            "provider": "ScriptedRetriever",
            "query": "delta",
        }

    def test_names_the_collection_that_is_searched(self, log: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_INDEX", "papers")
        index_of([Document(content="alpha")], index_path("papers"))
        store = {"type": "prefrag.components.document_stores.tantivy.document_store.TantivyDocumentStore"}
        bm25 = {
            "type": "prefrag.components.retrievers.tantivy_bm25_retriever.TantivyBM25Retriever",
            "init_parameters": {"document_store": {**store, "init_parameters": {}}},
        }

        pipelines.ask(QUESTION, scripted("1974", pipeline="vanilla_mix", replace={"local.retriever": bm25}))

        assert [line["collection"] for line in lines(log)] == ["papers"]

    def test_is_there_before_the_query_leaves(self, log: Path):
        pipeline = scripted(search("delta"), answer())
        retriever = pipeline.get_component("web").retriever
        searched, seen = retriever.run_async, []

        async def run(query: str, **arguments: Any) -> Any:
            seen.append(lines(log)[-1]["query"])
            return await searched(query=query, **arguments)

        retriever.run_async = run
        pipelines.ask(QUESTION, pipeline)

        assert seen == ["delta"]

    def test_of_a_remote_model_is_one_a_call_with_its_host(self, log: Path):
        pipeline = scripted(
            search("alpha"),
            search("beta"),
            answer(),
            model_settings={"model_host": REMOTE},
            replace={"judge.judge": remote_judge()},
        )

        result = pipelines.ask(QUESTION, pipeline)

        calls = [line for line in lines(log) if line["event"] == "model_call"]
        assert [(line["role"], line["caller"], line["host"]) for line in calls] == [
            ("llm", "reasoner", REMOTE),
            ("llm", "reasoner", REMOTE),
            ("judge", "judge", "judge.example.org"),
            ("llm", "reasoner", REMOTE),
        ]
        assert sum(sent["calls"] for sent in result["sent_to_models"]) == len(calls)
        assert len({line["run"] for line in lines(log)}) == 1

    def test_of_an_embedder_has_the_query_that_it_gets(self, log: Path):
        embedder = {"type": "tests.fakes.ScriptedEmbedder", "init_parameters": {"model_host": "embed.example.org"}}
        pipeline = scripted(search("alpha"), answer(), replace={"local.retriever": dense(embedder)})
        pipeline.warm_up()

        pipelines.ask(QUESTION, pipeline)

        (line,) = lines(log)
        assert {name: line[name] for name in ("event", "role", "host", "source", "query")} == {
            "event": "model_call",
            "role": "embedder",
            "host": "embed.example.org",
            "source": "local",
            "query": "alpha",
        }

    def test_of_a_query_held_back_has_the_reason(self, log: Path):
        pipelines.ask(QUESTION, scripted(search(LONG), answer()))

        (line,) = lines(log)
        assert (line["event"], line["source"]) == ("held_back", "web")
        assert "over the limit of 400" in line["reason"]

    def test_a_line_of_a_stopped_query_has_the_reason(self, log: Path):
        with pytest.raises(RunFailed, match="was not sent"):
            pipelines.ask(QUESTION, scripted(search("delta"), answer(), errors={"local": "down"}))
        assert [(line["event"], line["reason"]) for line in lines(log)] == [("held_back", "'local' failed")]
        CALLS.clear()
        with pytest.raises(RunFailed):
            pipelines.ask(QUESTION, scripted(search("delta"), "!down", model_settings={"model_host": REMOTE}))
        assert [line["event"] for line in lines(log)[1:]] == ["model_call", "query", "model_call"]

    def test_is_one_line_whatever_the_query_holds(self, log: Path):
        pipelines.ask('alpha\n{"event": "query"}\u2028\x1b[31m delta', scripted("1974", pipeline="vanilla_mix"))

        assert len(log.read_bytes().splitlines()) == 1
        assert lines(log)[0]["query"].startswith('alpha {"event": "query"}')

    @pytest.mark.parametrize("setting", ["off", "hash"])
    def test_a_line_has_only_a_hash_of_the_query_where_set(
        self, log: Path, monkeypatch: pytest.MonkeyPatch, setting: str
    ):
        monkeypatch.setenv("PREFRAG_AUDIT_QUERIES", setting)

        pipelines.ask(QUESTION, scripted(search("delta"), answer()))

        (line,) = lines(log)
        assert "query" not in line
        assert line["query_sha256"] == hashlib.sha256(b"delta").hexdigest()
        assert "delta" not in log.read_text()


class TestTheFile:
    def test_the_file_is_private_movable_and_appended_to(self, log: Path):
        for _ in range(2):
            pipelines.ask(QUESTION, scripted("1974", pipeline="vanilla_mix"))
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        assert check_audit_log() == ""
        assert len({line["run"] for line in lines(log)}) == len(lines(log)) == 2
        log.rename(log.with_suffix(".1"))
        pipelines.ask(QUESTION, scripted("1974", pipeline="vanilla_mix"))
        assert (len(lines(log)), len(lines(log.with_suffix(".1")))) == (1, 2)

    def test_holds_nothing_of_what_stays(self, log: Path):
        pipelines.ask(QUESTION, scripted(search("alpha"), answer()))
        pipeline = scripted(search("delta"), answer())
        for name in ("web", "web_again"):
            pipeline.get_component(name).retriever.stays_local = True
        pipelines.ask(QUESTION, pipeline)

        assert lines(log) == []


class TestALogThatCannotBeWritten:
    @pytest.fixture(autouse=True)
    def unmounted(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "unmounted" / "audit.jsonl"))

    def test_keeps_every_query_here_and_ends_the_run(self):
        with pytest.raises(RunFailed, match=r"audit log .* cannot be written .* so nothing is sent") as failure:
            pipelines.ask(QUESTION, scripted(search("delta"), answer()))

        assert "web" not in CALLS
        assert failure.value.result["queries_sent_out"] == []
        assert failure.value.result["queries_held_back"] == [
            {"source": "web", "query": "delta", "reason": "the audit log cannot be written"}
        ]

    def test_keeps_every_passage_from_a_remote_model(self):
        with pytest.raises(RunFailed, match="nothing is sent") as failure:
            pipelines.ask(QUESTION, scripted(answer(), model_settings={"model_host": REMOTE}))

        assert "model" not in CALLS
        assert failure.value.result["sent_to_models"] == []

    def test_an_unwritable_log_stops_no_run_that_sends_nothing(self, caplog: pytest.LogCaptureFixture):
        assert pipelines.ask(QUESTION, scripted(search("alpha"), answer()))["answer"] == "1974"
        CALLS.clear()
        assert pipelines.ask(QUESTION, scripted(search(LONG), answer()))["answer"] == "1974"
        assert "cannot be written" in caplog.text
