"""Measure runs, and send the measurements to tracing backends without the text of questions and documents.

A run is the answering of one question. Its measurements become nested spans:

- ``prefrag.run`` for the whole run,
- ``prefrag.step`` for each step of the run,
- ``gen_ai.chat`` for each model call and ``prefrag.search`` for each search in a step.

Observers are functions that get the same measurements, with or without a tracing backend. The metrics and the log of
the server are observers.

Haystack has spans of its own. It writes the inputs of a pipeline into them, even if
``HAYSTACK_CONTENT_TRACING_ENABLED`` is off. These inputs are the question, the conversation, attachments and
instructions. Tracing backends also write error messages, which may quote such text. So Haystack's own spans of a run
are left out, unless ``PREFRAG_TRACE_CONTENT`` is on.
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

# Besides numbers, only the tags with these names are sent. Their values are names from the program itself.
_NAMES = {
    "haystack.component.name",
    "haystack.component.type",
    "haystack.component.fully_qualified_type",
    "hayhooks.pipeline.name",
    "hayhooks.transport",
    "hayhooks.error.type",
}


class _RunError(Exception):
    """Replaces an error in a span. Its message is only the type of the error, because other messages may quote text."""


def _is_wordless(key: str, value: object) -> bool:
    """Check whether a tag has no text of users or documents."""
    return isinstance(value, int | float) or key in _NAMES


class _WordlessSpan(Span):
    """A span that takes only tags without text of users or documents."""

    def __init__(self, span: Span):
        self.span = span

    def set_tag(self, key: str, value: object) -> None:
        """Set a tag, if it has no text of users or documents."""
        if _is_wordless(key, value):
            self.span.set_tag(key, value)

    def set_content_tag(self, key: str, value: object) -> None:
        """Set nothing, even if the backend would accept content tags."""

    def raw_span(self) -> object:
        """Return the span of the backend."""
        return self.span.raw_span()

    def get_correlation_data_for_logs(self) -> dict[str, object]:
        """Return what links a line of a log to this span."""
        return self.span.get_correlation_data_for_logs()


class _WordlessTracer(ProxyTracer):
    """Haystack's global tracer, changed so that it sends no text of users or documents.

    This is also true for a backend that is enabled later.
    """

    @contextmanager
    def trace(
        self, operation_name: str, tags: dict[str, Any] | None = None, parent_span: Span | None = None
    ) -> Iterator[Span]:
        """Open a span during the block.

        The span has all text if ``PREFRAG_TRACE_CONTENT`` is on. Otherwise it is an empty span inside a run, and a span
        without text outside a run.
        """
        parent = parent_span.span if isinstance(parent_span, _WordlessSpan) else parent_span
        if type(self.actual_tracer) is NullTracer or settings.trace_content:
            with super().trace(operation_name, tags, parent) as span:
                yield span
            return
        if _run.get() is not None:
            yield NullSpan()
            return

        all_tags = tags or {}
        wordless = {key: value for key, value in all_tags.items() if _is_wordless(key, value)}
        # The backend gets an error without text. The original error is raised again behind the span.
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
        """Return the open span, which takes only tags without text; None if no span is open."""
        span = super().current_span()
        return None if span is None else _WordlessSpan(span)


# Replace the class of the tracer and not the tracer itself, because other modules may have imported the tracer already.
tracer.__class__ = _WordlessTracer


def sent_to_tracing() -> Literal["spans", "content"] | None:
    """Say what tracing backends get.

    :returns: "spans" for spans without text of the run, "content" for spans with text. None if there is no backend.
    """
    if isinstance(tracer.actual_tracer, NullTracer):
        return None
    return "content" if settings.trace_content else "spans"


@dataclass
class Measured:
    """The measurements of a run, a model call or a search. They are numbers and names from the program, no other text.

    :param name: The name of the span, such as "prefrag.search".
    :param tags: The measurements by their names.
    :param labels: The labels of the run in the audit log: its ID, its pipeline and the name of the caller's key.
    :param error: The type of the last error, even if the run continued after the error. "" if there was none.
    :param seconds: The duration in seconds. It is set at the end.
    """

    name: str
    tags: dict[str, Any]
    labels: Mapping[str, str | None] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0


# The functions that get each measurement at its end.
observers: list[Callable[[Measured], None]] = []


class _OpenSpan:
    """An open span with a context of its own. So one task or thread may open the span, and another may close it."""

    def __init__(self, context: Context, name: str, tags: dict[str, Any]):
        self.context = context
        self._manager = tracer.actual_tracer.trace(name, tags)
        self.span = context.run(self._manager.__enter__)

    def close(self, measured: Measured) -> None:
        """Write the measurements into the span, and close it."""
        self.span.set_tags(measured.tags)
        # If a span is closed with an error, the backend marks the span as failed.
        with suppress(_RunError):
            if measured.error:
                self.context.run(self._manager.__exit__, _RunError, _RunError(measured.error), None)
            else:
                self.context.run(self._manager.__exit__, None, None, None)


class _Run:
    """The span of a run, and the span of its current step."""

    def __init__(self, root: _OpenSpan):
        self.root = root
        self._number = 0
        self._step: _OpenSpan | None = None
        self._lock = threading.Lock()

    def step(self, number: int) -> Context:
        """Return the context of a step. The span of the step is opened at the first measurement in the step.

        :param number: The number of the step. A higher number than before ends the step before.
        """
        with self._lock:
            if self._step is None or number > self._number:
                self.end_step()
                self._number = number
                self._step = _OpenSpan(self.root.context.copy(), "prefrag.step", {"prefrag.step": number})
            return self._step.context.copy()

    def end_step(self) -> None:
        """Close the span of the current step, if there is one."""
        if self._step is not None:
            self._step.close(Measured("prefrag.step", {}))


# The run of the current context; None outside a run or without a tracing backend.
_run: ContextVar[_Run | None] = ContextVar("run", default=None)
# The open span of the current context, such as that of a model call.
_span: ContextVar[_OpenSpan | None] = ContextVar("span", default=None)


@contextmanager
def measure_run(context: Context) -> Iterator[Measured]:
    """Measure a run during the block.

    :param context: The context in which the components of the run are called.
    :returns: A context manager. It provides the measurements, to which the block may add tags. The tag
        ``prefrag.status`` is "failed" until the block changes it.
    """
    labels = context.run(audit_labels)
    tags = {
        "prefrag.run.id": labels.get("run"),
        "prefrag.pipeline": labels.get("pipeline"),
        "prefrag.status": "failed",
    }
    measured = Measured("prefrag.run", tags, labels)
    run = None
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
def measure(name: str, step: int, **tags: object) -> Iterator[Measured]:
    """Measure a part of a run, such as a search, during the block.

    :param name: The name of the span, such as "prefrag.search".
    :param step: The number of the step to which the part belongs.
    :param tags: The first tags. A double underscore in a name stands for a full stop.
    :returns: A context manager. It provides the measurements, to which the block may add tags.
    """
    named_tags = {key.replace("__", "."): value for key, value in tags.items()}
    measured = Measured(name, named_tags)
    run = _run.get()
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
    """Measure the seconds and the error of the block, and then call the observers."""
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

    :param parent: The header ``traceparent`` of the request, which may be malformed. None if the request has none.
    """
    if parent and type(tracer.actual_tracer).__name__ == "OpenTelemetryTracer":
        from opentelemetry import context, trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        if not trace.get_current_span().get_span_context().is_valid:
            context.attach(TraceContextTextMapPropagator().extract({"traceparent": parent}))


def outgoing_trace() -> dict[str, str]:
    """Make the header for a request to a model server. With it, the spans of that server are nested in the open span.

    :returns: The header ``traceparent``. Empty without OpenTelemetry.
    """
    open_span = _span.get()
    if open_span is None:
        return {}
    # Only the spans of OpenTelemetry have this method.
    get_span_context = getattr(open_span.span.raw_span(), "get_span_context", None)
    if get_span_context is None:
        return {}
    position = get_span_context()
    flags = int(position.trace_flags)
    return {"traceparent": f"00-{position.trace_id:032x}-{position.span_id:016x}-{flags:02x}"}
