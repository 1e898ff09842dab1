"""The interface of question classifiers, which estimate how much retrieval a question needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

# No search at all, one search, or several searches that follow each other.
QuestionClass = Literal["no_retrieval", "single_step", "multi_step"]
#: The classes, from the least retrieval to the most. They are the classes A, B and C of Adaptive-RAG.
CLASSES: tuple[QuestionClass, ...] = get_args(QuestionClass)


@dataclass(frozen=True)
class Estimate:
    """The estimate of a classifier for one question."""

    # A probability from 0 to 1 for each class that the classifier knows.
    probabilities: Mapping[str, float]
    # Why the probabilities are only a guess. Empty if they are reliable.
    doubt: str = ""


class QuestionClassifier(Protocol):
    """Estimate how much retrieval a question needs (section 3.2 of Adaptive-RAG)."""

    def warm_up(self) -> None:
        """Prepare the classifier before the first question."""

    def classify(self, question: str) -> Estimate:
        """Classify a question by its text alone.

        :param question: The question.
        :returns: The estimate.
        """

    async def classify_async(self, question: str) -> Estimate:
        """Do the same as :meth:`classify`, without blocking the event loop.

        :param question: The question.
        :returns: The estimate.
        """

    def to_dict(self) -> dict[str, object]:
        """Serialise the classifier, as Haystack writes it into the YAML of a pipeline.

        :returns: The path of its Python class and its settings.
        """
