"""Connections that would lead a question the wrong way are refused when a pipeline is loaded."""

from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from prefrag.pipelines import load, names
from prefrag.pipelines.loading import PipelineMissing, build, find, read_block
from prefrag.pipelines.wiring import find_empty_stores
from tests.for_each import for_each


def connect(change: dict[str, str | None], pipeline: str = "prefrag") -> dict[str, Any]:
    """A pipeline in which a connection, written as its sender, has another receiver, or none."""
    block = read_block(find(pipeline))
    lines = block["connections"]
    for sender, receiver in change.items():
        places = [place for place, line in enumerate(lines) if line["sender"] == sender]
        assert places, sender
        for place in reversed(places):
            if receiver is None:
                del lines[place]
            else:
                lines[place]["receiver"] = receiver
    return block


def refusal(block: dict[str, Any]) -> str:
    with pytest.raises(PipelineMissing) as error:
        build(block, "own.yaml")
    return str(error.value)


@for_each("name", *names())
def test_every_shipped_pipeline_is_wired_right(name: str):
    load(name)


class TestAWrongSource:
    def test_swapped_outputs_of_the_router_are_refused(self):
        message = refusal(connect({"router.search_local": "to_web.value", "router.search_web": "to_local.value"}))

        assert "router.search_local leads to the source 'web': connect it to the component that searches 'local'" in (
            message
        )
        assert "router.search_web leads to the source 'local'" in message

    def test_swapped_outputs_of_the_judge_are_refused(self):
        block = connect({"judge.switch_local": "to_web.value", "judge.switch_web": "to_local.value"})

        assert "judge.switch_web leads to the source 'local'" in refusal(block)

    def test_a_joiner_that_leads_to_the_other_source_is_refused(self):
        block = connect({"to_local.value": "web.query", "to_web.value": "local.query"})

        assert "router.search_local leads to the source 'web'" in refusal(block)

    def test_a_source_that_only_has_a_name_is_refused(self):
        block = read_block(find("prefrag"))
        block["components"]["start"]["init_parameters"]["sources"] = ["local", "web", "archive"]

        assert "start names the source 'archive', and no component searches it" in refusal(block)


def test_a_store_that_nothing_fills_is_named():
    retriever = InMemoryBM25Retriever(InMemoryDocumentStore())
    pipeline = load("vanilla_local", replace={"local.retriever": retriever})

    (sentence,) = find_empty_stores(pipeline)

    assert sentence.startswith("local.retriever.document_store, a InMemoryDocumentStore, has no documents")
    pipeline.get_component("local").retriever.document_store.write_documents([Document(content="A pier.")])
    assert find_empty_stores(pipeline) == []


def test_a_source_of_ones_own_counts_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "shelving.py").write_text(
        "from haystack import component\n"
        "from prefrag.components.state.state import State\n"
        "@component\n"
        "class Shelf:\n"
        "    sources = ['https://a.example']\n"
        "    @component.output_types(state=State)\n"
        "    def run(self, query: State):\n"
        "        return {'state': query}\n"
    )
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))
    block = read_block(find("prefrag"))
    for name in ("local", "local_again"):
        block["components"][name] = {"type": "shelving.Shelf", "init_parameters": {}}

    assert build(block, "own.yaml").get_component("local").sources == ["https://a.example"]


class TestAMissingConnection:
    @for_each(
        "sender, message",
        ("start.state", "rewriter.state gets nothing: add `- {sender: ..., receiver: rewriter.state}`"),
        ("router.exhausted", "forced.state gets nothing"),
        ("finish.value", "answer.state gets nothing"),
        ("recorder.state", "recorder.state leads nowhere: add `- {sender: recorder.state, receiver: ...}`"),
        ("judge.switch_web", "judge.switch_web leads nowhere"),
        ("router.retry", "router.retry leads nowhere"),
        ("reflector.accepted", "reflector.accepted leads nowhere"),
    )
    def test_is_named_with_the_line_to_add(self, sender: str, message: str):
        assert message in refusal(connect({sender: None}))

    def test_of_several_each_is_named(self):
        message = refusal(connect({"router.retry": None, "judge.switch_web": None}))

        assert "router.retry leads nowhere" in message
        assert "judge.switch_web leads nowhere" in message

    def test_of_all_connections_is_refused(self):
        block = read_block(find("prefrag"))
        block["connections"] = []

        assert "start.state leads nowhere" in refusal(block)


class TestAClosedCircle:
    @pytest.fixture
    def block(self) -> dict[str, Any]:
        """A pipeline with two joiners that pass a state to each other."""
        block = read_block(find("vanilla_local"))
        joiner = {
            "type": "haystack.components.joiners.branch.BranchJoiner",
            "init_parameters": {"type_": "prefrag.components.state.state.State"},
        }
        block["components"] |= {"left": joiner, "right": joiner}
        block["connections"] += [
            {"sender": "left.value", "receiver": "right.value"},
            {"sender": "right.value", "receiver": "left.value"},
        ]
        return block

    def test_that_no_state_reaches_is_refused(self, block: dict[str, Any]):
        message = refusal(block)

        assert "left is not reached from start" in message
        assert "right is not reached from start" in message

    def test_that_never_answers_is_refused(self, block: dict[str, Any]):
        block["connections"].append({"sender": "start.state", "receiver": "left.value"})

        assert "left does not lead to answer" in refusal(block)


def test_a_component_beside_the_path_may_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "watching.py").write_text(
        "from haystack import component\n"
        "@component\n"
        "class Watcher:\n"
        "    @component.output_types(seen=int)\n"
        "    def run(self, state: object):\n"
        "        return {'seen': 1}\n"
    )
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))
    block = read_block(find("vanilla_local"))
    block["components"]["watcher"] = {"type": "watching.Watcher", "init_parameters": {}}
    block["connections"].append({"sender": "start.state", "receiver": "watcher.state"})

    assert build(block, "own.yaml").get_component("watcher")
