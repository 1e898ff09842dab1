"""Train the decision trees of the extractive reader, which choose an answer and estimate how likely it is right.

There are four files of trees, which work one after the other:

1. The *span* trees rank the possible answers (spans of the passages).
2. The *choice* trees choose among the five best of these.
3. The *yes/no* trees answer questions that ask for yes or no.
4. The *sure* trees estimate the probability that the chosen answer is right.

Each kind of trees has to learn from results that are as good as those for new questions. So the questions are divided
into parts, and each part is answered by trees that were trained on the other parts (:func:`cross_fit`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from prefrag.components.reader import choice_features, span_features, sure_features, yes_no_features
from prefrag.components.reader.choice_features import rank_answers
from prefrag.components.reader.dated_choice import choose_by_date, find_alternatives
from prefrag.components.reader.encoder_scores import EncoderScores
from prefrag.components.reader.extractive_reader import answers_another_question
from prefrag.components.reader.question_form import asks_to_compare, asks_yes_no
from prefrag.components.reader.second_look import ScorePassages, SecondLook
from prefrag.components.reader.span_features import Spans, WordWeight
from prefrag.components.trees import BoostedTrees
from prefrag.evaluation.metrics.answers import acc_word, em, f1, fair
from prefrag.training.reader.examples import Example
from prefrag.training.tree_training import fit_trees

if TYPE_CHECKING:
    from xgboost import Booster

# The settings of XGBoost for the span trees, chosen by cross-validation on the training questions.
SPAN_SETTINGS: dict[str, object] = {
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
# The number of span trees.
SPAN_ROUNDS = 250
# The settings for the choice trees. These choose among only five answers, so they are smaller and learn more slowly.
CHOICE_SETTINGS: dict[str, object] = {**SPAN_SETTINGS, "max_depth": 4, "eta": 0.05, "min_child_weight": 10}
# The number of choice trees.
CHOICE_ROUNDS = 200
# The settings for the yes/no trees.
YES_NO_SETTINGS: dict[str, object] = {
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
# The number of yes/no trees.
YES_NO_ROUNDS = 150
# The features with which the estimated probability may only rise.
_LIKELIER = (
    "score below_best share odds odds_below_best sentence_holds sentence_holds_head read_span read_below_best read_all "
    "read_passage read_best passage_covers sentence_covers near_covers occurs_in choice choice_margin choice_share "
    "agrees agrees_in_part all_covered covered_pair alone_score alone_agrees alone_agrees_in_part"
)
# The features with which the estimated probability may only fall.
_UNLIKELIER = (
    "odds_rank absent absent_in_passage absent_in_sentence absent_of_head read_none read_rank names_nowhere "
    "names_elsewhere alone_none"
)
# The same, as XGBoost expects it: 1 for rising, -1 for falling. All other features may do both.
_DIRECTIONS = {**dict.fromkeys(_LIKELIER.split(), 1), **dict.fromkeys(_UNLIKELIER.split(), -1)}
# The settings for the sure trees.
SURE_SETTINGS: dict[str, object] = {
    **YES_NO_SETTINGS,
    "max_depth": 4,
    "eta": 0.03,
    "min_child_weight": 8,
    "monotone_constraints": tuple(_DIRECTIONS.get(name, 0) for name in sure_features.FEATURES),
}
# The number of sure trees.
SURE_ROUNDS = 300
# The origin of examples from runs on the user's own files.
_OWN_FILES = "run"
# Answers from these runs weigh this many times as much as others, because they matter most.
_OWN_WEIGHT = 3
# Answers to questions that have no answer in their documents weigh this many times as much. Questions that were changed
# to have no answer do not.
_UNANSWERABLE_WEIGHT = 2
# The number of parts into which the questions are divided for cross-validation.
FOLDS = 5
# All datasets have the same weight, but each answer of a small dataset weighs at most as if there were this many
# answers.
_LEAST_SIZE = 50
# `choose_threshold` checks a kind of questions only if at least this share of its questions, from 0 to 1, gets an
# answer.
_FEWEST_GIVEN = 0.08
# An answer may be given for at most this share, from 0 to 1, of the unanswerable questions.
_MOST_GIVEN_WRONGLY = 0.05

# A function that lets the encoder read an example.
Score = Callable[[Example], EncoderScores]


@dataclass
class ReadExample:
    """An example with the encoder's scores and the features for the trees."""

    example: Example  # the question with its passages
    scores: EncoderScores | None  # the encoder's scores; None for a yes/no question
    spans: Spans  # the spans with their features; empty for a yes/no question
    yes_no: np.ndarray | None  # the features of a yes/no question; None for other questions
    choice: str | None  # the answer if the question asks which of two things is earlier or later, else None
    right: np.ndarray  # for each span, 1 if it is a right answer, 0 if not
    look: SecondLook  # lets the encoder check a candidate once more
    weight: WordWeight  # returns the weight of a word


