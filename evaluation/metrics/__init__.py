"""How good the answers are, what was found, and what it took. ``METRICS.md`` says what each number is."""

from evaluation.metrics.scores import score
from evaluation.metrics.summary import failed, summarise

__all__ = ["failed", "score", "summarise"]
