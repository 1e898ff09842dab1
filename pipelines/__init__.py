"""The pipelines of the application: one builder a method, and how to load and ask them."""

from pipelines.asking import RunFailed, Wishes, ask, ask_async, stream
from pipelines.loading import Pipeline, load, names

__all__ = ["Pipeline", "RunFailed", "Wishes", "ask", "ask_async", "load", "names", "stream"]