@dataclass(frozen=True)
class Ranked:
    """The best answers to an example, ranked by trees that were not trained on it."""

    read: ReadExample  # the example
    places: list[int]  # the index of each answer's span, best first
    rows: np.ndarray  # the features for the choice among the answers
    right: np.ndarray  # for each answer, 1 if it is right, 0 if not


@dataclass(frozen=True)
class Given:
    """An answer, with the probability that it is right."""

    read: ReadExample  # the example
    text: str  # the answer; empty if there is none
    features: np.ndarray | None  # the features for the probability; None if the answer is not a span that trees chose
    probability: float  # the estimated probability, from 0 to 1, that the answer is right
    # True if the answer's sentence is about another time or thing than the question, see `Shares.other_time`.
    answers_another_question: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the answer is an exact match of a right answer."""
        return bool(em(self.text, self.read.example.answers))

    @property
    def is_right(self) -> bool:
        """Whether the answer contains a right answer, or has a word F1 of at least 0.8 with a right answer."""
        golds = self.read.example.answers
        return bool(acc_word(self.text, golds)) or f1(self.text, golds) >= 0.8

    @property
    def is_fair(self) -> bool:
        """Whether a person would accept the answer as right."""
        return self.is_right or bool(fair(self.text, self.read.example.answers))


def read_example(
    example: Example, scores: EncoderScores | None, weight: WordWeight, score: ScorePassages
) -> ReadExample:
    """Compute the features of an example.

    :param example: The example.
    :param scores: The encoder's scores. None for a yes/no question, which the encoder does not read.
    :param weight: A function that returns the weight of a word.
    :param score: A function that lets the encoder read passages.
    :returns: The example with its features.
    """
    look = SecondLook(example.question, example.passages, weight, score)
    if asks_yes_no(example.question):
        row = yes_no_features.yes_no_features(example.question, example.passages, weight)
        nothing = Spans([], [], np.zeros((0, len(span_features.FEATURES)), np.float32))
        return ReadExample(example, scores, nothing, row, None, np.zeros(0), look, weight)

    spans = span_features.span_features(example.question, example.passages, scores, weight)
    golds = [answer for answer in example.answers if answer]
    right = np.array([em(candidate.text, golds) for candidate in spans.candidates])
    choice = choose_by_date(example.question, example.passages)
    return ReadExample(example, scores, spans, None, choice.name if choice else None, right, look, weight)


def part_of(key: str, parts: int, seed: int) -> int:
    """Assign a question to one of several parts, by a hash of its key.

    :param key: The key of the question.
    :param parts: The number of parts.
    :param seed: The seed. Another seed gives another division.
    :returns: The number of the part, counted from 0.
    """
    return int(hashlib.sha256(f"{seed}-{key}".encode()).hexdigest(), 16) % parts


def dataset_of(example: Example) -> str:
    """Return the dataset of an example, without the suffix for a changed question.

    :param example: An example, whose origin is for example "musique-gone".
    :returns: The name of the dataset, here "musique".
    """
    return example.origin.partition("-")[0]


def fit_spans(examples: Iterable[ReadExample], seed: int) -> Booster:
    """Train the trees that rank spans.

    :param examples: The examples. Only those with right and wrong spans are used.
    :param seed: The seed of the training.
    :returns: The trees, as XGBoost's ``Booster``.
    """
    used = [example for example in examples if example.right.any() and not example.right.all()]
    rows = np.concatenate([example.spans.rows for example in used])
    right = [example.right for example in used]
    return _fit_ranking({**SPAN_SETTINGS, "seed": seed}, SPAN_ROUNDS, rows, span_features.FEATURES, right)


def _fit_ranking(
    settings: Mapping[str, object], rounds: int, rows: np.ndarray, names: Sequence[str], right: Sequence[np.ndarray]
) -> Booster:
    """Train trees that rank the answers to each question. ``right`` has an array of labels for each question."""
    sizes = [len(of_question) for of_question in right]
    question_numbers = np.repeat(np.arange(len(right)), sizes)
    return fit_trees(settings, rounds, rows, names, label=np.concatenate(right), qid=question_numbers)


def rank(examples: Iterable[ReadExample], spans: Booster) -> list[Ranked]:
    """Rank the answers to each example, and let the encoder check the best answers once more.

    :param examples: The examples. Those that are not answered by a choice of spans are left out.
    :param spans: The trees that rank spans.
    :returns: The best answers to each example.
    """
    rankings = []
    for example in examples:
        if example.yes_no is not None or example.choice is not None or not len(example.right):
            continue

        ranked = rank_answers(example.spans, spans.inplace_predict(example.spans.rows))
        places = [place for place, _ in ranked[: choice_features.MOST]]
        rows = choice_features.choice_features(example.example.question, example.spans, ranked, example.look)
        rankings.append(Ranked(example, places, rows, example.right[places]))
    return rankings


def fit_choice(examples: Iterable[Ranked], seed: int) -> Booster:
    """Train the trees that choose among the best answers.

    :param examples: The ranked answers. Only examples with right and wrong answers are used.
    :param seed: The seed of the training.
    :returns: The trees, as XGBoost's ``Booster``.
    """
    used = [example for example in examples if example.right.any() and not example.right.all()]
    rows = np.concatenate([example.rows for example in used])
    right = [example.right for example in used]
    return _fit_ranking({**CHOICE_SETTINGS, "seed": seed}, CHOICE_ROUNDS, rows, choice_features.FEATURES, right)


def fit_yes_no(examples: Iterable[ReadExample], seed: int) -> Booster:
    """Train the trees that choose between yes and no.

    :param examples: The examples. Only yes/no questions whose right answer is yes or no are used.
    :param seed: The seed of the training.
    :returns: The trees, as XGBoost's ``Booster``.
    """
    used = [example for example in examples if example.yes_no is not None and _yes_or_no(example) is not None]
    rows = np.concatenate([example.yes_no for example in used if example.yes_no is not None])
    labels = [float(_yes_or_no(example) == "yes") for example in used]
    return _fit(rows, labels, yes_no_features.FEATURES, {**YES_NO_SETTINGS, "seed": seed}, YES_NO_ROUNDS)


def fit_sure(answers: Iterable[Given], seed: int) -> Booster:
    """Train the trees that estimate the probability that an answer is right.

    :param answers: The answers. Those without features are left out.
    :param seed: The seed of the training.
    :returns: The trees, as XGBoost's ``Booster``.
    """
    used = [answer for answer in answers if answer.features is not None]
    rows = np.concatenate([answer.features for answer in used if answer.features is not None])
    labels = [float(answer.is_fair) for answer in used]
    # All datasets have the same weight. Otherwise the largest dataset, which is also the easiest, would dominate.
    sizes = Counter(dataset_of(answer.read.example) for answer in used)
    weights = []
    for answer in used:
        example = answer.read.example
        name = dataset_of(example)
        weight = len(used) / len(sizes) / max(_LEAST_SIZE, sizes[name])
        if name == _OWN_FILES:
            weight *= _OWN_WEIGHT
        if example.origin.endswith("-none"):
            weight *= _UNANSWERABLE_WEIGHT
        weights.append(weight)
    return _fit(rows, labels, sure_features.FEATURES, {**SURE_SETTINGS, "seed": seed}, SURE_ROUNDS, weights)


def _fit(
    rows: object,
    labels: Sequence[float],
    names: Sequence[str],
    settings: Mapping[str, object],
    rounds: int,
    weights: Sequence[float] | None = None,
) -> Booster:
    """Train trees. Their first estimate is the weighted mean of the labels."""
    settings = {**settings, "base_score": float(np.average(labels, weights=weights))}
    return fit_trees(settings, rounds, rows, names, label=labels, weight=weights)


def _yes_or_no(example: ReadExample) -> str | None:
    """Return the right answer to an example if it is yes or no, else None."""
    answer = example.example.answers[0].strip().lower()
    return answer if answer in ("yes", "no") else None


@dataclass(frozen=True)
class Shares:
    """The shares of right answers, from 0 to 1, for four forms of answers that are too rare to train trees on."""

    dated_choice: float = 1.0  # which of two things is earlier or later, chosen by their dates
    other_choice: float = 1.0  # other choices between two things
    comparison: float = 1.0  # yes or no to a comparison of two things, except a comparison of their countries
    other_time: float = 1.0  # the answer's sentence is on another time or thing, or affirms what the question denies


def measure_shares(answers: Iterable[Given]) -> Shares:
    """Measure the share of right answers for each form.

    :param answers: The answers. Questions that were changed to have no answer are left out.
    :returns: The shares.
    """
    # Each form begins with one right and one wrong answer, so that no share is 0 or 1.
    right: dict[str, list[bool]] = {form.name: [True, False] for form in fields(Shares)}
    for answer in answers:
        is_made = answer.read.example.origin.endswith(("-gone", "-twin"))
        form_name = _form_of(answer)
        if form_name is not None and not is_made:
            right[form_name].append(answer.is_fair)
    return Shares(**{name: sum(values) / len(values) for name, values in right.items()})


def _form_of(answer: Given) -> str | None:
    """Return the form of an answer, as a name of :class:`Shares`. None if the answer has none of these forms."""
    read = answer.read
    if read.choice is not None:
        return "dated_choice"
    if read.yes_no is not None:
        return "comparison" if asks_to_compare(read.example.question) else None
    if find_alternatives(read.example.question, read.example.passages) is not None:
        return "other_choice"
    return "other_time" if answer.answers_another_question else None


def limit_probability(answer: Given, shares: Shares) -> Given:
    """Limit the probability of an answer to the share of right answers of its form.

    :param answer: The answer.
    :param shares: The shares.
    :returns: The answer with the limited probability. For a dated choice, the probability is the share itself.
    """
    form = _form_of(answer)
    if form is None:
        return answer
    share = getattr(shares, form)
    if form == "dated_choice":
        return replace(answer, probability=share)
    return replace(answer, probability=min(answer.probability, share))


def choose(ranked: Iterable[Ranked], choice: Booster) -> list[Given]:
    """Choose an answer to each example, and compute the features for its probability.

    :param ranked: The best answers to each example.
    :param choice: The trees that choose among these answers.
    :returns: The chosen answers. Their probability is still 0.
    """
    answers = []
    for ranking in ranked:
        scores = choice.inplace_predict(ranking.rows)
        order = np.argsort(-scores, kind="stable")
        chosen = [(ranking.places[place], float(scores[place]), ranking.rows[place]) for place in order]
        read = ranking.read
        assert read.scores is not None
        row = sure_features.sure_features(
            read.example.question, read.example.passages, read.spans, chosen, read.scores, read.look, read.weight
        )
        best_place, _, _ = chosen[0]
        is_other = answers_another_question(best_place, read.spans, read.look)
        answers.append(Given(read, read.spans.candidates[best_place].text, row, 0.0, is_other))
    return answers


def answer_by_form(examples: Iterable[ReadExample], yes_no: Booster) -> list[Given]:
    """Answer the examples that are not answered by a choice of spans.

    These are yes/no questions, choices between two things by their dates, and examples without spans, whose answer is
    empty.

    :param examples: The examples. All others are left out.
    :param yes_no: The trees that choose between yes and no.
    :returns: The answers.
    """
    answers = []
    for example in examples:
        if example.yes_no is not None:
            yes = float(yes_no.inplace_predict(example.yes_no)[0])
            answers.append(Given(example, "yes" if yes > 0.5 else "no", None, max(yes, 1 - yes)))
        elif example.choice is not None:
            answers.append(Given(example, example.choice, None, 1.0))
        elif not len(example.right):
            answers.append(Given(example, "", None, 0.0))
    return answers


def cross_fit(
    asked: Sequence[ReadExample], further: Sequence[ReadExample], seed: int, before: BoostedTrees | None = None
) -> tuple[list[Ranked], list[Given]]:
    """Answer each question and estimate a probability, with trees that were not trained on the question.

    :param asked: The examples to answer.
    :param further: Further examples, from which the span trees and the yes/no trees also learn.
    :param seed: The seed of all random choices.
    :param before: The sure trees of an earlier reader. With them, each probability is the mean (in log odds) of the
        estimates by these trees and by the new trees. None uses the new trees alone.
    :returns: The ranked answers, from which the final choice trees learn, and the answers with their probabilities.
    """

    def fold_of(example: Example) -> int:
        return part_of(example.family or example.key, FOLDS, seed)

    # Each kind of trees is trained once without each fold, and then used for the examples of this fold.
    everything = [*asked, *further]
    ranked: list[Ranked] = []
    answers: list[Given] = []
    for fold in range(FOLDS):
        others = [example for example in everything if fold_of(example.example) != fold]
        held_back = [example for example in asked if fold_of(example.example) == fold]
        ranked += rank(held_back, fit_spans(others, seed))
        answers += answer_by_form(held_back, fit_yes_no(others, seed))

    for fold in range(FOLDS):
        choice = fit_choice([ranking for ranking in ranked if fold_of(ranking.read.example) != fold], seed)
        answers += choose([ranking for ranking in ranked if fold_of(ranking.read.example) == fold], choice)

    sure_trees = []
    for fold in range(FOLDS):
        sure_trees.append(fit_sure([answer for answer in answers if fold_of(answer.read.example) != fold], seed))
    estimated = []
    for answer in answers:
        # An answer that trees did not choose has its probability already.
        if answer.features is None:
            estimated.append(answer)
            continue
        probability = _mean_probability(sure_trees[fold_of(answer.read.example)], before, answer.features)
        estimated.append(replace(answer, probability=probability))
    shares = measure_shares(estimated)
    return ranked, [limit_probability(answer, shares) for answer in estimated]


def _mean_probability(trees: Booster, before: BoostedTrees | None, features: np.ndarray) -> float:
    """Return the mean, in log odds, of the probabilities that two groups of trees estimate.

    For example, 0.9 and 0.5 give 0.75.
    """
    probabilities = [float(trees.inplace_predict(features)[0])]
    if before is not None:
        probabilities += before.probabilities(features)
    clipped = np.clip(probabilities, 1e-6, 1 - 1e-6)
    log_odds = np.log(clipped / (1 - clipped))
    return float(1 / (1 + np.exp(-np.mean(log_odds))))


def given_and_right(answers: Sequence[Given], threshold: float) -> tuple[float, float]:
    """Measure the answers that a threshold gives.

    :param answers: All answers.
    :param threshold: The least probability, from 0 to 1, of an answer that is given.
    :returns: The share of answers that are given, and the share of these that are right, both from 0 to 1.
    """
    confident = [answer for answer in answers if answer.text and answer.probability >= threshold]
    right = sum(answer.is_fair for answer in confident)
    return len(confident) / max(1, len(answers)), right / max(1, len(confident))


def choose_threshold(answers: Sequence[Given], right: float, hops: Collection[str] = ()) -> float:
    """Choose the lowest threshold at which enough of the given answers are right.

    An answer is given if its probability reaches the threshold. The share of right answers is measured for three kinds
    of questions: questions on documents, questions of multi-hop datasets, and questions on the user's own files. Of
    unanswerable questions, at most one in twenty may get an answer.

    :param answers: The answers to questions that the trees were not trained on.
    :param right: The least share, from 0 to 1, of the given answers of each kind that must be right.
    :param hops: The names of the multi-hop datasets.
    :returns: The threshold, in steps of 0.01. It is 1.0 if no threshold fits.
    """
    kinds: dict[str, list[Given]] = {}
    for answer in answers:
        origin = answer.read.example.origin
        # An origin with a suffix, such as "musique-gone", is that of questions without an answer.
        _, _, suffix = origin.partition("-")
        kind = "hops" if origin in hops else "documents"
        if suffix or origin == _OWN_FILES:
            kind = origin
        kinds.setdefault(kind, []).append(answer)

    def fits(threshold: float) -> bool:
        shares_right = []
        shares_given_wrongly = []
        for kind, answers_of_kind in kinds.items():
            share_given, share_right = given_and_right(answers_of_kind, threshold)
            # Kinds with "-" in the name have no right answers, so only the share of given answers counts.
            if "-" in kind:
                shares_given_wrongly.append(share_given)
            # A share of few answers says nothing, so it is ignored.
            elif share_given >= _FEWEST_GIVEN:
                shares_right.append(share_right)
        is_wrong_rarely = max(shares_given_wrongly, default=0.0) <= _MOST_GIVEN_WRONGLY
        return is_wrong_rarely and min(shares_right, default=0.0) >= right

    for step in range(1, 100):
        if fits(step / 100):
            return step / 100
    return 1.0
