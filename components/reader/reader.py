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
    :param document: The document that holds the span or, for yes and no, the sentence.
    :param sentence: The sentence that states the answer or, for yes and no, covers most of the question.
    :param probability: How likely the answer is right, from 0 to 1; over all candidates the sum is at most 1.
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
        """The least probability at which an answer is given, from 0 to 1."""

    @property
    def probable(self) -> float:
        """The least probability at which the sentence of an answer is given, from 0 to 1."""

    def read(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Find the possible answers of a question in documents.

        :param question: The question.
        :param documents: The documents, best first.
        :returns: The candidates, the likeliest first; none if the documents are empty or the reader cannot answer
            questions of this kind.
        """

    async def read_async(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Read as :meth:`read` does, without blocking the event loop.

        :param question: The question.
        :param documents: The documents, best first.
        :returns: The candidates, the likeliest first.
        """


class ReaderMissing(Missing):
    """Report that there is no trained reader, or no package that runs it; the message says what to do."""
