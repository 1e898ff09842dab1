"""Train the decision trees of the extractive reader. They choose an answer and estimate how likely it is right."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

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
# These trees choose among only five answers, so they are smaller and learn more slowly.
CHOICE_SETTINGS: dict[str, Any] = {**SPAN_SETTINGS, "max_depth": 4, "eta": 0.05, "min_child_weight": 10}
CHOICE_ROUNDS = 200
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
# The estimated probability may only rise with the features of the first list, and only fall with those of the second.
_LIKELIER = (
    "score below_best share odds odds_below_best sentence_holds sentence_holds_head read_span read_below_best read_all "
    "read_passage read_best passage_covers sentence_covers near_covers occurs_in choice choice_margin choice_share "
    "agrees agrees_in_part all_covered covered_pair alone_score alone_agrees alone_agrees_in_part"
)
_UNLIKELIER = (
    "odds_rank absent absent_in_passage absent_in_sentence absent_of_head read_none read_rank names_nowhere "
    "names_elsewhere alone_none"
)
_DIRECTIONS = {**dict.fromkeys(_LIKELIER.split(), 1), **dict.fromkeys(_UNLIKELIER.split(), -1)}
SURE_SETTINGS: dict[str, Any] = {
    **YES_NO_SETTINGS,
    "max_depth": 4,
    "eta": 0.03,
    "min_child_weight": 8,
    "monotone_constraints": tuple(_DIRECTIONS.get(name, 0) for name in sure_features.FEATURES),
}
SURE_ROUNDS = 300
_OWN_FILES = "run"  # the origin of runs on the user's own files
_OWN_WEIGHT = 3  # the weight of these runs, which matter most
_UNANSWERABLE_WEIGHT = 2  # the weight of unanswerable questions that were not changed
FOLDS = 5
_FEW = 50  # each answer of a smaller dataset weighs as if the dataset had this many answers
_FEWEST_GIVEN = 0.08  # choose_threshold checks a kind of questions only if at least this share of them gets an answer
_MOST_GIVEN_WRONGLY = 0.05  # the maximum share of unanswerable questions for which an answer is shown

Score = Callable[[Example], EncoderScores]


@dataclass
class ReadExample:
    """An example with the encoder's scores and the features for the trees."""

    example: Example
    scores: EncoderScores | None  # the encoder's scores; None for a yes/no question
    spans: Spans  # the spans with their features; empty for a yes/no question
    yes_no: Any  # the features of a yes/no question; None for other questions
    choice: str | None  # the answer if the question asks which of two things is earlier or later, else None
    right: Any  # for each span, 1 if it is a right answer, 0 if not
    look: SecondLook  # lets the encoder check a candidate once more
    weight: WordWeight  # returns the weight of a word


@dataclass(frozen=True)
class Ranked:
    """The best answers to an example, ranked by trees that were not trained on it."""

    read: ReadExample
    places: list[int]  # the index of each answer's span, best first
    rows: Any  # the features for the choice among the answers
    right: Any  # for each answer, 1 if it is right, 0 if not


@dataclass(frozen=True)
class Given:
    """An answer, with the probability that it is right."""

    read: ReadExample
    text: str
    features: Any  # the features for the probability; None if the answer is not a span that trees chose
    probability: float
    answers_another_question: bool = False  # True if its sentence is on another time or thing, see `Shares.other_time`

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
    """Compute the features of an example."""
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
    """Assign a question to one of several parts, by a hash of its key."""
    return int(hashlib.sha256(f"{seed}-{key}".encode()).hexdigest(), 16) % parts


def dataset_of(example: Example) -> str:
    """Return the dataset of an example, without the suffix for a changed question."""
    return example.origin.partition("-")[0]


def fit_spans(examples: Iterable[ReadExample], seed: int) -> Any:
    """Train the trees that rank spans."""
    used = [example for example in examples if example.right.any() and not example.right.all()]
    rows = np.concatenate([example.spans.rows for example in used])
    right = [example.right for example in used]
    return _fit_ranking({**SPAN_SETTINGS, "seed": seed}, SPAN_ROUNDS, rows, span_features.FEATURES, right)


def _fit_ranking(settings: dict[str, Any], rounds: int, rows: Any, names: Sequence[str], right: Sequence[Any]) -> Any:
    """Train trees that rank the answers to each question. ``right`` has an array of labels for each of them."""
    sizes = [len(of_question) for of_question in right]
    question_numbers = np.repeat(np.arange(len(right)), sizes)
    return fit_trees(settings, rounds, rows, names, label=np.concatenate(right), qid=question_numbers)


