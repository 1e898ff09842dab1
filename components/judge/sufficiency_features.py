"""The features from which boosted trees estimate whether passages suffice to answer a question.

Most features say which words of the question the passages contain. Another feature says how sure a reader is of its
answer. A reader is a small program that looks for an answer in passages, without a language model.
:class:`PairSufficiency` computes the features, in a run and in the training of its trees.
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

# A word of at least three characters, such as "Rome". A name is searched for among these words. Shorter words, such as
# "In" or "Is", are capitalised for other reasons.
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True)
class SufficiencyFeatures:
    """How well passages cover a question.

    Shares are from 0 to 1. In the shares of words, rare words count more than frequent words. The best pair is the pair
    of passages to which the pair scorer gives the highest score. With a single passage, this passage takes the place of
    the pair.

    :param pair: The score of the best pair, from 0 to 1. Without a pair, it is 0.
    :param one_covers: The share of the question's words that one passage contains. The passage with the largest share
        counts.
    :param pair_covers: The share of the question's words that the best pair contains.
    :param three_cover: The share of the question's words that three passages contain. The three are the best pair, and
        the passage that has the highest score in a pair with one of these two.
    :param all_cover: The share of the question's words that all passages contain together.
    :param absent_names: The share of the question's names (capitalised words) that no passage contains.
    :param absent_in_pair: The share of the names that the best pair does not contain.
    :param words: The number of different words in the question. Numbers count. Words under four letters and question
        words do not count.
    :param answer: The probability, from 0 to 1, of the answer that a reader finds in the passages. NaN if there is no
        reader or no answer. A reader finds no answer if the question is in a language that the reader does not know.
        An answer of yes or no does not count.
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


# The names of the features in the order that the trees expect.
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
    :param pair_scorer: Estimates for each pair of passages whether both are needed.
    :param statistics: Knows how rare each word is. With None, every word has the same weight.
    :param reader: Finds an answer in the passages. With None, the feature ``answer`` is NaN.
    :returns: The features of the passages together.
    """
    # `all_pairs` pairs the passages of two stages of a search. Here all passages are of the first stage, so each has an
    # empty list of second-stage passages.
    pairs = all_pairs(passages, [()] * len(passages))
    scores = pair_scorer.score(question, pairs) if pairs else []
    best_score = max(scores, default=0.0)
    best: Sequence[Document] = pairs[scores.index(best_score)] if pairs else passages[:1]
    three = [*best, *_find_third(best, pairs, scores)]

    # Question words, such as "when", stand in hardly any passage. As rare words, they would have the largest weights.
    # So only the other words of the question are compared.
    content = " ".join(content_words(question))
    texts = [content, *(passage_text(passage) for passage in passages)]
    terms_of_question, *terms_of_passages = [set(terms) for terms in analyze_texts(texts, statistics)]
    terms_of = {identity(passage): terms for passage, terms in zip(passages, terms_of_passages, strict=True)}
    weights = term_weights(terms_of_question, statistics)
    weight_of_question = sum(weights.values())

    def share_of_question(documents: Sequence[Document]) -> float:
        """Compute the share of the question's words that the documents contain together, by weight."""
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
        words=float(len(terms_of_question)),
        answer=math.nan if reader is None else _rate_answer(question, passages, reader),
    )


def as_row(features: SufficiencyFeatures) -> tuple[float, ...]:
    """List the values in the order of :data:`FEATURES`, which the trees expect.

    :param features: The features.
    :returns: The values.
    """
    return astuple(features)


def _rate_answer(question: str, passages: Sequence[Document], reader: Reader) -> float:
    """Return the probability of the reader's best answer; NaN if there is none or it is yes or no."""
    answers = reader.read(question, passages)
    # The probability of "yes" says nothing about the passages. It only compares "yes" with "no", whatever the passages
    # are about.
    if not answers or answers[0].kind in ("yes", "no"):
        return math.nan
    return answers[0].probability


def _find_third(best: Sequence[Document], pairs: Sequence[Pair], scores: Sequence[float]) -> list[Document]:
    """Find the passage that has the highest score in a pair with one of the two best passages.

    The result is a list with this passage. The list is empty if there is no third passage.
    """
    keys_of_best = {identity(document) for document in best}
    third: list[Document] = []
    highest = -math.inf
    for (first, second), score in zip(pairs, scores, strict=True):
        is_first_best = identity(first) in keys_of_best
        is_second_best = identity(second) in keys_of_best
        # If exactly one passage of the pair is among the two best, the other passage may be the third.
        if is_first_best is not is_second_best and score > highest:
            highest = score
            third = [second if is_first_best else first]
    return third


def _list_names(question: str) -> Set[str]:
    """List the capitalised words of a question in lower case.

    The first word is left out, because it is always capitalised. For example, the names of
    "Is Ridley Scott the Director of Up?" are ``{"ridley", "scott", "director"}``: "Up" has only two letters.
    """
    # Without its first letter, the first word begins with a small letter.
    without_first_letter = question.lstrip()[1:]
    return {word.casefold() for word in _WORD.findall(without_first_letter) if word[0].isupper()}


def _share_absent(names: Set[str], passages: Sequence[Document]) -> float:
    """Compute which share of the names stands in no passage; 0 without names.

    For example, half of the names "ridley" and "scott" are absent from the passage "Scott made it."
    """
    text = "\n".join(passage_text(passage) for passage in passages)
    words = set(_WORD.findall(text.casefold()))
    return len(names - words) / max(1, len(names))
