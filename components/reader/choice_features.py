"""Compute the features by which boosted trees choose among the best answers.

The encoder reads each of these answers a second time, marked in its sentence. The features contain the odds from this
second look, how much of the question the sentence covers, and some features of the span.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from prefrag.components.reader.encoder_scores import Values
from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_candidates import KINDS
from prefrag.components.reader.span_features import FEATURES as SPAN_FEATURES
from prefrag.components.reader.span_features import Spans
from prefrag.components.text.title_mentions import normalize_words

# The number of the best answers that the encoder reads a second time.
MOST = 5
# Words of a question. For each word, one feature says whether the question contains it.
_WH = ("who", "when", "where", "which", "what", "how", "or")
# The features from `span_features` that are used here too.
_PASSED = (
    "read_span", "read_below_best", "read_all", "read_passage", "read_best", "read_none", "read_rank", "in_best_read",
    "holds_best_read", "words", "has_capital", "has_digit", "share_in_question", "is_in_question", "is_own_title",
    "sentence_covers", "near_covers", "passage", "passages", "title_in_question", "titles_in_question",
    "linked_from_named", "passage_covers", "passage_covers_below_best", "occurs_in", "of_people",
    *(f"kind_{kind}" for kind in KINDS),
)  # fmt: skip
# The columns of these features in the rows of `span_features`.
_PLACES = [SPAN_FEATURES.index(name) for name in _PASSED]
# A word that begins a phrase or a clause which describes a thing. It matches "mayor of Brae" and "Ann's son".
_OF = re.compile(r"\b(?:of|that|who|which|whose|where|by|in)\b|'s\b", re.I)
# The names of the features, in the order of the columns. The trees were trained with this order.
FEATURES = (
    "score", "below_best", "share", "odds", "odds_below_best", "odds_rank", "sentence_holds", "sentence_holds_head",
    "other_adds", "absent", "absent_in_passage", "absent_in_sentence", "absent_of_head", *_PASSED,
    *(f"asks_{word}" for word in _WH), "question_words", "clauses",
)  # fmt: skip


def choice_features(question: str, spans: Spans, ranked: Sequence[tuple[int, float]], look: SecondLook) -> Values:
    """Compute the features of the best answers.

    :param question: The question.
    :param spans: All spans with their features.
    :param ranked: At least one answer, from :func:`rank_answers`. Only the first :data:`MOST` answers get a row.
    :param look: The encoder's second look at the answers.
    :returns: One row per answer, with a column per name in :data:`FEATURES`.
    """
    shares = answer_shares([score for _, score in ranked])
    _, best_score = ranked[0]
    ranked = ranked[:MOST]
    odds = [look.odds_of(spans.candidates[place]) for place, _ in ranked]

    words = normalize_words(question).split()
    asked = [*(float(word in words) for word in _WH), len(words), len(_OF.findall(question))]

    rows = []
    for (place, score), share, own_odds in zip(ranked, shares, odds, strict=False):
        candidate = spans.candidates[place]
        odds_rank = sum(other > own_odds for other in odds)
        # In the order of `FEATURES`.
        row = [score, score - best_score, share, own_odds, own_odds - max(odds), odds_rank]
        row += look.covers_of(candidate)
        row += look.lacks_of(candidate)
        row += spans.rows[place][_PLACES].tolist()
        rows.append([*row, *asked])
    return np.array(rows, np.float32)


def rank_answers(spans: Spans, scores: Iterable[float]) -> list[tuple[int, float]]:
    """List the distinct answers, best first.

    Several spans may be the same answer, such as "the hall" and "Hall". The span with the highest score represents it.

    :param spans: All spans with their features.
    :param scores: The score of each span.
    :returns: For each answer the index and the score of its best span.
    """
    best: dict[str, tuple[int, float]] = {}
    for place, (key, score) in enumerate(zip(spans.keys, scores, strict=True)):
        if not key:
            continue
        if key not in best or score > best[key][1]:
            best[key] = (place, float(score))
    return sorted(best.values(), key=lambda answer: -answer[1])


def answer_shares(scores: Sequence[float]) -> list[float]:
    """Turn the scores of answers into shares that add up to 1, by a softmax.

    For example, ``answer_shares([2.0, 2.0])`` returns ``[0.5, 0.5]``.

    :param scores: The scores of all answers.
    :returns: The share of each answer, from 0 to 1.
    """
    values = np.array(scores, np.float64)
    exponents = np.exp(values - values.max())
    return [float(share) for share in exponents / exponents.sum()]
