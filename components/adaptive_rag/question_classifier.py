"""The interface of a classifier of questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

QuestionClass = Literal["no_retrieval", "single_step", "multi_step"]
#: From the least retrieval to the most: A, B and C of Adaptive-RAG.
CLASSES: tuple[QuestionClass, ...] = get_args(QuestionClass)


@dataclass(frozen=True)
class Estimate:
    """What a classifier says about a question."""

    probabilities: Mapping[str, float]  # the probability of each class that it knows, from 0 to 1
    doubt: str = ""  # why the probabilities are a guess; empty where they are not


class QuestionClassifier(Protocol):
    """Estimate how much retrieval a question needs (section 3.2 of Adaptive-RAG)."""

    def warm_up(self) -> None:
        """Load or connect what the classifier needs, before the first question."""

    def classify(self, question: str) -> Estimate:
        """Classify a question by its text alone."""

    async def classify_async(self, question: str) -> Estimate:
        """Classify as :meth:`classify` does, without blocking the event loop."""

    def to_dict(self) -> dict[str, Any]:
        """Write the classifier as a block of the pipeline's YAML."""
