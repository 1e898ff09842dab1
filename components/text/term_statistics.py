"""Split texts into terms, and compute a weight for each term.

A term is a word in the form that an index compares. The weight of a term is larger if fewer documents contain it. The
judges, the reader and the retrievers use terms and weights to see how well passages fit a question.
"""

import math
import re
from collections.abc import Container, Iterable, Mapping
from typing import Protocol

from haystack import Document


class TermStatistics(Protocol):
    """An object that splits texts into the terms of an index, and counts the documents that contain a term.

    The object may also have a method ``analyze_many``, which splits a list of texts in one call.
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
# The words above as a set. :func:`words` leaves them out.
QUESTION_WORDS = frozenset(_FREQUENT.split())
# Words of grammar, which say nothing about the topic of a question. Unlike the list above, this list is for texts whose
# words of all lengths are compared, so it also has words of fewer than four letters.
_PLAIN = (
    "a an the of in on at to for by from with and or is are was were be been did do does what which who whom "
    "whose when where how many much that this it its as has have had not into than then his her their he she they "
    "there between both same"
)
# The words of grammar as a set.
PLAIN_WORDS = frozenset(_PLAIN.split())


def words(text: str) -> list[str]:
    """Split a text into lower-case words. This simple split is used where no index can analyse the text.

    For example, ``words("When was the Tarn Mill built?")`` returns ``["tarn", "mill", "built"]``.

    :param text: The text.
    :returns: Its words of four letters and more, without the words of :data:`QUESTION_WORDS`. Repetitions are included.
    """
    return [word for word in re.findall(r"\w{4,}", text.lower()) if word not in QUESTION_WORDS]


def content_words(text: str) -> list[str]:
    """List the words of a question that a passage with the answer should contain.

    For example, ``content_words("Which key opens flat B12?")`` returns ``["opens", "flat", "b12"]``.

    :param text: The question.
    :returns: The words that :func:`words` returns, and then the words with a digit, of any length. Each word is listed
        once, in lower case.
    """
    return list(dict.fromkeys([*words(text), *re.findall(r"\w*\d\w*", text.lower())]))


def analyze_texts(texts: Iterable[str], statistics: TermStatistics | None) -> list[list[str]]:
    """Split texts into terms.

    If ``statistics`` has a method `analyze_many`, all texts are split in one call, so that a server gets few requests.

    :param texts: The texts.
    :param statistics: The object that splits the texts, or None to split them with :func:`words`.
    :returns: For each text its terms, in the order of the text, repetitions included.
    """
    if statistics is None:
        return [words(text) for text in texts]
    analyze_many = getattr(statistics, "analyze_many", None)
    if analyze_many:
        return list(analyze_many(list(texts)))
    return [statistics.analyze(text) for text in texts]


def passage_text(document: Document) -> str:
    """Join the title and the content of a passage.

    :param document: The passage. Its title is in its metadata.
    :returns: Title and content with a space between them. The space is there even if the title or the content is not.
    """
    return f"{document.meta.get('title') or ''} {document.content or ''}"


def sum_of_weights(weights: Mapping[str, float], terms: Container[str]) -> float:
    """Add up the weights of some terms.

    The weights are added in the order of ``weights``, because the sum of floats depends on the order. For example,
    ``sum_of_weights({"mill": 2.0, "tarn": 3.0}, {"mill", "lift"})`` returns ``2.0``.

    :param weights: The weight of each term.
    :param terms: The terms to add up. Terms without a weight add nothing.
    :returns: The sum.
    """
    return sum(value for word, value in weights.items() if word in terms)


def term_weights(terms: Iterable[str], statistics: TermStatistics | None) -> dict[str, float]:
    """Compute the inverse document frequency of each term, as in BM25.

    For example, ``term_weights(["mill"], None)`` returns ``{"mill": 1.0}``. In an index of 100 documents, a term that
    one document contains gets the weight 4.21, and a term that all documents contain gets 0.005.

    :param terms: The terms. Repetitions do not matter.
    :param statistics: The object that counts documents, or None to give every term the weight 1.
    :returns: The weight of each term.
    """
    unique = set(terms)
    if statistics is None:
        return dict.fromkeys(unique, 1.0)

    total, frequencies = statistics.document_frequencies(unique)
    weights = {}
    # The terms are sorted, because callers add up the weights, and the order of a set differs between processes.
    for term in sorted(unique):
        with_term = frequencies.get(term, 0)
        without_term = total - with_term
        weights[term] = math.log(1 + (without_term + 0.5) / (with_term + 0.5))
    return weights
