"""The interface of extractive readers, which find the answer to a question in documents and say how sure they are."""

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
    :param document: The document that holds the span or, for yes and no, the sentence.
    :param sentence: The sentence that states the answer or, for yes and no, the one with most of the question's words.
    :param probability: How likely the answer is right, from 0 to 1. The sum over all candidates is at most 1.
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
        """The minimum probability, from 0 to 1, at which an answer is given."""

    @property
    def probable(self) -> float:
        """The minimum probability, from 0 to 1, at which only the sentence of an answer is given."""

    def read(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Find the possible answers to a question in documents.

        :param question: The question.
        :param documents: The documents, best first.
        :returns: The candidates, the likeliest first. The list is empty if the documents are empty or if the reader
            cannot answer questions of this kind.
        """

    async def read_async(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Read as :meth:`read` does, without blocking the event loop.

        :param question: The question.
        :param documents: The documents, best first.
        :returns: The candidates, the likeliest first.
        """


class ReaderMissing(Missing):
    """Report that the trained reader, or a package that it needs, is missing; the message says what to do."""
