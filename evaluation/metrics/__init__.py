"""Score a run of a pipeline: its answers, the passages that it retrieved, and its costs.

:func:`score` scores one question, and :func:`summarise` averages the scores of a whole run. ``METRICS.md`` in this
    folder defines each number.
"""

from prefrag.evaluation.metrics.scores import score
from prefrag.evaluation.metrics.summary import has_failed, summarise

__all__ = ["has_failed", "score", "summarise"]
