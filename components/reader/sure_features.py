"""The features of an answer by which the reader knows how sure it may be."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from prefrag.components.reader.encoder_scores import EncoderScores, Values
from prefrag.components.reader.span_candidates import KINDS
from prefrag.components.reader.span_features import FEATURES as SPAN_FEATURES
from prefrag.components.reader.span_features import Spans, answer_key
from prefrag.components.text.title_mentions import comparable

_WH = ("who", "when", "where", "which", "what", "how", "or")
# Features of the best span that are passed on.
_PASSED = (
    "read_span", "read_below_best", "read_all", "read_passage", "read_best", "read_none", "read_rank", "in_best_read",
    "holds_best_read", "words", "has_capital", "has_digit", "is_in_question", "is_own_title", "sentence_covers",
    "near_covers", "passage", "passages", "title_in_question", "titles_in_question", "linked_from_named",
    "passage_covers", "passage_covers_below_best", "occurs_in", "of_people",
    *(f"kind_{kind}" for kind in KINDS),
)  # fmt: skip
_PLACES = [SPAN_FEATURES.index(name) for name in _PASSED]
_OF = re.compile(r"\b(?:of|that|who|which|whose|where|by|in)\b|'s\b", re.I)
FEATURES = (
    "score", "margin", "share", "second_share", *_PASSED, *(f"asks_{word}" for word in _WH), "question_words",
    "clauses", "agrees", "agrees_in_part", "all_covered", "covered_pair",
)  # fmt: skip


def rank_answers(spans: Spans, scores: Sequence[float]) -> list[tuple[int, float]]:
    """Rank the different answers among spans.

    :param spans: The spans.
    :param scores: Their scores.
    :returns: For each answer its best span and the score of that, the best answer first.
    """
    best: dict[str, tuple[int, float]] = {}
    for place, (key, score) in enumerate(zip(spans.keys, scores, strict=True)):
        if key and (key not in best or score > best[key][1]):
            best[key] = (place, float(score))
    return sorted(best.values(), key=lambda one: -one[1])


def sure_features(
    question: str, spans: Spans, ranked: Sequence[tuple[int, float]], scores: EncoderScores, covers: tuple[float, float]
) -> Values:
    """Compute the features of the best answer.

    :param question: The question.
    :param spans: The spans.
    :param ranked: See :func:`rank_answers`; at least one.
    :param scores: What the encoder says.
    :param covers: How much of the question's words all passages hold, and how much the best two.
    :returns: One row; see :data:`FEATURES`.
    """
    place, score = ranked[0]
    shares = answer_shares([value for _, value in ranked])
    words = comparable(question).split()
    read = scores.best_spans(1)
    read_key = answer_key(read[0].text) if read else ""
    key = spans.keys[place]
    row = [
        score,
        score - ranked[1][1] if len(ranked) > 1 else 10.0,
        shares[0],
        shares[1] if len(ranked) > 1 else 0.0,
        *spans.rows[place][_PLACES],
        *(float(word in words) for word in _WH),
        len(words),
        len(_OF.findall(question)),
        float(key == read_key),
        float(bool(read_key) and (f" {key} " in f" {read_key} " or f" {read_key} " in f" {key} ")),
        *covers,
    ]
    return np.array([row], np.float32)


def answer_shares(scores: Sequence[float]) -> list[float]:
    """Share one among answers by their scores."""
    values = np.array(scores, np.float64)
    exponents = np.exp(values - values.max())
    return [float(one) for one in exponents / exponents.sum()]
