"""The interface of question classifiers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

QuestionClass = Literal["no_retrieval", "single_step", "multi_step"]
#: The classes from the least retrieval to the most: A, B and C of Adaptive-RAG.
CLASSES: tuple[QuestionClass, ...] = get_args(QuestionClass)


@dataclass(frozen=True)
class Estimate:
    """A classifier's estimate for one question."""

    probabilities: Mapping[str, float]  # from 0 to 1, for each class that the classifier knows
    doubt: str = ""  # why the probabilities are only a guess; empty if they are reliable


class QuestionClassifier(Protocol):
    """Estimate how much retrieval a question needs (section 3.2 of Adaptive-RAG)."""

    def warm_up(self) -> None:
        """Prepare the classifier before the first question."""

    def classify(self, question: str) -> Estimate:
        """Classify a question by its text alone."""

    async def classify_async(self, question: str) -> Estimate:
        """Do the same as :meth:`classify`, without blocking the event loop."""

    def to_dict(self) -> dict[str, Any]:
        """Serialise the classifier (its Python class and settings), as Haystack writes it into a pipeline's YAML."""
