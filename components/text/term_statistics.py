"""The words of texts, and how rare they are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Protocol

from haystack import Document


class TermStatistics(Protocol):
    """What a document store knows of its words.

    With a method ``analyze_many`` a list of texts is analysed in one call.
    """

    def analyze(self, text: str) -> list[str]:
        """Split a text into the terms of the index.

        :param text: The text.
        :returns: Its terms, in order, repetitions included.
        """

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, Mapping[str, int]]:
        """Count the documents that hold each term.

        :param words: The terms.
        :returns: The number of all documents, and of those that hold each term.
        """


# Words of questions that no passage is expected to answer with, of four letters and more.
_QUESTION_WORDS = frozenset(
    (
        *("about", "does", "from", "have", "into", "than", "that", "their", "them", "then", "there", "these", "they"),
        *("this", "those", "were", "what", "when", "where", "which", "whom", "whose", "will", "with", "year"),
    )
)


def words(text: str) -> list[str]:
    """Split a text into its words in lower case: the analysis where no index offers a better one.

    :param text: The text.
    :returns: Its words of four letters and more, without question words.
    """
    found = re.findall(r"\w+", text.lower())
    return [word for word in found if len(word) > 3 and word not in _QUESTION_WORDS]


def analyze_texts(texts: Iterable[str], statistics: TermStatistics | None) -> list[list[str]]:
    """Analyse texts, all in one call where the statistics can: a server is called once rather than for each text.

    :param texts: The texts.
    :param statistics: What analyses them; None takes :func:`words`.
    :returns: The terms of each text, in order, repetitions included.
    """
    if statistics is None:
        return [words(text) for text in texts]
    together = getattr(statistics, "analyze_many", None)
    return list(together(list(texts))) if together else [statistics.analyze(text) for text in texts]


def passage_text(document: Document) -> str:
    """Join the title and the content of a passage, whichever it has.

    :param document: The passage.
    :returns: Both, a blank between them.
    """
    return f"{document.meta.get('title') or ''} {document.content or ''}"


def term_weights(terms: Iterable[str], statistics: TermStatistics | None) -> dict[str, float]:
    """Weigh terms by their inverse document frequency, as BM25 does.

    :param terms: The terms.
    :param statistics: Where their frequencies come from; None weighs all terms alike.
    :returns: The weight of each term.
    """
    terms = set(terms)
    if statistics is None:
        return dict.fromkeys(terms, 1.0)
    total, frequencies = statistics.document_frequencies(terms)
    return {
        term: math.log(1 + (total - frequencies.get(term, 0) + 0.5) / (frequencies.get(term, 0) + 0.5))
        for term in terms
    }
