"""Measure runs, and send the measurements to tracing backends as spans without the text of questions and documents.

A run is a span ``prefrag.run``. It contains a span ``prefrag.step`` for each step, with the spans ``gen_ai.chat`` and
``prefrag.search``. Observers (metrics, the log) get the same numbers with or without a tracer.

Haystack writes the inputs of a pipeline (the question, the conversation, attachments and instructions) to the span of
each run, even if ``HAYSTACK_CONTENT_TRACING_ENABLED`` is off. Tracing backends also write error messages, which may
quote such text. Haystack's own spans of a run are therefore left out, unless ``PREFRAG_TRACE_CONTENT`` is on.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from haystack.tracing import Span, tracer
from haystack.tracing.tracer import NullSpan, NullTracer, ProxyTracer

from prefrag.audit_log import audit_labels
from prefrag.settings import settings

# Besides numbers, only these tags are sent. They contain names from the program itself.
_NAMES = {f"haystack.component.{part}" for part in ("name", "type", "fully_qualified_type")}
_NAMES |= {"hayhooks.pipeline.name", "hayhooks.transport", "hayhooks.error.type"}


class _RunError(Exception):
    """Replaces an error in a span. Its message is only the type of the error."""


def _is_wordless(key: str, value: object) -> bool:
    return isinstance(value, int | float) or key in _NAMES


class _WordlessSpan(Span):
    def __init__(self, span: Span):
        self.span = span

    def set_tag(self, key: str, value: object) -> None:
        if _is_wordless(key, value):
            self.span.set_tag(key, value)

    def set_content_tag(self, key: str, value: object) -> None:
        """Set nothing, even if the backend would accept content tags."""

    def raw_span(self) -> object:
        return self.span.raw_span()

    def get_correlation_data_for_logs(self) -> dict[str, object]:
        return self.span.get_correlation_data_for_logs()


class _WordlessTracer(ProxyTracer):
    """Haystack's global tracer, changed to send no text of users or documents, even to a backend enabled later."""

    @contextmanager
    def trace(
        self, operation_name: str, tags: dict[str, Any] | None = None, parent_span: Span | None = None
    ) -> Iterator[Span]:
        parent = parent_span.span if isinstance(parent_span, _WordlessSpan) else parent_span
        if type(self.actual_tracer) is NullTracer or settings.trace_content:
            with super().trace(operation_name, tags, parent) as span:
                yield span
            return
        if _run.get() is not None:
            yield NullSpan()
            return
        wordless = {key: value for key, value in (tags or {}).items() if _is_wordless(key, value)}
        failure: BaseException | None = None
        with suppress(_RunError), super().trace(operation_name, wordless, parent) as span:
            try:
                yield _WordlessSpan(span)
            except BaseException as error:
                failure = error
                raise _RunError(type(error).__name__) from None
        if failure is not None:
            raise failure

    def current_span(self) -> Span | None:
        span = super().current_span()
        return None if span is None else _WordlessSpan(span)


# Replace the class and not the object, because other modules may have imported the object already.
tracer.__class__ = _WordlessTracer


def sent_to_tracing() -> Literal["spans", "content"] | None:
    """Return what tracing backends get: ``spans`` without text of the run, ``content`` (spans with text), or None."""
    if isinstance(tracer.actual_tracer, NullTracer):
        return None
    return "content" if settings.trace_content else "spans"


@dataclass
class Measured:
    """The measurements of a run, a model call or a search: numbers and names from the program, no other text."""

    name: str
    tags: dict[str, Any]
    # The labels of the run in the audit log: its id, its pipeline and the name of the caller's key.
    labels: Mapping[str, str | None] = field(default_factory=dict)
    error: str = ""  # the type of the last error, even if the run continued after the error
    seconds: float = 0.0  # the duration


# These functions get each measurement when the measurement ends.
observers: list[Callable[[Measured], None]] = []


