"""Tracing: spans go out only where somebody wants them, and hold no word of a run unless somebody wants that too."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import tracing
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

from prefrag import pipelines
from prefrag.pipelines.sent_to_models import write_sent_to_models
from tests.pipelines.scripted import answer, scripted, search
from tests.python_process import run_python
from tests.server.test_mcp_tools import CALL, HEADERS

pytestmark = pytest.mark.skipif(not hasattr(tracing, "OpenTelemetryTracer"), reason="Haystack 3 has no tracer itself")
PRIVATE = ("privquestion", "privturn", "privdocument", "privinstruction", "privquery", "privpassage", "privanswer")
QUESTION, TURN = "What is the privquestion?", {"role": "user", "content": "And the privturn?"}
DOCUMENT, INSTRUCTIONS = "The privdocument.", "Mind the privinstruction."
SCRIPT = (search("privquery"), answer("privanswer"))
FOUND = {"documents": {"local": {"alpha": "It is privpassage, of privanswer."}}}
RUN: dict[str, Any] = {"question": QUESTION, "history": [TURN], "documents": [{"content": DOCUMENT}]}
SYSTEM, REPLY = {"role": "system", "content": INSTRUCTIONS}, {"role": "assistant", "content": DOCUMENT}
CHAT = {"model": "prefrag", "messages": [SYSTEM, TURN, REPLY, {"role": "user", "content": QUESTION}]}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "REST": ("/prefrag/run", RUN),
    "REST, streamed": ("/prefrag/run", {**RUN, "stream": True}),
    "chat": ("/v1/chat/completions", CHAT),
    "chat, streamed": ("/v1/chat/completions", {**CHAT, "stream": True}),
    "Open WebUI": ("/open-webui/v1/chat/completions", {**CHAT, "stream": True}),
    "MCP": ("/mcp", {**CALL, "params": {"name": "prefrag", "arguments": {"question": QUESTION}}}),
}


@pytest.fixture(params=[False, True], ids=["", "Haystack's own switch is on"])
def sent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """What a tracer sends that was enabled by hand."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.warns(FutureWarning):
        opened = tracing.OpenTelemetryTracer(provider.get_tracer("test"))
    monkeypatch.setattr(tracing.tracer, "actual_tracer", opened)
    monkeypatch.setattr(tracing.tracer, "is_content_tracing_enabled", request.param)
    return lambda: "".join(span.to_json() for span in exporter.get_finished_spans())


def found_in(text: str) -> list[str]:
    return [word for word in PRIVATE if word in text]


@pytest.mark.parametrize("way", WAYS)
def test_spans_hold_no_word_of_a_run(served: Callable[..., TestClient], sent: Callable[[], str], way: str):
    path, body = WAYS[way]

    reply = served(*SCRIPT, **FOUND).post(path, json=body, headers=HEADERS)

    assert "privanswer" in reply.text
    assert "haystack.async_pipeline.run" in sent()
    assert found_in(sent()) == []


def test_of_an_error_a_span_has_the_type_alone(served: Callable[..., TestClient], sent: Callable[[], str]):
    reply = served(search("privquery"), "!privanswer", **FOUND).post("/prefrag/run", json=RUN)

    assert (reply.status_code, "privanswer" in reply.text) == (502, True)
    assert "RunError" in sent()
    assert found_in(sent()) == []


def test_words_go_only_where_that_is_wanted_too_and_are_written_down(
    sent: Callable[[], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def ask() -> dict[str, Any]:
        return pipelines.ask(**RUN, instructions=INSTRUCTIONS, pipeline=scripted(*SCRIPT, **FOUND))

    monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "log"))
    results = [ask()]
    assert found_in(sent()) == []
    monkeypatch.setenv("PREFRAG_TRACE_CONTENT", "on")
    results.append(ask())
    assert found_in(sent())[:4] == [*PRIVATE[:4]]

    lines = [json.loads(line)["sent"] for line in (tmp_path / "log").read_text().splitlines()]
    assert [result["sent_to_tracing"] for result in results] == lines == ["spans", "content"]
    assert "your words" in "".join(write_sent_to_models(results[1]))
    monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "unmounted" / "log"))
    with pytest.raises(pipelines.RunFailed, match="nothing is sent"):
        ask()


SET_UP = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
if sys.argv[1] == "provider":
    trace.set_tracer_provider(provider)
from prefrag.server.app import create_app
from starlette.testclient import TestClient
with TestClient(create_app()) as client:
    assert client.post("/prefrag/run", json={"question": "What is the privquestion?"}).status_code == 200
print([span.name for span in exporter.get_finished_spans()], type(trace.get_tracer_provider()).__name__)
"""


@pytest.mark.slow
def test_opentelemetry_for_something_else_gets_nothing(script_pipeline: Callable[..., None]):
    script_pipeline(*SCRIPT, **FOUND)
    rows = [
        ("provider", "off", {}, "[] TracerProvider"),
        ("none", "", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, "[] ProxyTracerProvider"),
        ("provider", "true", {}, "haystack.async_pipeline.run"),
    ]
    for set_up, wanted, variables, sent in rows:
        done = run_python(SET_UP, set_up, HAYSTACK_AUTO_TRACE_ENABLED=wanted, **variables)
        assert sent in done.stdout, done.stderr
