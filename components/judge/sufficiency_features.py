"""The features from which trees estimate whether passages suffice: what they hold, and how sure a reader is."""

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

_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True)
class SufficiencyFeatures:
    """How well passages cover a question. Shares are from 0 to 1; rare words weigh more in them.

    :param pair: The score of the best pair of passages; 0 if there is no pair.
    :param one_covers: The largest share of the question's words that one passage holds.
    :param pair_covers: The share that the best pair holds.
    :param three_cover: The share that the best pair holds with the passage that fits one of the two best.
    :param all_cover: The share that all passages hold.
    :param absent_names: The share of the question's names (capitalised words) that no passage holds.
    :param absent_in_pair: The share of the names that the best pair does not hold.
    :param words: The number of different words of the question of four letters and more, without question words, and
        of its numbers.
    :param answer: The probability of the answer that a reader finds in the passages; not a number if there is no
        reader, or if it finds none, as for a question in another language than its own or for yes or no.
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
    pairs = all_pairs(passages, [()] * len(passages))
    scores = pair_scorer.score(question, pairs) if pairs else []
    best_score = max(scores, default=0.0)
    best = pairs[scores.index(best_score)] if pairs else (passages[0],)
    three = (*best, *_find_third(best, pairs, scores))

    # The words that a question asks with, such as "when", stand in no passage and would count as rare.
    content = " ".join(content_words(question))
    asked, *in_passages = map(set, analyze_texts([content, *map(passage_text, passages)], statistics))
    weights = term_weights(asked, statistics)
    whole = sum(weights.values()) or 1.0
    terms = dict(zip(map(identity, passages), in_passages, strict=True))

    def covers(documents: Sequence[Document]) -> float:
        return sum_of_weights(weights, set[str]().union(*(terms[identity(document)] for document in documents))) / whole

    names = _list_names(question)
    return SufficiencyFeatures(
        pair=best_score,
        one_covers=max(covers([passage]) for passage in passages),
        pair_covers=covers(best),
        three_cover=covers(three),
        all_cover=covers(passages),
        absent_names=_share_absent(names, passages),
        absent_in_pair=_share_absent(names, best),
        words=float(len(asked)),
        answer=math.nan if reader is None else _rate_answer(question, passages, reader),
    )


def as_row(features: SufficiencyFeatures) -> tuple[float, ...]:
    """List the values in the order of :data:`FEATURES`, which the trees expect."""
    return astuple(features)


def _rate_answer(question: str, passages: Sequence[Document], reader: Reader) -> float:
    best = next(iter(reader.read(question, passages)), None)
    # The likelier of yes and no is always likely, whether the passages say anything on it or not.
    return math.nan if best is None or best.kind in ("yes", "no") else best.probability


def _find_third(best: Sequence[Document], pairs: Sequence[Pair], scores: Sequence[float]) -> tuple[Document, ...]:
    """Find the passage that makes the best pair with a passage of the best pair; none if there are only two."""
    inside = set(map(identity, best))
    further = [
        (score, document)
        for pair, score in zip(pairs, scores, strict=True)
        for document in pair
        if identity(document) not in inside and not inside.isdisjoint(map(identity, pair))
    ]
    return (max(further, key=lambda scored: scored[0])[1],) if further else ()


def _list_names(question: str) -> Set[str]:
    """List the capitalised words of a question but its first, in small letters."""
    begin = len(question) - len(question.lstrip()) + 1
    return {word.casefold() for word in _WORD.findall(question[begin:]) if word[0].isupper()}


def _share_absent(names: Set[str], passages: Sequence[Document]) -> float:
    words = set(_WORD.findall("\n".join(map(passage_text, passages)).casefold()))
    return len(names - words) / max(1, len(names))
