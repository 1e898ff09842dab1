"""Split texts into terms (the tokens that an index compares), and compute weights, which are larger for rare terms."""

import math
import re
from collections.abc import Container, Iterable, Mapping
from typing import Protocol

from haystack import Document


class TermStatistics(Protocol):
    """Any object that can split texts into the terms of an index, and count the documents that contain a term.

    It may also have a method ``analyze_many``, which splits a list of texts in one call.
    """

    def analyze(self, text: str) -> list[str]:
        """Split a text into the terms of the index.

        :param text: The text.
        :returns: Its terms, in order, repetitions included.
        """

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, Mapping[str, int]]:
        """Count the documents that contain each term.

        :param words: The terms.
        :returns: The number of all documents, and for each term the number of documents that contain it.
        """


# Words of four letters and more that are frequent in questions. A passage with the answer need not contain them.
_FREQUENT = (
    "about does from have into than that their them then there these they this those were what when where which whom "
    "whose will with year"
)
QUESTION_WORDS = frozenset(_FREQUENT.split())
# Words that say nothing about the topic of a question.
_PLAIN = (
    "a an the of in on at to for by from with and or is are was were be been did do does what which who whom "
    "whose when where how many much that this it its as has have had not into than then his her their he she they "
    "there between both same"
)
PLAIN_WORDS = frozenset(_PLAIN.split())


def words(text: str) -> list[str]:
    """Split a text into lower-case words. This simple split is used where no index can analyse the text.

    :param text: The text.
    :returns: Its words of four letters and more, without question words.
    """
    return [word for word in re.findall(r"\w{4,}", text.lower()) if word not in QUESTION_WORDS]


def content_words(text: str) -> list[str]:
    """List the words of a question that its passages should hold, so that none is one that it only asks with.

    :param text: The question.
    :returns: The words that :func:`words` keeps, and those with a digit, of any length; each once, in lower case.
    """
    return list(dict.fromkeys([*words(text), *re.findall(r"\w*\d\w*", text.lower())]))


def analyze_texts(texts: Iterable[str], statistics: TermStatistics | None) -> list[list[str]]:
    """Split texts into terms, all in one call if ``statistics`` has `analyze_many`, so that a server gets few requests.

    The terms of each text are in order, with repetitions. Without statistics, :func:`words` splits the texts.
    """
    if statistics is None:
        return [words(text) for text in texts]
    analyze_many = getattr(statistics, "analyze_many", None)
    if analyze_many:
        return list(analyze_many(list(texts)))
    return [statistics.analyze(text) for text in texts]


def passage_text(document: Document) -> str:
    """Join the title and the content of a passage."""
    return f"{document.meta.get('title') or ''} {document.content or ''}"


def sum_of_weights(weights: Mapping[str, float], terms: Container[str]) -> float:
    """Add the weights of ``terms``, in the order of ``weights``: the sum of floats depends on the order."""
    return sum(value for word, value in weights.items() if word in terms)


def term_weights(terms: Iterable[str], statistics: TermStatistics | None) -> dict[str, float]:
    """Compute each term's inverse document frequency, as in BM25. Without statistics, every term gets 1."""
    unique = set(terms)
    if statistics is None:
        return dict.fromkeys(unique, 1.0)
    total, frequencies = statistics.document_frequencies(unique)
    weights = {}
    # In one order, because callers add up the weights, and the order of a set differs between processes.
    for term in sorted(unique):
        documents = frequencies.get(term, 0)
        weights[term] = math.log(1 + (total - documents + 0.5) / (documents + 0.5))
    return weights
