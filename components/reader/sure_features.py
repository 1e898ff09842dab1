"""The features from which boosted trees estimate the probability that the chosen answer is right."""

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

FEATURES = (
    *CHOICE_FEATURES, "choice", "choice_margin", "choice_share", "agrees", "agrees_in_part", "all_covered",
    "covered_pair", "names", "names_nowhere", "names_elsewhere", "alone_none", "alone_score", "alone_agrees",
    "alone_agrees_in_part",
)  # fmt: skip
_NAME = re.compile(r"\b[A-Z\u00c0-\u00de][\w'\u2019.-]*|\b\d[\d.,]*\b|[\"\u201c][^\"\u201d]+[\"\u201d]")
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
    """Compute the features of the answer that was chosen, as one row; see :data:`FEATURES`.

    :param chosen: The best answers, beginning with the chosen answer. Each consists of the index of its span, the score
        by which it was chosen, and its row of :func:`~prefrag.components.reader.choice_features.choice_features`.
    """
    place, choice, row = chosen[0]
    key, candidate = spans.keys[place], spans.candidates[place]
    alone = look.alone(candidate)
    said = [f" {normalize_words(' '.join(passage))} " for passage in passages]
    own = said[candidate.passage]
    margin = choice - chosen[1][1] if len(chosen) > 1 else _NO_MARGIN
    # The first word of the question has a capital, whatever it is.
    names = [normalize_words(match.group()) for match in _NAME.finditer(question) if match.start()]
    spaced = [f" {name} " for name in names if name]
    shares = answer_shares([score for _, score, _ in chosen])
    in_passage_alone = alone.scores_of([replace(candidate, passage=0)])
    absent = [name for name in spaced if name not in own]
    # In the order of `FEATURES`.
    values = [
        *row,
        choice,
        margin,
        shares[0],
        *_agreement(key, scores),
        *question_cover(question, passages, weight),
        len(spaced),
        sum(_stands_nowhere(name, said) for name in spaced),
        len(absent),
        float(alone.kinds[3]),
        float(in_passage_alone.sum()),
        *_agreement(key, alone),
    ]
    return np.array([values], np.float32)


def _stands_nowhere(name: str, texts: Sequence[str]) -> bool:
    return not any(name in text for text in texts)


def _agreement(key: str, scores: EncoderScores) -> tuple[float, float]:
    """Compare an answer with the encoder's best span: whether they are equal, and whether one contains the other."""
    read = scores.best_spans(1)
    other = answer_key(read[0].text) if read else ""
    if not other:
        return float(key == other), 0.0
    spaced, other_spaced = f" {key} ", f" {other} "
    return float(key == other), float(spaced in other_spaced or other_spaced in spaced)
