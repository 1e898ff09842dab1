"""The pipelines of the application: one builder a method, and how to load and ask them."""

import os

# Questions are private: Haystack's telemetry is off unless somebody switches it on. It reads this when it is imported.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from pipelines.asking import RunFailed, Wishes, ask, ask_async, search_failures, stream
from pipelines.loading import Pipeline, load, names

__all__ = ["Pipeline", "RunFailed", "Wishes", "ask", "ask_async", "load", "names", "search_failures", "stream"]