class _OpenSpan:
    """A span with its own context, so that different tasks or threads may open and close it."""

    def __init__(self, context: Context, name: str, tags: dict[str, Any]):
        self.context = context
        self._manager = tracer.actual_tracer.trace(name, tags)
        self.span = context.run(self._manager.__enter__)

    def close(self, measured: Measured) -> None:
        self.span.set_tags(measured.tags)
        # A backend marks a span as failed if the span is closed with an error.
        error = _RunError(measured.error) if measured.error else None
        kind = None if error is None else _RunError
        with suppress(_RunError):
            self.context.run(self._manager.__exit__, kind, error, None)


class _Run:
    """The span of a run, and the span of its current step."""

    def __init__(self, root: _OpenSpan):
        self.root = root
        self._number = 0
        self._step: _OpenSpan | None = None
        self._lock = threading.Lock()

    def step(self, number: int) -> Context:
        """Return the context of a step. Its span begins with the first measurement in the step."""
        with self._lock:
            if self._step is None or number > self._number:
                self.end_step()
                self._number = number
                self._step = _OpenSpan(self.root.context.copy(), "prefrag.step", {"prefrag.step": number})
            return self._step.context.copy()

    def end_step(self) -> None:
        if self._step is not None:
            self._step.close(Measured("prefrag.step", {}))


_run: ContextVar[_Run | None] = ContextVar("run", default=None)
_span: ContextVar[_OpenSpan | None] = ContextVar("span", default=None)


@contextmanager
def measure_run(context: Context) -> Iterator[Measured]:
    """Measure a run. ``context`` is the context in which the run's components are called."""
    labels = context.run(audit_labels)
    tags = {"prefrag.run.id": labels.get("run"), "prefrag.pipeline": labels.get("pipeline")}
    tags["prefrag.status"] = "failed"
    measured, run = Measured("prefrag.run", tags, labels), None
    if not isinstance(tracer.actual_tracer, NullTracer):
        run = _Run(_OpenSpan(context, measured.name, {}))
        context.run(_run.set, run)
    try:
        with _timed(measured):
            yield measured
    finally:
        if run is not None:
            run.end_step()
            run.root.close(measured)


@contextmanager
def measure(name: str, step: int, **tags: Any) -> Iterator[Measured]:
    """Measure a part of a run, such as a search, within the step number ``step``.

    In the names of ``tags``, write a double underscore for each full stop.
    """
    measured, run = Measured(name, {key.replace("__", "."): value for key, value in tags.items()}), _run.get()
    if run is None:
        with _timed(measured):
            yield measured
        return
    span = _OpenSpan(run.step(step), name, {})
    current = _span.set(span)
    try:
        with _timed(measured):
            yield measured
    finally:
        _span.reset(current)
        span.close(measured)


@contextmanager
def _timed(measured: Measured) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    except BaseException as error:
        measured.error = measured.error or type(error).__name__
        raise
    finally:
        measured.seconds = time.perf_counter() - began
        for observe in observers:
            observe(measured)


def continue_trace(parent: str | None) -> None:
    """Continue the trace of a request in this context, unless OpenTelemetry has already done so.

    ``parent`` is the header ``traceparent`` of the request, which may be malformed.
    """
    if parent and type(tracer.actual_tracer).__name__ == "OpenTelemetryTracer":
        from opentelemetry import context, trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        if not trace.get_current_span().get_span_context().is_valid:
            context.attach(TraceContextTextMapPropagator().extract({"traceparent": parent}))


def outgoing_trace() -> dict[str, str]:
    """Make the header that nests a model server's spans under the call's span. Empty without OpenTelemetry."""
    span = _span.get()
    find = getattr(span and span.span.raw_span(), "get_span_context", None)
    if find is None:
        return {}
    now = find()
    return {"traceparent": f"00-{now.trace_id:032x}-{now.span_id:016x}-{int(now.trace_flags):02x}"}
