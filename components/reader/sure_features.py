"""Compute the features from which boosted trees estimate the probability that the chosen answer is right.

They add to the features of the choice: whether the encoder agrees, how much of the question the passages cover, and
which names of the question the passages lack.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from prefrag.components.reader.choice_features import FEATURES as CHOICE_FEATURES
from prefrag.components.reader.choice_features import answer_shares
from prefrag.components.reader.encoder_scores import EncoderScores, Values
from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_features import Spans, answer_key, question_cover
from prefrag.components.text.title_mentions import normalize_words

# The names of the features, in the order of the columns. The trees were trained with this order.
FEATURES = (
    *CHOICE_FEATURES, "choice", "choice_margin", "choice_share", "agrees", "agrees_in_part", "all_covered",
    "covered_pair", "names", "names_nowhere", "names_elsewhere", "alone_none", "alone_score", "alone_agrees",
    "alone_agrees_in_part",
)  # fmt: skip
# A name, a number or a quotation in a question. It matches "Ann", "1,500" and "1966".
_NAME = re.compile(r"\b[A-Z\u00c0-\u00de][\w'\u2019.-]*|\b\d[\d.,]*\b|[\"\u201c][^\"\u201d]+[\"\u201d]")
# The value of the feature "choice_margin" if there is only one answer.
_NO_MARGIN = 10.0


def sure_features(
    question: str,
    passages: Sequence[tuple[str, str]],
    spans: Spans,
    chosen: Sequence[tuple[int, float, Values]],
    scores: EncoderScores,
    look: SecondLook,
    weight: Callable[[str], float],
) -> Values:
    """Compute the features of the answer that was chosen.

    :param question: The question.
    :param passages: The title and the text of each passage.
    :param spans: All spans with their features.
    :param chosen: The best answers, beginning with the chosen answer. Each consists of the index of its span, the score
        by which it was chosen, and its row of :func:`~prefrag.components.reader.choice_features.choice_features`.
    :param scores: The scores of the encoder for all passages.
    :param look: The encoder's second look at the answers.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    :returns: One row, with a column per name in :data:`FEATURES`.
    """
    span, choice, row = chosen[0]
    key, candidate = spans.keys[span], spans.candidates[span]
    scores_of_answers = [score for _, score, _ in chosen]
    margin = choice - scores_of_answers[1] if len(chosen) > 1 else _NO_MARGIN

    # The first word of the question is left out, because it has a capital letter even if it is no name.
    names = [normalize_words(match.group()) for match in _NAME.finditer(question) if match.start()]
    spaced_names = [f" {name} " for name in names if name]
    normalised_texts = [f" {normalize_words(' '.join(passage))} " for passage in passages]
    text_of_answer = normalised_texts[candidate.passage]

    # The encoder reads the passage of the answer alone, where it has the index 0.
    alone = look.alone(candidate)
    score_alone = alone.scores_of([replace(candidate, passage=0)])
    _, _, _, none_alone = alone.kinds

    # In the order of `FEATURES`.
    values = [
        *row,
        choice,
        margin,
        answer_shares(scores_of_answers)[0],
        *_agreement(key, scores),
        *question_cover(question, passages, weight),
        len(spaced_names),
        sum(_stands_nowhere(name, normalised_texts) for name in spaced_names),
        sum(name not in text_of_answer for name in spaced_names),
        float(none_alone),
        float(score_alone.sum()),
        *_agreement(key, alone),
    ]
    return np.array([values], np.float32)


def _stands_nowhere(name: str, texts: Sequence[str]) -> bool:
    """Check whether no text contains a name."""
    return not any(name in text for text in texts)


def _agreement(key: str, scores: EncoderScores) -> tuple[float, float]:
    """Compare an answer with the encoder's best span.

    :param key: The answer key of the answer.
    :param scores: The scores of the encoder.
    :returns: Two values, 1 or 0: whether both are equal, and whether one contains the other.
    """
    read = scores.best_spans(1)
    other = answer_key(read[0].text) if read else ""
    if not other:
        return float(key == other), 0.0
    spaced, other_spaced = f" {key} ", f" {other} "
    is_in_part = spaced in other_spaced or other_spaced in spaced
    return float(key == other), float(is_in_part)
