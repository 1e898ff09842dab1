"""Measure the answers, the retrieved passages and the costs; ``METRICS.md`` defines each number."""

from prefrag.evaluation.metrics.scores import score
from prefrag.evaluation.metrics.summary import has_failed, summarise

__all__ = ["has_failed", "score", "summarise"]
