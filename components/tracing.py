"""What leaves by tracing: spans of a run without its words, unless the administrator opens that too.

Haystack writes the inputs of a pipeline, which are the question, the conversation, what is attached and the
instructions, to the span of each run, whatever ``HAYSTACK_CONTENT_TRACING_ENABLED`` says, and a backend adds the
messages of errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

from haystack.tracing import Span, tracer
from haystack.tracing.tracer import NullTracer, ProxyTracer

from prefrag.components.settings import settings

# Beside numbers, what is known to hold names of the program alone.
_NAMES = {f"haystack.component.{part}" for part in ("name", "type", "fully_qualified_type")}
_NAMES |= {"hayhooks.pipeline.name", "hayhooks.transport", "hayhooks.error.type"}


class _RunError(Exception):
    """Stands for an error in a span: the type of the error is its message."""


def _is_wordless(key: str, value: Any) -> bool:
    return isinstance(value, int | float) or key in _NAMES


class _WordlessSpan(Span):
    """A span that keeps numbers and names of the program."""

    def __init__(self, span: Span):
        self.span = span

    def set_tag(self, key: str, value: Any) -> None:
        if _is_wordless(key, value):
            self.span.set_tag(key, value)

    def set_content_tag(self, key: str, value: Any) -> None:
        """Set nothing, whatever rule the backend has for these."""

    def raw_span(self) -> Any:
        return self.span.raw_span()

    def get_correlation_data_for_logs(self) -> dict[str, Any]:
        return self.span.get_correlation_data_for_logs()


class _WordlessTracer(ProxyTracer):
    """Haystack's global tracer, whichever tracer is behind it and whenever that was enabled."""

    @contextmanager
    def trace(
        self, operation_name: str, tags: dict[str, Any] | None = None, parent_span: Span | None = None
    ) -> Iterator[Span]:
        parent = parent_span.span if isinstance(parent_span, _WordlessSpan) else parent_span
        if type(self.actual_tracer) is NullTracer or settings.trace_content:
            with super().trace(operation_name, tags, parent) as span:
                yield span
            return
        kept = {key: value for key, value in (tags or {}).items() if _is_wordless(key, value)}
        failure: BaseException | None = None
        with suppress(_RunError), super().trace(operation_name, kept, parent) as span:
            try:
                yield _WordlessSpan(span)
            except BaseException as error:
                failure = error
                raise _RunError(type(error).__name__) from None
        if failure is not None:
            raise failure

    def current_span(self) -> Span | None:
        span = super().current_span()
        return span and _WordlessSpan(span)


# By its class, so that it holds for those who have imported the tracer before.
tracer.__class__ = _WordlessTracer


def sent_to_tracing() -> Literal["spans", "content"] | None:
    """Find what of a run is sent to a tracing backend.

    :returns: ``spans``, which have no words of it, ``content``, or None where no tracer is enabled.
    """
    if isinstance(tracer.actual_tracer, NullTracer):
        return None
    return "content" if settings.trace_content else "spans"
