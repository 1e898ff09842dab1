"""Train the trees of the reader: which span is the answer, whether yes or no, and how sure it is."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prefrag.components.reader import span_features, sure_features, yes_no_features
from prefrag.components.reader.dated_choice import choose_by_date, find_offered
from prefrag.components.reader.encoder_scores import EncoderScores
from prefrag.components.reader.question_form import asks_to_compare, asks_yes_no
from prefrag.components.reader.span_features import Spans, WordWeight, question_cover
from prefrag.components.reader.sure_features import rank_answers
from prefrag.evaluation.metrics.answers import acc_word, em, f1
from prefrag.training.reader.examples import Example
from prefrag.training.tree_training import fit_trees

# Chosen by cross-validation on the training questions.
SPAN_SETTINGS: dict[str, Any] = {
    "objective": "rank:pairwise",
    "lambdarank_pair_method": "topk",
    "lambdarank_num_pair_per_sample": 12,
    "tree_method": "hist",
    "max_depth": 6,
    "eta": 0.1,
    "subsample": 0.8,
    "colsample_bytree": 0.5,
    "min_child_weight": 5,
    "nthread": 1,
}
SPAN_ROUNDS = 250
YES_NO_SETTINGS: dict[str, Any] = {
    "objective": "binary:logistic",
    "tree_method": "hist",
    "max_depth": 3,
    "eta": 0.05,
    "subsample": 0.7,
    "colsample_bytree": 0.5,
    "min_child_weight": 3,
    "lambda": 2,
    "nthread": 1,
}
YES_NO_ROUNDS = 150
SURE_SETTINGS: dict[str, Any] = {**YES_NO_SETTINGS, "max_depth": 2, "eta": 0.03, "min_child_weight": 8}
SURE_ROUNDS = 150
FOLDS = 5
_FEW = 50
_FEWEST_GIVEN = 0.08

Score = Callable[[Example], EncoderScores]


@dataclass
class ReadExample:
    """An example that the encoder has read."""

    example: Example
    scores: EncoderScores | None  # what the encoder says; None of a question for yes or no
    spans: Spans  # the spans with their features; none of a question for yes or no
    yes_no: Any  # the features of a question for yes or no; else None
    choice: str | None  # the thing that dates choose, for a question which of two is earlier or later; else None
    right: Any  # for each span 1 where it is a right answer, else 0
    covers: tuple[float, float]  # see `prefrag.components.reader.span_features.question_cover`


@dataclass(frozen=True)
class Given:
    """An answer that was given."""

    read: ReadExample
    text: str
    features: Any  # the features by which the reader knows how sure it may be; None for yes or no
    probability: float  # how sure it is

    @property
    def is_exact(self) -> bool:
        """Whether the answer is a right one, word by word."""
        return bool(em(self.text, self.read.example.answers))

    @property
    def is_right(self) -> bool:
        """Whether the answer holds a right one, or has nearly its words."""
        golds = self.read.example.answers
        return bool(acc_word(self.text, golds)) or f1(self.text, golds) >= 0.8


def read_example(example: Example, scores: EncoderScores | None, weight: WordWeight) -> ReadExample:
    """Compute the features of an example."""
    covers = question_cover(example.question, example.passages, weight)
    if asks_yes_no(example.question):
        row = yes_no_features.yes_no_features(example.question, example.passages, weight)
        nothing = Spans([], [], np.zeros((0, len(span_features.FEATURES)), np.float32))
        return ReadExample(example, scores, nothing, row, None, np.zeros(0), covers)
    spans = span_features.span_features(example.question, example.passages, scores, weight)
    right = np.array([em(one.text, example.answers) for one in spans.candidates])
    choice = choose_by_date(example.question, example.passages)
    return ReadExample(example, scores, spans, None, choice.name if choice else None, right, covers)


def part_of(key: str, parts: int, seed: int) -> int:
    """Assign a question to a part."""
    return int(hashlib.sha256(f"{seed}-{key}".encode()).hexdigest(), 16) % parts


def family_of(example: Example) -> str:
    """Name what an example shares with others that were made by one pattern."""
    return example.family or example.key


def fit_spans(examples: Iterable[ReadExample], seed: int) -> Any:
    """Train the trees that rank spans."""
    used = [one for one in examples if one.right.any() and not one.right.all()]
    return fit_trees(
        {**SPAN_SETTINGS, "seed": seed},
        SPAN_ROUNDS,
        np.concatenate([one.spans.rows for one in used]),
        span_features.FEATURES,
        label=np.concatenate([one.right for one in used]),
        qid=np.repeat(np.arange(len(used)), [len(one.right) for one in used]),
    )


def fit_yes_no(examples: Iterable[ReadExample], seed: int) -> Any:
    """Train the trees that choose between yes and no."""
    used = [one for one in examples if one.yes_no is not None and _yes_or_no(one) is not None]
    rows = np.concatenate([one.yes_no for one in used])
    labels = [float(_yes_or_no(one) == "yes") for one in used]
    return _fit(rows, labels, yes_no_features.FEATURES, {**YES_NO_SETTINGS, "seed": seed}, YES_NO_ROUNDS)


def fit_sure(given: Iterable[Given], seed: int) -> Any:
    """Train the trees that estimate whether an answer is right."""
    used = [one for one in given if one.features is not None]
    rows = np.concatenate([one.features for one in used])
    labels = [float(one.is_right) for one in used]
    # Each dataset counts the same, or the largest one, which is the easiest, would say how sure to be.
    sizes = Counter(one.read.example.origin for one in used)
    weights = [len(used) / len(sizes) / max(_FEW, sizes[one.read.example.origin]) for one in used]
    return _fit(rows, labels, sure_features.FEATURES, {**SURE_SETTINGS, "seed": seed}, SURE_ROUNDS, weights)


def _fit(
    rows: Any,
    labels: Sequence[float],
    names: Sequence[str],
    settings: dict[str, Any],
    rounds: int,
    weights: Sequence[float] | None = None,
) -> Any:
    settings = {**settings, "base_score": float(np.average(labels, weights=weights))}
    return fit_trees(settings, rounds, rows, names, label=labels, weight=weights)


def _yes_or_no(one: ReadExample) -> str | None:
    answer = one.example.answers[0].strip().lower()
    return answer if answer in ("yes", "no") else None


@dataclass(frozen=True)
class Shares:
    """How often the answers to questions of three forms are right, of which too little can be learnt for more."""

    dated_choice: float = 1.0  # of choices between two dates
    other_choice: float = 1.0  # of other choices between two things
    comparison: float = 1.0  # of yes and no on comparisons in something else than countries


def measure_shares(answers: Iterable[Given]) -> Shares:
    """Measure how often the answers to such questions are right."""
    right: dict[str, list[bool]] = {name: [True, False] for name in ("dated_choice", "other_choice", "comparison")}
    for one in answers:
        if (form := _form_of(one.read)) is not None:
            right[form].append(one.is_right)
    return Shares(**{name: sum(values) / len(values) for name, values in right.items()})


def _form_of(read: ReadExample) -> str | None:
    if read.choice is not None:
        return "dated_choice"
    if read.yes_no is not None:
        return "comparison" if asks_to_compare(read.example.question) else None
    return "other_choice" if find_offered(read.example.question, read.example.passages) is not None else None


def limit_probability(answer: Given, shares: Shares) -> Given:
    """Limit the probability of an answer by the share of its form."""
    form = _form_of(answer.read)
    if form is None:
        return answer
    share = getattr(shares, form)
    return replace(answer, probability=share if form == "dated_choice" else min(answer.probability, share))


def give(examples: Iterable[ReadExample], spans: Any, yes_no: Any, sure: Any = None) -> list[Given]:
    """Answer questions."""
    answers = []
    for one in examples:
        if one.yes_no is not None:
            yes = float(yes_no.inplace_predict(one.yes_no)[0])
            answers.append(Given(one, "yes" if yes > 0.5 else "no", None, max(yes, 1 - yes)))
            continue
        if one.choice is not None:
            answers.append(Given(one, one.choice, None, 1.0))
            continue
        if not len(one.right):
            answers.append(Given(one, "", None, 0.0))
            continue
        ranked = rank_answers(one.spans, spans.inplace_predict(one.spans.rows))
        assert one.scores is not None
        row = sure_features.sure_features(one.example.question, one.spans, ranked, one.scores, one.covers)
        probability = 0.0 if sure is None else float(sure.inplace_predict(row)[0])
        answers.append(Given(one, one.spans.candidates[ranked[0][0]].text, row, probability))
    return answers


def cross_fit(
    asked: Sequence[ReadExample], further: Sequence[ReadExample], seed: int, folds: int = FOLDS
) -> list[Given]:
    """Answer each question by trees that have not seen it, as surely as other such trees are of it."""

    def others(examples: Iterable[ReadExample], part: int) -> list[ReadExample]:
        return [one for one in examples if part_of(family_of(one.example), folds, seed) != part]

    answers: list[Given | None] = [None] * len(asked)
    for part in range(folds):
        known = others([*asked, *further], part)
        spans, yes_no = fit_spans(known, seed), fit_yes_no(known, seed)
        places = [place for place, one in enumerate(asked) if part_of(family_of(one.example), folds, seed) == part]
        own = [asked[place] for place in places]
        for place, given in zip(places, give(own, spans, yes_no), strict=True):
            answers[place] = given
    unsure = [one for one in answers if one is not None]
    parts = [part_of(family_of(one.read.example), folds, seed + 1) for one in unsure]
    estimated: list[Given] = []
    trees = [
        fit_sure([one for one, own in zip(unsure, parts, strict=True) if own != part], seed) for part in range(folds)
    ]
    for one, part in zip(unsure, parts, strict=True):
        probability = one.probability
        if one.features is not None:
            probability = float(trees[part].inplace_predict(one.features)[0])
        estimated.append(Given(one.read, one.text, one.features, probability))
    shares = measure_shares(estimated)
    return [limit_probability(one, shares) for one in estimated]


def given_and_right(answers: Sequence[Given], threshold: float) -> tuple[float, float]:
    """Measure what a threshold does."""
    given = [one for one in answers if one.text and one.probability >= threshold]
    return len(given) / max(1, len(answers)), sum(one.is_right for one in given) / max(1, len(given))


def choose_threshold(answers: Sequence[Given], right: float) -> float:
    """Choose the lowest threshold from which enough of the answers given are right on each dataset."""
    by_origin: dict[str, list[Given]] = {}
    for one in answers:
        by_origin.setdefault(one.read.example.origin, []).append(one)

    def share(threshold: float) -> float:
        measured = [given_and_right(own, threshold) for own in by_origin.values()]
        # The share of a handful of answers says nothing.
        return min((one_right for given, one_right in measured if given >= _FEWEST_GIVEN), default=0.0)

    fitting = [step / 100 for step in range(1, 100) if share(step / 100) >= right]
    return fitting[0] if fitting else 1.0
