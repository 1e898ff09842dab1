"""Score answers by our own rules. ``official.py`` follows the datasets' scripts and the code of PrefRAG's authors.

Every score is between 0 and 1. If a question has several gold answers, the best match counts.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from prefrag.evaluation.question import Question

# Normalisation removes these words: "the capital of a state" becomes "capital of state".
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
# Prepositions at the start of a normalised answer, such as "in " in "in germany".
_PREPOSITIONS = re.compile(r"^(?:(?:in|on|at|by|to|of|from|for|with|about|around|until|since) )+")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)}


def answer_scores(question: Question, answer: str) -> dict[str, float]:
    """Score an answer as ``acc``, ``acc_word``, ``em`` and ``f1``.

    For a yes/no question, ``acc_word`` is 1 only if the answer contains the right word and not the wrong word. In
    BioASQ, where all questions are yes/no questions, the same rule applies to ``acc``.
    """
    golds = question.answers
    word = _score_word(question, answer)
    return {
        "acc": word if question.dataset == "bioasq" and question.is_yes_no else acc(answer, golds),
        "acc_word": word,
        "em": em(answer, golds),
        "f1": f1(answer, golds),
    }


def _score_word(question: Question, answer: str) -> float:
    if question.is_yes_no:
        return float(yes_no(answer) == question.answers[0].strip().lower())
    return acc_word(answer, question.answers)


def acc(answer: str, golds: Sequence[str]) -> float:
    """Check whether a gold answer occurs anywhere in an answer, ignoring case. So "no" is found in "Norway".

    The PrefRAG authors' code does the same (section 4.1 of their paper names the metric).
    """
    return float(any(gold.strip().lower() in answer.lower() for gold in golds if gold.strip()))


def acc_word(answer: str, golds: Sequence[str]) -> float:
    """Check whether an answer contains a gold answer as whole words."""
    return float(any(_holds_word(answer, gold) for gold in golds if gold.strip()))


def em(answer: str, golds: Sequence[str]) -> float:
    """Check whether an answer equals a gold answer after both were normalised."""
    return float(any(normalise(answer) == normalise(gold) for gold in golds))


def fair(answer: str, golds: Sequence[str]) -> float:
    """Guess by a rule whether a person would accept an answer although it differs from the gold answers.

    The gold answer must contain the given answer as whole words, and have at most twice as many words. Prepositions at
    the start are ignored ("in Germany" is "Germany"), and number words up to twelve count as digits ("two" is "2").
    """
    return float(any(_is_acceptable(_plain(answer), _plain(gold)) for gold in golds))


def _plain(text: str) -> list[str]:
    words = _PREPOSITIONS.sub("", normalise(text)).split()
    return [_DIGITS.get(word, word) for word in words]


def _is_acceptable(answer: list[str], gold: list[str]) -> bool:
    if not answer:
        return False
    # With blanks around each word, only whole words are found.
    is_part = f" {' '.join(answer)} " in f" {' '.join(gold)} "
    return is_part and 2 * len(answer) >= len(gold)


def f1(answer: str, golds: Sequence[str]) -> float:
    """Measure how many words an answer shares with a gold answer, both normalised.

    F1 is the harmonic mean of precision (how many words of the answer are in the gold answer) and recall (how many
    words of the gold answer are in the answer). F1 is 1 if :func:`em` is 1, even if normalisation leaves no words.
    """
    if em(answer, golds):
        return 1.0
    return max((overlap(answer, gold)[0] for gold in golds), default=0.0)


def overlap(answer: str, gold: str) -> tuple[float, float, float]:
    """Return F1, precision and recall of the shared words, counted as in SQuAD's script and its successors."""
    words, right = normalise(answer).split(), normalise(gold).split()
    shared = (Counter(words) & Counter(right)).total()
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(words), shared / len(right)
    return 2 * precision * recall / (precision + recall), precision, recall


def normalise(text: str) -> str:
    """Normalise an answer as SQuAD does: lower case, without ASCII punctuation, English articles or extra spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def yes_no(answer: str) -> Literal["yes", "no"] | None:
    """Read yes or no from an answer; None when it contains both or neither."""
    yes, no = _holds_word(answer, "yes"), _holds_word(answer, "no")
    if yes == no:
        return None
    return "yes" if yes else "no"


def _holds_word(text: str, word: str) -> bool:
    # Both sides are lower-cased, as in `acc`: IGNORECASE would equate some letters that lower-casing keeps apart.
    return re.search(rf"(?<!\w){re.escape(word.strip().lower())}(?!\w)", text.lower()) is not None