def rank(examples: Iterable[ReadExample], spans: Any) -> list[Ranked]:
    """Rank the answers to each example, and let the encoder check the best answers once more."""
    rankings = []
    for example in examples:
        if example.yes_no is not None or example.choice is not None or not len(example.right):
            continue
        ranked = rank_answers(example.spans, spans.inplace_predict(example.spans.rows))
        places = [place for place, _ in ranked[: choice_features.MOST]]
        rows = choice_features.choice_features(example.example.question, example.spans, ranked, example.look)
        rankings.append(Ranked(example, places, rows, example.right[places]))
    return rankings


def fit_choice(examples: Iterable[Ranked], seed: int) -> Any:
    """Train the trees that choose among the best answers."""
    used = [example for example in examples if example.right.any() and not example.right.all()]
    rows = np.concatenate([example.rows for example in used])
    right = [example.right for example in used]
    return _fit_ranking({**CHOICE_SETTINGS, "seed": seed}, CHOICE_ROUNDS, rows, choice_features.FEATURES, right)


def fit_yes_no(examples: Iterable[ReadExample], seed: int) -> Any:
    """Train the trees that choose between yes and no."""
    used = [example for example in examples if example.yes_no is not None and _yes_or_no(example) is not None]
    rows = np.concatenate([example.yes_no for example in used])
    labels = [float(_yes_or_no(example) == "yes") for example in used]
    return _fit(rows, labels, yes_no_features.FEATURES, {**YES_NO_SETTINGS, "seed": seed}, YES_NO_ROUNDS)


def fit_sure(answers: Iterable[Given], seed: int) -> Any:
    """Train the trees that estimate the probability that an answer is right."""
    used = [answer for answer in answers if answer.features is not None]
    rows = np.concatenate([answer.features for answer in used])
    labels = [float(answer.is_fair) for answer in used]
    # All datasets have the same weight. Otherwise the largest dataset, which is also the easiest, would dominate.
    sizes = Counter(dataset_of(answer.read.example) for answer in used)
    weights = []
    for answer in used:
        example = answer.read.example
        name = dataset_of(example)
        weight = len(used) / len(sizes) / max(_FEW, sizes[name])
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
) -> Any:
    settings = {**settings, "base_score": float(np.average(labels, weights=weights))}
    return fit_trees(settings, rounds, rows, names, label=labels, weight=weights)


def _yes_or_no(example: ReadExample) -> str | None:
    answer = example.example.answers[0].strip().lower()
    return answer if answer in ("yes", "no") else None


@dataclass(frozen=True)
class Shares:
    """The shares of right answers, for four forms of answers that are too rare to train trees on."""

    dated_choice: float = 1.0  # which of two things is earlier or later, chosen by their dates
    other_choice: float = 1.0  # other choices between two things
    comparison: float = 1.0  # yes or no to a comparison of two things, except a comparison of their countries
    other_time: float = 1.0  # the answer's sentence is on another time or thing, or affirms what the question denies


def measure_shares(answers: Iterable[Given]) -> Shares:
    """Measure the share of right answers for each form. Questions that were changed to have no answer are left out."""
    # Each form begins with a right and a wrong answer, so no share is 0 or 1.
    right: dict[str, list[bool]] = {form.name: [True, False] for form in fields(Shares)}
    for answer in answers:
        is_made = answer.read.example.origin.endswith(("-gone", "-twin"))
        form_name = _form_of(answer)
        if form_name is not None and not is_made:
            right[form_name].append(answer.is_fair)
    return Shares(**{name: sum(values) / len(values) for name, values in right.items()})


def _form_of(answer: Given) -> str | None:
    read = answer.read
    if read.choice is not None:
        return "dated_choice"
    if read.yes_no is not None:
        return "comparison" if asks_to_compare(read.example.question) else None
    if find_alternatives(read.example.question, read.example.passages) is not None:
        return "other_choice"
    return "other_time" if answer.answers_another_question else None


def limit_probability(answer: Given, shares: Shares) -> Given:
    """Limit the probability of an answer to the share of its form. For a dated choice, use the share itself."""
    form = _form_of(answer)
    if form is None:
        return answer
    share = getattr(shares, form)
    return replace(answer, probability=share if form == "dated_choice" else min(answer.probability, share))


