"""How good the answers are, what was found, and what it took. ``METRICS.md`` says what each number is."""

from prefrag.evaluation.metrics.scores import score
from prefrag.evaluation.metrics.summary import failed, summarise

__all__ = ["failed", "score", "summarise"]
