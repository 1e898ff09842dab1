"""The interface of pair scorers, which estimate whether two documents are needed together.

`PairClassifier` and the linked retrievers use a pair scorer. `TreePairScorer` and `TransformerPairScorer` implement the
interface.
"""

from typing import Protocol

from haystack import Document

from prefrag.errors import Missing

Pair = tuple[Document, Document]


class PairScorer(Protocol):
    """Any object that estimates whether two documents are needed together.

    The methods ``warm_up``, ``to_dict`` and ``from_dict`` and the attribute ``together`` are optional. Set ``together``
    to True if scores are cheap, or if they depend on the other pairs of the question. All pairs are then scored in one
    call. Otherwise, only the needed pairs are scored.
    """

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """Score pairs of documents for a question.

        :param question: The question.
        :param pairs: The pairs of documents. If only one document of a pair is from the first stage, this document
            comes first.
        :returns: For each pair, in order, the probability from 0 to 1 that both documents are needed (equation 2 of
            DR-RAG).
        """


class ClassifierMissing(Missing):
    """The error if the trained classifier is missing, or a package that it needs. The message says what to do."""

    def __init__(self, reason: str):
        """Write the message.

        :param reason: What is missing, as full sentences. The message adds which pipeline needs no classifier.
        """
        super().__init__(
            f"{reason} The pipeline dr_rag_qdc needs no classifier: it retrieves in two stages and selects by rank."
        )
