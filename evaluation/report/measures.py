"""The measures that the report shows for a run.

Each measure names a number in ``metrics.json`` and says how the report writes it. ``metrics/METRICS.md`` defines the
numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

# Shown in place of a missing value.
DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class Measure:
    """A score or a cost of a run."""

    # The key in `metrics.json`.
    key: str
    # The heading in a table.
    title: str
    # A `share` is a score: from 0 to 1 for a question, in percent for a run. A `count` is a number per question, and a
    # mean for a run.
    kind: Literal["share", "count"] = "share"
    # The number of digits that are shown after the point.
    decimals: int = 1

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher value is better. This is true for scores and false for costs."""
        return self.kind == "share"

    def of(self, scores: Mapping[str, float], counted: Mapping[str, float]) -> float:
        """Get the value for one question.

        :param scores: The scores of the question, from 0 to 1.
        :param counted: The counts of the question.
        :returns: The value, a share in percent. NaN if there is no value.
        """
        if self.kind == "share":
            return 100 * float(scores.get(self.key, math.nan))
        return float(counted.get(self.key, math.nan))

    def text(self, value: float | None, sign: bool = False) -> str:
        """Write a value in digits.

        For example, ``ACC.text(3.21, sign=True)`` returns ``"+3.2"``.

        :param value: The value. None or NaN means that there is none.
        :param sign: Whether a positive value gets a plus.
        :returns: The digits, or a dash if there is no value.
        """
        if value is None or math.isnan(value):
            return DASH
        digits = f"{value:{'+' if sign else ''}.{self.decimals}f}"
        return digits.replace("-", "\N{MINUS SIGN}") if float(digits) else digits.lstrip("+-")


# The scores of answers: accuracy, word overlap and exact match.
ACC = Measure("acc", "Acc")
F1 = Measure("f1", "F1")
EM = Measure("em", "EM")
# The scores of retrieval.
RECALL = Measure("recall", "Recall")
RECALL_ALL = Measure("recall_all", "All found")
# The costs per question.
DOCUMENTS = Measure("documents_per_question", "Documents", "count", 2)
CALLS = Measure("llm_calls", "Calls", "count", 2)
SECONDS = Measure("seconds_per_question", "Seconds", "count", 2)
TOTAL_LOCAL = Measure("total_local", "Total local", "count", 2)
TOTAL_WEB = Measure("total_web", "Total web", "count", 2)
TOTAL = Measure("total", "Retrievals", "count", 2)
USED_LOCAL = Measure("used_local", "Used local", "count", 2)
USED = Measure("used", "Used", "count", 2)
LOOKUPS = Measure("lookups", "Look-ups", "count", 2)
# How surely a pipeline answers, and what it asks the web: see `metrics/certainty.py`.
GIVEN = Measure("answered", "Given")
RIGHT = Measure("right_of_given", "Right of given")
FAIR = Measure("fair_of_given", "Fair of given")
UNKNOWN = Measure("said_unknown", "Said unknown")
SENTENCE = Measure("sentence_1", "Sentence first")
SENTENCES = Measure("sentence_3", "Among three")
NEEDLESS = Measure("needless_queries", "Needless queries")
AS_TYPED = Measure("asked_as_typed", "Asked as typed")
TYPED = Measure("words_typed", "Words typed")
# The measures of the table about answers that are given and withheld.
CERTAINTY = (GIVEN, RIGHT, FAIR, UNKNOWN, SENTENCE, SENTENCES, NEEDLESS, AS_TYPED, TYPED)
# All measures.
MEASURES = (
    ACC,
    F1,
    EM,
    RECALL,
    RECALL_ALL,
    DOCUMENTS,
    CALLS,
    SECONDS,
    TOTAL_LOCAL,
    TOTAL_WEB,
    TOTAL,
    USED_LOCAL,
    USED,
    LOOKUPS,
    *CERTAINTY,
)
