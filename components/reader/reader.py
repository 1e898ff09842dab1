"""The interface of a reader, which answers a question from documents and says how sure it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from haystack import Document

from prefrag.components.errors import Missing


@dataclass(frozen=True)
class Candidate:
    """A possible answer.

    :param text: The answer: a span of a document, ``yes`` or ``no``.
    :param kind: ``span``, ``yes``, ``no``, or ``steps`` for a span that answers how to do something.
    :param document: The document that holds the span, or that speaks most for yes or no.
    :param sentence: The sentence in it that states the answer.
    :param probability: How likely the answer is right, from 0 to 1; those of all candidates add up to 1 at most.
    """

    text: str
    kind: Literal["span", "yes", "no", "steps"]
    document: Document
    sentence: str
    probability: float


class Reader(Protocol):
    """Answer a question from documents; ``warm_up`` is optional."""

    @property
    def threshold(self) -> float:
        """The probability from which an answer is given, from 0 to 1."""

    @property
    def probable(self) -> float:
        """The probability from which the sentence of an answer is given, from 0 to 1."""

    def read(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Find the possible answers of a question in documents.

        :param question: The question.
        :param documents: The documents, best first.
        :returns: The candidates, the likeliest first; none where no document says anything, or the question is one
            that the reader cannot answer.
        """

    async def read_async(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Read as :meth:`read` does, without blocking the event loop.

        :param question: The question.
        :param documents: The documents, best first.
        :returns: The candidates, the likeliest first.
        """


class ReaderMissing(Missing):
    """Report that there is no trained reader, or no package that runs it; the message states what to do."""
