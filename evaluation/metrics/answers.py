"""Score answers by the project's own rules.

Every score is between 0 and 1. If a question has several gold answers, the score of the best match counts. The module
``official.py`` scores the same answers by other rules: those of the datasets' scripts and of the code of PrefRAG's
authors.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from prefrag.components.text.number_words import ONES, TEENS
from prefrag.evaluation.question import Question

# Matches the English articles as whole words. Normalisation removes them: "the capital of a state" becomes "capital of
# state". The "the" in "theatre" does not match.
_ARTICLES = re.compile(r"\b(a|an|the)\b")
# A table for `str.translate` that deletes all ASCII punctuation: "U.S.A." becomes "USA".
_PUNCTUATION = str.maketrans("", "", string.punctuation)
# Matches all prepositions at the start of a normalised answer. For example, it matches "in " in "in germany", and "from
# about " in "from about 1900". It does not match the "in" of "india".
_PREPOSITIONS = re.compile(r"^(?:(?:in|on|at|by|to|of|from|for|with|about|around|until|since) )+")
# Maps each number word from zero to twelve to its digits: "two" to "2".
_DIGITS = {word: str(number) for number, word in enumerate(("zero", *ONES, *TEENS[:3]))}


def answer_scores(question: Question, answer: str) -> dict[str, float]:
    """Score an answer by four metrics.

    A yes/no question has a rule of its own: the answer must contain the right word and must not contain the wrong word.
    For ``acc_word``, this rule holds on every dataset. For ``acc``, it holds only on the dataset BioASQ.

    :param question: The question with its gold answers. A yes/no question must have at least one gold answer.
    :param answer: The answer of the pipeline.
    :returns: The scores ``acc`` (see :func:`acc`), ``acc_word`` (see :func:`acc_word`), ``em`` (see :func:`em`) and
        ``f1`` (see :func:`f1`), each from 0 to 1.
    """
    golds = question.answers
    by_words = _score_word(question, answer)
    by_characters = acc(answer, golds)
    is_of_bioasq = question.dataset == "bioasq" and question.is_yes_no
    return {
        "acc": by_words if is_of_bioasq else by_characters,
        "acc_word": by_words,
        "em": em(answer, golds),
        "f1": f1(answer, golds),
    }


def _score_word(question: Question, answer: str) -> float:
    """Return 1.0 if the answer contains a gold answer as whole words, else 0.0.

    For a yes/no question, the answer must contain the gold word and must not contain the other word.
    """
    if question.is_yes_no:
        return float(yes_no(answer) == question.answers[0].strip().lower())
    return acc_word(answer, question.answers)


def acc(answer: str, golds: Sequence[str]) -> float:
    """Check whether a gold answer occurs anywhere in an answer, even inside a longer word.

    Upper and lower case are equal. For example, ``acc("Norway", ["no"])`` returns ``1.0``. The code of PrefRAG's
    authors computes the metric in the same way. Section 4.1 of their paper names the metric.

    :param answer: The answer of the pipeline.
    :param golds: The gold answers. Empty gold answers are ignored.
    :returns: 1.0 if a gold answer occurs in the answer, otherwise 0.0.
    """
    return float(any(gold.strip().lower() in answer.lower() for gold in golds if gold.strip()))


def acc_word(answer: str, golds: Sequence[str]) -> float:
    """Check whether an answer contains a gold answer as whole words. Upper and lower case are equal.

    For example, ``acc_word("in the north of Norway", ["norway"])`` returns ``1.0``, and ``acc_word("Norway", ["no"])``
    returns ``0.0``.

    :param answer: The answer of the pipeline.
    :param golds: The gold answers. Empty gold answers are ignored.
    :returns: 1.0 if the answer contains a gold answer, otherwise 0.0.
    """
    return float(any(_holds_word(answer, gold) for gold in golds if gold.strip()))


def em(answer: str, golds: Sequence[str]) -> float:
    """Check whether an answer equals a gold answer after :func:`normalise` was applied to both (exact match).

    For example, ``em("The Beatles.", ["Beatles"])`` returns ``1.0``.

    :param answer: The answer of the pipeline.
    :param golds: The gold answers.
    :returns: 1.0 if the answer equals a gold answer, otherwise 0.0.
    """
    return float(any(normalise(answer) == normalise(gold) for gold in golds))


def fair(answer: str, golds: Sequence[str]) -> float:
    """Estimate whether a person would accept an answer that is only a part of a gold answer.

    The rule has two conditions. The gold answer must contain the answer as whole words. The gold answer may have at
    most twice as many words as the answer. Both texts are compared after :func:`normalise`. Prepositions at the start
    are ignored, so "in Germany" is equal to "Germany". Number words up to twelve are equal to digits, so "two" is equal
    to "2".

    For example, ``fair("Oslo", ["Oslo, Norway"])`` returns ``1.0``, and ``fair("Oslo", ["the city of Oslo"])`` returns
    ``0.0``.

    :param answer: The answer of the pipeline.
    :param golds: The gold answers.
    :returns: 1.0 if the rule accepts the answer for at least one gold answer, otherwise 0.0.
    """
    return float(any(_is_acceptable(_plain(answer), _plain(gold)) for gold in golds))


def _plain(text: str) -> list[str]:
    """Split a text into normalised words, without prepositions at the start and with digits for number words.

    For example, ``_plain("In the two cities")`` returns ``["2", "cities"]``.
    """
    words = _PREPOSITIONS.sub("", normalise(text)).split()
    return [_DIGITS.get(word, word) for word in words]


def _is_acceptable(answer: list[str], gold: list[str]) -> bool:
    """Check whether a gold answer contains the words of an answer in a row, and has at most twice as many words."""
    if not answer:
        return False
    # Both texts get a space before and after. So the answer "art" is not found inside the gold word "party".
    is_part = f" {' '.join(answer)} " in f" {' '.join(gold)} "
    return is_part and 2 * len(answer) >= len(gold)


def f1(answer: str, golds: Sequence[str]) -> float:
    """Measure how many words an answer shares with a gold answer, after :func:`normalise` was applied to both.

    F1 is the harmonic mean of precision and recall. Precision is the share of the answer's words that are in the gold
    answer. Recall is the share of the gold answer's words that are in the answer. If :func:`em` is 1, F1 is also 1,
    even if no words are left after normalisation.

    For example, ``f1("Oslo Norway", ["Oslo"])`` returns ``2 / 3``.

    :param answer: The answer of the pipeline.
    :param golds: The gold answers. Without gold answers, F1 is 0.
    :returns: The highest F1 that the answer has with any gold answer, from 0 to 1.
    """
    if em(answer, golds):
        return 1.0
    best = 0.0
    for gold in golds:
        score, _, _ = overlap(answer, gold)
        best = max(best, score)
    return best


def overlap(answer: str, gold: str) -> tuple[float, float, float]:
    """Compare the words of two texts, after :func:`normalise` was applied to both.

    A word that occurs twice in both texts counts twice. The script of SQuAD and its successors count in the same way.
    For example, ``overlap("Oslo Norway", "Oslo")`` returns ``(2 / 3, 0.5, 1.0)``.

    :param answer: The text whose words are the denominator of precision.
    :param gold: The text whose words are the denominator of recall.
    :returns: F1, precision and recall, each from 0 to 1. All three are 0 if no word is shared.
    """
    answer_words = normalise(answer).split()
    gold_words = normalise(gold).split()
    shared_words = Counter(answer_words) & Counter(gold_words)
    n_shared = shared_words.total()
    if not n_shared:
        return 0.0, 0.0, 0.0
    precision = n_shared / len(answer_words)
    recall = n_shared / len(gold_words)
    return 2 * precision * recall / (precision + recall), precision, recall


def normalise(text: str) -> str:
    """Normalise an answer as SQuAD does.

    The result has lower case letters and single spaces. ASCII punctuation and the English articles are removed. For
    example, ``normalise("The  U.S. Navy")`` returns ``"us navy"``.

    :param text: An answer of a pipeline, or a gold answer.
    :returns: The normalised text, which may be empty.
    """
    without_punctuation = text.lower().translate(_PUNCTUATION)
    without_articles = _ARTICLES.sub(" ", without_punctuation)
    return " ".join(without_articles.split())


def yes_no(answer: str) -> Literal["yes", "no"] | None:
    """Read yes or no from an answer.

    For example, ``yes_no("Yes, it was.")`` returns ``"yes"``.

    :param answer: The answer of the pipeline.
    :returns: "yes" or "no", if the answer contains only this word of the two. None if the answer contains both words or
        neither.
    """
    has_yes = _holds_word(answer, "yes")
    has_no = _holds_word(answer, "no")
    if has_yes == has_no:
        return None
    return "yes" if has_yes else "no"


def _holds_word(text: str, word: str) -> bool:
    """Check whether a text contains a word or phrase as whole words. Upper and lower case are equal."""
    # Both texts are changed to lower case, as in `acc`. With the flag IGNORECASE, some more letters would be equal, for
    # example the Turkish "i" without a dot and the usual "i".
    lower_word = re.escape(word.strip().lower())
    return re.search(rf"(?<!\w){lower_word}(?!\w)", text.lower()) is not None
