"""The features from which boosted trees estimate whether passages suffice to answer a question.

They measure which words of the question the passages hold, and how sure a reader is of the answer that it reads there.
"""

import math
import re
from collections.abc import Sequence, Set
from dataclasses import astuple, dataclass, fields

from haystack import Document

from prefrag.components.pair_classifier.pair_classifier import all_pairs
from prefrag.components.pair_classifier.pair_scorer import Pair, PairScorer
from prefrag.components.reader.reader import Reader
from prefrag.components.state.state import identity
from prefrag.components.text.term_statistics import (
    TermStatistics,
    analyze_texts,
    content_words,
    passage_text,
    sum_of_weights,
    term_weights,
)

# Words that may be names: not "In" or "Is".
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True)
class SufficiencyFeatures:
    """How well passages cover a question. Shares are from 0 to 1. Rare words count more in the shares of words.

    The best pair is the pair of passages to which the pair scorer gives the highest score. With a single passage, this
    passage takes its place.

    :param pair: The score of the best pair; 0 if there is no pair.
    :param one_covers: The largest share of the question's words that one passage holds.
    :param pair_covers: The share of the question's words that the best pair holds.
    :param three_cover: The share of the question's words that three passages hold: the best pair, and the passage that
        has the highest score in a pair with one of these two.
    :param all_cover: The share of the question's words that all passages hold together.
    :param absent_names: The share of the question's names (capitalised words) that no passage holds.
    :param absent_in_pair: The share of the names that the best pair does not hold.
    :param words: The number of different words in the question. Numbers count, words under four letters and question
        words do not.
    :param answer: The probability of the answer that a reader finds in the passages. NaN if there is no reader or no
        answer. A reader finds none if the question is in another language than its own, and yes or no does not count.
    """

    pair: float
    one_covers: float
    pair_covers: float
    three_cover: float
    all_cover: float
    absent_names: float
    absent_in_pair: float
    words: float
    answer: float


FEATURES = tuple(field.name for field in fields(SufficiencyFeatures))


def sufficiency_features(
    question: str,
    passages: Sequence[Document],
    pair_scorer: PairScorer,
    statistics: TermStatistics | None = None,
    reader: Reader | None = None,
) -> SufficiencyFeatures:
    """Compute the features.

    :param question: The question.
    :param passages: The passages, at least one.
    :param pair_scorer: The scorer of pairs.
    :param statistics: Knows how rare each word is; None gives every word the same weight.
    :param reader: Finds an answer in the passages; None leaves that feature out.
    """
    # All passages are of the first stage, so each has an empty list of the second.
    pairs = all_pairs(passages, [()] * len(passages))
    scores = pair_scorer.score(question, pairs) if pairs else []
    best_score = max(scores, default=0.0)
    best: Sequence[Document] = pairs[scores.index(best_score)] if pairs else passages[:1]
    three = [*best, *_find_third(best, pairs, scores)]

    # The words that a question asks with, such as "when", stand in hardly any passage. As rare words, they would weigh
    # the most, so only the other words of the question are compared.
    content = " ".join(content_words(question))
    texts = [content, *(passage_text(passage) for passage in passages)]
    asked, *terms_of_passages = [set(terms) for terms in analyze_texts(texts, statistics)]
    terms_of = {identity(passage): terms for passage, terms in zip(passages, terms_of_passages, strict=True)}
    weights = term_weights(asked, statistics)
    weight_of_question = sum(weights.values())

    def share_of_question(documents: Sequence[Document]) -> float:
        terms = set[str]()
        for document in documents:
            terms |= terms_of[identity(document)]
        if not weight_of_question:
            return 0.0
        return sum_of_weights(weights, terms) / weight_of_question

    names = _list_names(question)
    return SufficiencyFeatures(
        pair=best_score,
        one_covers=max(share_of_question([passage]) for passage in passages),
        pair_covers=share_of_question(best),
        three_cover=share_of_question(three),
        all_cover=share_of_question(passages),
        absent_names=_share_absent(names, passages),
        absent_in_pair=_share_absent(names, best),
        words=float(len(asked)),
        answer=math.nan if reader is None else _rate_answer(question, passages, reader),
    )


def as_row(features: SufficiencyFeatures) -> tuple[float, ...]:
    """List the values in the order of :data:`FEATURES`, which the trees expect."""
    return astuple(features)


def _rate_answer(question: str, passages: Sequence[Document], reader: Reader) -> float:
    answers = reader.read(question, passages)
    # The probability of "yes" says nothing: it is that of "yes" against "no", whatever the passages are about.
    if not answers or answers[0].kind in ("yes", "no"):
        return math.nan
    return answers[0].probability


def _find_third(best: Sequence[Document], pairs: Sequence[Pair], scores: Sequence[float]) -> list[Document]:
    """Find the passage with the highest score in a pair with one of the two best passages; none if there is no third.

    The result is a list with this passage, or an empty list.
    """
    keys_of_best = {identity(document) for document in best}
    third: list[Document] = []
    highest = -math.inf
    for (first, second), score in zip(pairs, scores, strict=True):
        is_first_best = identity(first) in keys_of_best
        is_second_best = identity(second) in keys_of_best
        # Exactly one of the pair is among the two best, so the other is the candidate.
        if is_first_best is not is_second_best and score > highest:
            highest = score
            third = [second if is_first_best else first]
    return third


def _list_names(question: str) -> Set[str]:
    """List the capitalised words of a question in small letters, without the first word, which always has a capital."""
    without_first_letter = question.lstrip()[1:]
    return {word.casefold() for word in _WORD.findall(without_first_letter) if word[0].isupper()}


def _share_absent(names: Set[str], passages: Sequence[Document]) -> float:
    text = "\n".join(passage_text(passage) for passage in passages)
    words = set(_WORD.findall(text.casefold()))
    return len(names - words) / max(1, len(names))