def choose(ranked: Iterable[Ranked], choice: Any) -> list[Given]:
    """Choose an answer to each example, and compute the features for its probability. The probability is still 0."""
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
        best = chosen[0][0]
        is_other = answers_another_question(best, read.spans, read.look)
        answers.append(Given(read, read.spans.candidates[best].text, row, 0.0, is_other))
    return answers


def answer_by_form(examples: Iterable[ReadExample], yes_no: Any) -> list[Given]:
    """Answer the examples without a choice of spans: yes or no, by comparing dates, or empty if there are no spans."""
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

    The trees for spans and for yes and no also learn from ``further`` questions. With ``before``, the trees of an
    earlier reader, each probability is the mean (in log odds) of the estimates by these trees and by the new trees.
    Returns the ranked answers, from which the final choice trees learn, and the answers with their probabilities.
    """

    def part(example: Example) -> int:
        return part_of(example.family or example.key, FOLDS, seed)

    everything = [*asked, *further]
    ranked: list[Ranked] = []
    answers: list[Given] = []
    for own in range(FOLDS):
        rest = [example for example in everything if part(example.example) != own]
        back = [example for example in asked if part(example.example) == own]
        ranked += rank(back, fit_spans(rest, seed))
        answers += answer_by_form(back, fit_yes_no(rest, seed))
    for own in range(FOLDS):
        choice = fit_choice([ranking for ranking in ranked if part(ranking.read.example) != own], seed)
        answers += choose([ranking for ranking in ranked if part(ranking.read.example) == own], choice)
    trees = []
    for own in range(FOLDS):
        trees.append(fit_sure([answer for answer in answers if part(answer.read.example) != own], seed))
    estimated = []
    for answer in answers:
        if answer.features is None:
            estimated.append(answer)
            continue
        probability = _mean_probability(trees[part(answer.read.example)], before, answer.features)
        estimated.append(replace(answer, probability=probability))
    shares = measure_shares(estimated)
    return ranked, [limit_probability(answer, shares) for answer in estimated]


def _mean_probability(trees: Any, before: BoostedTrees | None, features: Any) -> float:
    probabilities = [float(trees.inplace_predict(features)[0])]
    if before is not None:
        probabilities += before.probabilities(features)
    clipped = np.clip(probabilities, 1e-6, 1 - 1e-6)
    log_odds = np.log(clipped / (1 - clipped))
    return float(1 / (1 + np.exp(-np.mean(log_odds))))


def given_and_right(answers: Sequence[Given], threshold: float) -> tuple[float, float]:
    """Return the share of answers whose probability reaches a threshold, and the share of these that are right."""
    confident = [answer for answer in answers if answer.text and answer.probability >= threshold]
    right = sum(answer.is_fair for answer in confident)
    return len(confident) / max(1, len(answers)), right / max(1, len(confident))


def choose_threshold(answers: Sequence[Given], right: float, hops: Collection[str] = ()) -> float:
    """Choose the lowest threshold at which enough of the given answers are right; 1.0 if none fits.

    An answer is given if its probability reaches the threshold. At least the share ``right`` of the given answers
    must be right for each of three kinds of questions: questions on documents, questions of the multi-hop datasets
    ``hops``, and questions on the user's own files. Of unanswerable questions, at most one in twenty may get an answer.
    """
    kinds: dict[str, list[Given]] = {}
    for answer in answers:
        origin = answer.read.example.origin
        # With a suffix, the origin is of questions that have no answer.
        suffix = origin.partition("-")[2]
        kind = "hops" if origin in hops else "documents"
        if suffix or origin == _OWN_FILES:
            kind = origin
        kinds.setdefault(kind, []).append(answer)

    def fits(threshold: float) -> bool:
        measured = {kind: given_and_right(own, threshold) for kind, own in kinds.items()}
        # A share of few answers says nothing, so it is ignored. Kinds with "-" in the name have no right answers.
        shares = []
        wrongly = []
        for kind, (coverage, precision) in measured.items():
            if "-" in kind:
                wrongly.append(coverage)
            elif coverage >= _FEWEST_GIVEN:
                shares.append(precision)
        return min(shares, default=0.0) >= right and max(wrongly, default=0.0) <= _MOST_GIVEN_WRONGLY

    fitting = [step / 100 for step in range(1, 100) if fits(step / 100)]
    return fitting[0] if fitting else 1.0
