"""The interface of pair scorers, which estimate whether two documents are needed together."""

from typing import Protocol

from haystack import Document

from prefrag.errors import Missing

Pair = tuple[Document, Document]


class PairScorer(Protocol):
    """Any object that estimates whether two documents are needed together.

    ``warm_up``, ``to_dict``, ``from_dict`` and ``together`` are optional. Set ``together`` to true if scores are cheap
    or depend on the question's other pairs: one call then gets all pairs. Otherwise, only the needed pairs are scored.
    """

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """Score all pairs of a question.

        :param question: The question.
        :param pairs: The pairs of documents. If only one document of a pair is from the first stage, it comes first.
        :returns: For each pair, in order, the probability from 0 to 1 that both are needed (equation 2 of DR-RAG).
        """


class ClassifierMissing(Missing):
    """The error if the trained classifier or a package that it needs is missing. The message says what to do."""

    def __init__(self, reason: str):
        super().__init__(
            f"{reason} The pipeline dr_rag_qdc needs no classifier: it retrieves in two stages and selects by rank."
        )
