"""Define the interface of extractive readers.

A reader finds the answer to a question in documents and estimates how likely the answer is right. It can also judge an
answer that somebody else proposes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from haystack import Document

from prefrag.errors import Missing


@dataclass(frozen=True)
class Candidate:
    """A possible answer.

    :param text: The answer: a span of a document, ``yes`` or ``no``.
    :param kind: ``span``, ``yes`` or ``no``. It is ``steps`` if the question asks how to do something.
    :param document: The document that contains the span. For ``yes`` and ``no``, it contains the ``sentence``.
    :param sentence: The sentence that states the answer. For ``steps``, the list behind the sentence is added. For
        ``yes`` and ``no``, it is the sentence that contains most of the question's words.
    :param probability: How likely the answer is right, from 0 to 1. The sum over all candidates is at most 1.
    """

    text: str
    kind: Literal["span", "yes", "no", "steps"]
    document: Document
    sentence: str
    probability: float


@dataclass(frozen=True)
class Judgement:
    """How well documents support an answer that somebody else proposes.

    :param probability: How likely the answer is right, from 0 to 1. It is 0 if no passage contains the answer.
    :param cover: How much of the question is covered by the answer's sentence, by the sentences that are linked to it
        as in a chain of facts, by the heading above it and by the sentence before it, from 0 to 1. Each word counts by
        its weight. It is 0 if no sentence contains the answer.
    :param head: How much of the head of the question the answer's sentence covers, from 0 to 1. The head is what stands
        before the first clause that describes something.
    :param is_outdated: Whether a newer document gives another answer, or the answer's clause is about another time or
        another name than the question.
    :param is_doubtful: Whether the answer's sentence contains the words of the answer but may not state the answer. It
        is also set if another document says otherwise, and their dates do not show which of them holds.
    :param is_by_date: Whether the question compares two things, and their dates in the documents decide for the answer.
    """

    probability: float = 0.0
    cover: float = 0.0
    head: float = 0.0
    is_outdated: bool = False
    is_doubtful: bool = False
    is_by_date: bool = False


class Reader(Protocol):
    """Find answers in documents.

    A reader may also have a method ``warm_up``, which loads its model.
    """

    @property
    def threshold(self) -> float:
        """The minimum probability, from 0 to 1, of an answer that is given to the user."""

    @property
    def probable(self) -> float:
        """The minimum probability, from 0 to 1, of a probable answer.

        If the probability is at least this but below :attr:`threshold`, the user gets only the sentence with the
        answer.
        """

    def read(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Find possible answers in documents.

        :param question: The question.
        :param documents: The documents, best first.
        :returns: The candidates, likeliest first; empty if no document has text or the kind of question is unsupported.
        """

    async def read_async(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Read as :meth:`read` does, without blocking the event loop.

        :param question: The question.
        :param documents: The documents, best first.
        :returns: The candidates, the likeliest first.
        """

    def judge(self, question: str, documents: Sequence[Document], answer: str) -> Judgement:
        """Judge an answer that somebody else proposes, such as a language model.

        :param question: The question.
        :param documents: The documents, best first.
        :param answer: The answer.
        :returns: How well the documents support it.
        """

    async def judge_async(self, question: str, documents: Sequence[Document], answer: str) -> Judgement:
        """Judge as :meth:`judge` does, without blocking the event loop.

        :param question: The question.
        :param documents: The documents, best first.
        :param answer: The answer.
        :returns: How well the documents support it.
        """


class ReaderMissing(Missing):
    """The error when a file of the trained reader, or a package that the reader needs, is missing.

    Its message says what to do.
    """
