"""What says whether two documents are needed together."""

from __future__ import annotations

from typing import Protocol

from haystack import Document

from prefrag.components.errors import Missing

Pair = tuple[Document, Document]


class PairScorer(Protocol):
    """What says whether two documents are needed together; it may have ``warm_up``, ``to_dict`` and ``from_dict``.

    It may also have ``together``: true where a score is relative to the other pairs of the question, or costs next to
    nothing. Then all pairs of a question are given in one call, where the others are asked for as few as possible.
    """

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """
        Score all pairs of a question.

        :param question: The question.
        :param pairs: Two documents each; of a pair from two stages, the first stage's is the first.
        :returns: For each pair, in order, how likely it is from 0 to 1 that both are needed (equation 2 of DR-RAG).
        """


class ClassifierMissing(Missing):
    """There is no trained classifier, or no package that runs it; the message says what to do."""

    def __init__(self, reason: str):
        super().__init__(
            f"{reason} The pipeline dr_rag_qdc needs no classifier: it retrieves in two stages and selects by rank."
        )
