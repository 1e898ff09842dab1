"""It is told which queries would have left, and none leaves."""

from typing import Any

import pytest
from haystack import Document, component

from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.web.web_gate import HeldBack, WebGate
from prefrag.evaluation.prove.held_gate import WOULD_LEAVE, HeldGate, hold_queries, would_leave


@component
class Web:
    asked: list[str] = []

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        self.asked.append(query)
        return {"documents": []}


@pytest.fixture(autouse=True)
def web(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFRAG_WEB", "on")
    monkeypatch.setattr(Web, "asked", [])


def test_a_query_that_may_leave_is_held_back_and_said_so():
    with pytest.raises(HeldBack, match=WOULD_LEAVE):
        HeldGate().check("web", "tide tables", None)


def test_a_query_that_may_not_leave_keeps_its_reason(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_WEB", "off")
    with pytest.raises(HeldBack) as refused:
        HeldGate().check("web", "tide tables", None)

    assert WOULD_LEAVE not in str(refused.value)


def test_no_external_source_of_a_pipeline_searches_any_more():
    source = RetrievalSource(name="web", retriever=Web(), external=True, gate=WebGate(max_characters=50))
    local = RetrievalSource(name="local", retriever=Web())
    assert hold_queries([source, local])
    source.run(query="tide tables")

    assert Web.asked == []
    assert source.gate.max_characters == 50
    assert not isinstance(local.gate, HeldGate)


def test_a_pipeline_without_the_web_has_nothing_to_hold():
    assert not hold_queries([RetrievalSource(name="local", retriever=Web())])


def test_only_the_reason_of_this_gate_counts():
    assert would_leave({"trace": [{"kind": "held_back", "reason": WOULD_LEAVE}]})
    assert not would_leave({"trace": [{"kind": "held_back", "reason": "too long"}, {"kind": "search"}]})
