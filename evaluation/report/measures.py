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
        digits = f"{value:+.{self.decimals}f}" if sign else f"{value:.{self.decimals}f}"
        if float(digits) == 0:
            # A zero has no sign.
            return digits.lstrip("+-")
        return digits.replace("-", "\N{MINUS SIGN}")


# Scores of answers. Accuracy is the share of answers that contain a gold answer.
ACC = Measure("acc", "Acc")
# F1 measures how many words an answer shares with a gold answer.
F1 = Measure("f1", "F1")
# Exact match is the share of answers that equal a gold answer.
EM = Measure("em", "EM")
# Scores of retrieval. Recall is the share of the gold passages that were shown.
RECALL = Measure("recall", "Recall")
# The share of questions for which all gold passages were shown.
RECALL_ALL = Measure("recall_all", "All found")
# Costs per question. This is the number of different documents that the model was shown.
DOCUMENTS = Measure("documents_per_question", "Documents", "count", 2)
# The number of model calls.
CALLS = Measure("llm_calls", "Calls", "count", 2)
# The time in seconds.
SECONDS = Measure("seconds_per_question", "Seconds", "count", 2)
# The number of retrievals from the local source.
TOTAL_LOCAL = Measure("total_local", "Total local", "count", 2)
# The number of retrievals from the web.
TOTAL_WEB = Measure("total_web", "Total web", "count", 2)
# The number of all retrievals.
TOTAL = Measure("total", "Retrievals", "count", 2)
# The number of retrievals from the local source whose documents the model was shown.
USED_LOCAL = Measure("used_local", "Used local", "count", 2)
# The number of all retrievals whose documents the model was shown.
USED = Measure("used", "Used", "count", 2)
# The number of queries that the retrievals sent.
LOOKUPS = Measure("lookups", "Look-ups", "count", 2)
# Scores of how surely a pipeline answers, see `metrics/certainty.py`. This is the share of questions with an answer.
GIVEN = Measure("answered", "Given")
# The share of given answers that are right.
RIGHT = Measure("right_of_given", "Right of given")
# The share of given answers that a person would accept.
FAIR = Measure("fair_of_given", "Fair of given")
# The share of questions without an answer for which the pipeline said that it found none.
UNKNOWN = Measure("said_unknown", "Said unknown")
# The share of questions for which the first sentence shown is a gold sentence.
SENTENCE = Measure("sentence_1", "Sentence first")
# The share of questions for which one of the first three sentences shown is a gold sentence.
SENTENCES = Measure("sentence_3", "Among three")
# The share of questions for which a query was sent although the preferred source has the answer.
NEEDLESS = Measure("needless_queries", "Needless queries")
# The share of questions for which every query to the web was the question itself.
AS_TYPED = Measure("asked_as_typed", "Asked as typed")
# The share of the words in queries to the web that the user had typed.
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
