"""The pipelines of the application: one builder a method, and how to load and ask them."""

from prefrag.pipelines.asking import RunFailed, RunOptions, ask, ask_async, search_failures, stream
from prefrag.pipelines.loading import Pipeline, load, names

__all__ = ["Pipeline", "RunFailed", "RunOptions", "ask", "ask_async", "load", "names", "search_failures", "stream"]
