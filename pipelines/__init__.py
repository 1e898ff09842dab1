"""The pipelines of the application: load a pipeline from its YAML, replace its parts, and ask it questions."""

from prefrag.pipelines.asking import RunFailed, ask, ask_async, begin, refuse_unsearched, search_failures, stream
from prefrag.pipelines.loading import Pipeline, load, names

__all__ = [
    "Pipeline",
    "RunFailed",
    "ask",
    "ask_async",
    "begin",
    "load",
    "names",
    "refuse_unsearched",
    "search_failures",
    "stream",
]
