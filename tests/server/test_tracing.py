"""Spans, metrics and the log hold no word of a run, unless someone enables that for spans."""

import json
import re
from collections.abc import Callable, Iterator
from contextvars import copy_context
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
from prefrag.server.http.log import configure_log
from prefrag.tracing import measure, measure_run, outgoing_trace
from tests.pipelines.scripted import answer, scripted, search
from tests.python_process import run_python
from tests.server.mcp_requests import CALL, HEADERS

pytestmark = pytest.mark.skipif(not hasattr(tracing, "OpenTelemetryTracer"), reason="Haystack 3 ships no tracer")
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
def spans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """The spans of a tracer that was enabled by hand."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.warns(FutureWarning):
        opened = tracing.OpenTelemetryTracer(provider.get_tracer("test"))
    monkeypatch.setattr(tracing.tracer, "actual_tracer", opened)
    monkeypatch.setattr(tracing.tracer, "is_content_tracing_enabled", request.param)
    return exporter.get_finished_spans


@pytest.fixture
def sent(spans: Callable[[], Any]) -> Callable[[], str]:
    return lambda: "".join(span.to_json() for span in spans())


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """The lines of the JSON log since the last look."""
    with monkeypatch.context() as now:
        now.setenv("PREFRAG_LOG", "json")
        configure_log()
        yield lambda: capsys.readouterr().err
    configure_log()


def found_in(text: str) -> list[str]:
    return [word for word in PRIVATE if word in text]


@pytest.mark.parametrize("way", WAYS)
def test_spans_metrics_and_the_log_hold_no_word_of_a_run(
    served: Callable[..., TestClient], sent: Callable[[], str], logged: Callable[[], str], way: str
):
    path, body = WAYS[way]
    client = served(*SCRIPT, **FOUND)
    logged()

    reply = client.post(path, json=body, headers=HEADERS)

    assert "privanswer" in reply.text
    assert "prefrag.run" in sent()
    assert 'prefrag_runs_total{pipeline="prefrag",status="answered"}' in (metrics := client.get("/metrics").text)
    log = logged()
    (run,) = [each for line in log.splitlines() if "run" in (each := json.loads(line))]
    assert (run["status"], len(run["run"])) == ("answered", 32)
    assert found_in(sent() + metrics + log) == []


def test_error_in_a_span_or_the_line_of_a_run_is_its_type_alone(
    served: Callable[..., TestClient], sent: Callable[[], str], spans: Callable[[], Any], logged: Callable[[], str]
):
    client = served(search("privquery"), "!privanswer", **FOUND)
    reply = client.post("/prefrag/run", json=RUN)

    assert (reply.status_code, "privanswer" in reply.text) == (502, True)
    failed = [span.name for span in spans() if span.status.status_code.name == "ERROR"]
    assert failed[:2] == ["gen_ai.chat", "prefrag.run"]
    (run,) = [line for line in logged().splitlines() if "Run ended" in line]
    assert json.loads(run)["error"] == "RunFailed"
    assert 'status="failed"' in (metrics := client.get("/metrics").text)
    assert found_in(sent() + run + metrics) == []


def test_run_has_steps_calls_searches_and_its_requests_trace(
    served: Callable[..., TestClient], spans: Callable[[], Any]
):
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    headers = {"traceparent": f"00-{trace}-{parent}-01", "tracestate": "vendor=privquestion"}
    client = served(*SCRIPT, **FOUND)
    client.post("/prefrag/run", json={"question": QUESTION}, headers=headers)

    by_id = {span.context.span_id: span for span in spans()}
    (run,) = [span for span in by_id.values() if span.name == "prefrag.run"]
    own = sorted(
        (span for span in by_id.values() if span.name.startswith(("prefrag.step", "prefrag.search", "gen_ai"))),
        key=lambda span: span.start_time,
    )
    names = [(span.name, by_id[span.parent.span_id].name) for span in own]
    step, call, search_ = (
        ("prefrag.step", "prefrag.run"),
        *((n, "prefrag.step") for n in ("gen_ai.chat", "prefrag.search")),
    )
    assert names in ([step, call, search_, step, call], [step, call, search_, search_, step, call])
    assert {format(span.context.trace_id, "032x") for span in own} == {trace}
    assert not [span.name for span in by_id.values() if span.name.startswith("haystack.")]
    assert run.attributes["prefrag.status"] == "answered"
    assert (own[2].attributes["prefrag.source"], own[2].attributes["prefrag.k"]) == ("local", 5)
    assert own[1].attributes["gen_ai.operation.name"] == "chat"


def test_a_call_of_a_model_server_carries_the_trace(spans: Callable[[], Any]):
    with measure_run(copy_context()):
        assert outgoing_trace() == {}
    context = copy_context()
    with measure_run(context) as run:
        context.run(check_header, run)
    assert [span.name for span in spans()] == ["prefrag.run", "gen_ai.chat", "prefrag.step", "prefrag.run"]


def check_header(run: Any) -> None:
    run.tags["prefrag.status"] = "answered"
    with measure("gen_ai.chat", 1, prefrag__role="llm"):
        assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-0[13]", outgoing_trace()["traceparent"])


def test_words_go_only_where_wanted_and_are_written_down(
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
    assert "your question, its conversation" in "".join(write_sent_to_models(results[1]))
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
        ("provider", "true", {}, "prefrag.run"),
    ]
    for set_up, wanted, variables, sent in rows:
        done = run_python(SET_UP, set_up, HAYSTACK_AUTO_TRACE_ENABLED=wanted, **variables)
        assert sent in done.stdout, done.stderr
