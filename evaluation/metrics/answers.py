"""Our own scores of an answer; ``official.py`` has those of the datasets and of PrefRAG's code.

Every score is between 0 and 1, and is that of the best-matching alias.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from prefrag.evaluation.question import Question

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_scores(question: Question, answer: str) -> dict[str, float]:
    """Score an answer as ``acc``, ``acc_word``, ``em`` and ``f1``.

    For a yes/no question, ``acc_word`` requires the right word and not the other one as well. For BioASQ, where all
    questions are of that kind, ``acc`` does so too.
    """
    golds = question.answers
    word = float(yes_no(answer) == golds[0].strip().lower()) if question.is_yes_no else acc_word(answer, golds)
    return {
        "acc": word if question.dataset == "bioasq" and question.is_yes_no else acc(answer, golds),
        "acc_word": word,
        "em": em(answer, golds),
        "f1": f1(answer, golds),
    }


def acc(answer: str, golds: Sequence[str]) -> float:
    """Check whether a right answer is anywhere in an answer, ignoring case.

    The PrefRAG authors' code does the same (section 4.1 names the metric). "Norway" contains "no".
    """
    return float(any(gold.strip().lower() in answer.lower() for gold in golds if gold.strip()))


def acc_word(answer: str, golds: Sequence[str]) -> float:
    """Check whether an answer contains a right one as whole words."""
    return float(any(_holds_word(answer, gold) for gold in golds if gold.strip()))


def em(answer: str, golds: Sequence[str]) -> float:
    """Check whether an answer equals a right one."""
    return float(any(normalise(answer) == normalise(gold) for gold in golds))


_PREPOSITIONS = re.compile(r"^(?:(?:in|on|at|by|to|of|from|for|with|about|around|until|since) )+")
_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def fair(answer: str, golds: Sequence[str]) -> float:
    """Check whether a person would accept an answer as right even though the strings differ.

    The answer must occur in a right one as whole words and have at least half of its words. Leading prepositions are
    ignored, and numbers up to twelve count as digits ("two" is "2", "in Germany" is "Germany").
    """
    return float(any(_fair(_plain(answer), _plain(gold)) for gold in golds))


def _plain(text: str) -> list[str]:
    words = _PREPOSITIONS.sub("", normalise(text)).split()
    return [str(_NUMBERS.index(word)) if word in _NUMBERS else word for word in words]


def _fair(answer: list[str], gold: list[str]) -> bool:
    return bool(answer) and (f" {' '.join(answer)} " in f" {' '.join(gold)} ") and 2 * len(answer) >= len(gold)


def f1(answer: str, golds: Sequence[str]) -> float:
    """Measure how many words an answer shares with a right one, both normalised.

    F1 is the harmonic mean of precision, the share of its words that are in the right answer, and recall, the share of
    the right answer's words that are in it. It is 1 where :func:`em` is 1, even if normalisation leaves no words.
    """
    return 1.0 if em(answer, golds) else max((overlap(answer, gold)[0] for gold in golds), default=0.0)


def overlap(answer: str, gold: str) -> tuple[float, float, float]:
    """Count the words that two texts share, as SQuAD's script and its successors do."""
    given, right = normalise(answer).split(), normalise(gold).split()
    shared = (Counter(given) & Counter(right)).total()
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(given), shared / len(right)
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
    # Lower case on both sides, as in `acc`, because IGNORECASE equates letters that lower case keeps apart.
    return re.search(rf"(?<!\w){re.escape(word.strip().lower())}(?!\w)", text.lower()) is not None
