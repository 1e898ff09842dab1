"""Train and measure the decision trees of the :class:`TreeJudge`.

The trees learn from simulated runs over questions whose needed passages are known. In a step of a run, the preferred
source is searched. For each passage found, the trees learn whether it is needed.
"""

from __future__ import annotations

import json
import math
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefrag.components.judge.switch_features import FEATURES, TEXT_FEATURES, as_row
from prefrag.components.judge.tree_judge import COST_OF_LEAVING, find_unknown, keep_probability, least_probability
from prefrag.components.trees import RANGES, BoostedTrees
from prefrag.training.begun import digest, fingerprint
from prefrag.training.card import table, write_card
from prefrag.training.compute_once import compute_once
from prefrag.training.dataset import FEWEST_QUESTIONS, Dataset
from prefrag.training.judge_classifier.home import TITLES, home_steps, read_articles
from prefrag.training.judge_classifier.steps import JudgedStep, simulated_steps, two_sources
from prefrag.training.tree_training import Training, TreeTraining, fit_trees, leave_out, read_booster

if TYPE_CHECKING:
    from xgboost import Booster

# The settings of XGBoost. They were chosen by cross-validation on the training questions of HotpotQA, MuSiQue,
# 2WikiMultiHopQA and BioASQ.
SETTINGS: dict[str, object] = {
    "objective": "binary:logistic",
    "tree_method": "hist",
    "max_depth": 6,
    "eta": 0.05,
    "subsample": 0.8,
    "colsample_bytree": 0.5,
    "min_child_weight": 6,
    "lambda": 2,
    "nthread": 1,
}
# The number of trees that are trained one after the other.
ROUNDS = 150
# This share of the questions, from 0 to 1, is held back to measure trees.
_HELD_BACK = 0.2
# The trees also train on simulated files: articles that stand for the files of a user, who searches them before the
# web. They are treated as one more dataset, and this is its name.
HOME = "home"
# The weight of the simulated files in the training. A dataset has the weight 1. With 0.3, all steps on the simulated
# files together count 0.3 times as much as all steps on a dataset. The files are very unlike the datasets, so the trees
# learn what is special about the files even with a small weight. The number was chosen by cross-validation, once with
# the dataset MuSiQue and once without it.
_HOME_WEIGHT = 0.3
# In the simulated files, a needed passage has this many times the weight of another passage. To lose a needed passage
# of a user's own files is worse than to lose one of a dataset, because another source rarely has it too. The number was
# chosen in the same way.
_NEEDED_AT_HOME = 2.0
# If a dataset has fewer questions than this, its corpus is divided between the two sources in several ways, so that
# there are enough steps. The number of ways is this number divided by the number of questions.
_ENOUGH_QUESTIONS = 400
# The corpus is divided in at most this number of ways.
_MOST_DIVISIONS = 4


@dataclass(frozen=True)
class HeldBack:
    """How well trees judge the steps of a dataset's held-back questions."""

    dataset: str  # the name of the dataset
    steps: int  # the number of steps that were measured
    # The share of these steps, from 0 to 1, in which the verdict of the trees is right. The trees are the classifier.
    classifier: float
    # The share of searches, from 0 to 1, that have found a needed passage but are left: the trees decide to leave the
    # source that was searched, so the passage is lost. Searches without a needed passage are not counted.
    left: float


@dataclass(frozen=True)
class TrainingStep:
    """A step to train on, and whether it may also be used to measure trees."""

    dataset: str  # the name of the dataset
    step: JudgedStep  # the search, and which of the found passages are needed
    # Whether trees are measured on this step if its question is held back. This is so for steps of runs that resemble
    # real use, for example over passages with their own titles.
    measures: bool


def train_judge(
    datasets: Sequence[Dataset],
    output: Path,
    seed: int = 7,
    home: Path | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Training[HeldBack]:
    """Train the trees on the steps of simulated runs. The same files and seed give the same trees.

    Until the training ends, a folder beside the output keeps the steps of each finished dataset, so that an interrupted
    training can continue.

    :param datasets: The datasets, whose questions have gold passages.
    :param output: The file of the trees.
    :param seed: The seed of all random choices.
    :param home: A file of articles with questions, which simulate a user's own files. None leaves these steps out.
    :param on_progress: A function that is called with each line of progress. None reports nothing.
    :returns: The results.
    :raises ValueError: If there is nothing to learn.
    """
    training = TreeTraining(datasets, output, on_progress)
    work = training.output.with_name(f"{training.output.stem}-training")
    runs: dict[str, Callable[[], Iterable[TrainingStep]]] = {
        dataset.name: partial(training_steps, dataset, seed) for dataset in datasets
    }
    digests = {dataset.name: dataset.digest() for dataset in datasets}
    if home is not None:
        runs[HOME] = partial(home_training_steps, home, seed)
        digests[HOME] = digest(home)

    steps: list[TrainingStep] = []
    n_questions = 0
    # The dataset and the id of each question that is held back.
    held_back: set[tuple[str, str]] = set()
    for number, (name, run) in enumerate(runs.items(), start=1):
        training.report(f"Running the questions of {name} ({number} of {len(runs)})")
        # The file is named after all that the steps depend on, so a different training uses another file.
        steps_file = work / f"{fingerprint([name, seed, FEATURES, digests[name]])}.json"
        # If the file exists, an interrupted training has run these questions already. The steps are then only read.
        write_own_steps = partial(_write_steps, run)
        records = compute_once(steps_file, write_own_steps)
        steps_of_dataset = [_read_step(record) for record in records]
        training.report(f"{name}: {len(steps_of_dataset)} steps")

        ids = sorted({sample.step.question_id for sample in steps_of_dataset if sample.measures})
        random.Random(seed).shuffle(ids)
        n_held_back = math.ceil(_HELD_BACK * len(ids))
        held_back |= {(name, id) for id in ids[:n_held_back]}

        # Questions are counted by their texts. So a question that is in the dataset twice, with two ids, counts once.
        n_questions += len({sample.step.question for sample in steps_of_dataset})
        steps += steps_of_dataset

    training.report("Training without the held-back questions, to measure the trees on these questions")
    held_back_steps = [sample for sample in steps if (sample.dataset, sample.step.question_id) in held_back]
    # A question with the text of a held-back question is left out too, also if it is from another dataset.
    other_steps = leave_out(steps, held_back_steps, lambda sample: sample.step.question)
    trees = read_booster(fit(other_steps, seed))
    # No held-back step trains these trees. But not every held-back step measures them: only those marked as `measures`.
    measuring_steps: dict[str, list[TrainingStep]] = {}
    for sample in held_back_steps:
        if sample.measures:
            measuring_steps.setdefault(sample.dataset, []).append(sample)
    measured = [_measure(name, steps_of_dataset, trees) for name, steps_of_dataset in measuring_steps.items()]

    training.report("Training the trees on all questions")
    training.keep(fit(steps, seed))
    result = Training(training.output, n_questions, len(steps), tuple(measured), training.seconds)
    _write_card(result, seed)
    shutil.rmtree(work)
    return result


def _write_card(result: Training[HeldBack], seed: int) -> None:
    """Write the model card beside the trees."""
    head = ["held-back questions, by trees not trained on them", "steps", "right verdicts", "needed, but rejected"]
    rows = []
    for quality in result.held_back:
        rows.append((quality.dataset, quality.steps, f"{quality.classifier:.1%}", f"{quality.left:.1%}"))
    write_card(
        result.output,
        "Trees of `prefrag train judge`",
        f"`{result.output.name}`: seed {seed}, {result.questions} questions, {result.examples} steps, "
        f"{result.seconds:.0f} s.",
        table(head, rows),
    )


def home_training_steps(file: Path, seed: int) -> Iterator[TrainingStep]:
    """Run the two-part questions of the simulated files three times, each time with other titles of the passages.

    :param file: The file of the articles.
    :param seed: The seed of all random choices.
    :returns: The steps. Only second searches with the articles' own titles are used to measure trees.
    """
    articles = read_articles(file)
    for number, titles in enumerate(TITLES):
        for step in home_steps(articles, seed + number, titles=titles):
            # `step.step` is the number of earlier searches for the same question.
            is_second_search = step.step > 0
            yield TrainingStep(HOME, step, measures=titles == "own" and is_second_search)


def training_steps(dataset: Dataset, seed: int) -> Iterator[TrainingStep]:
    """Run the questions of a dataset several times, each time in another variant.

    Each of the two sources is the preferred source once. Questions with sub-questions also run without the
    use of sub-questions. If there are few questions, the corpus is divided between the sources in several ways.
    Finally, the questions run over passages without titles, so that the trees can also judge such passages.

    :param dataset: The dataset.
    :param seed: The seed of all random choices.
    :returns: The steps. Only the steps of the first variant are used to measure trees.
    """
    questions, passages = dataset.read(at_least=FEWEST_QUESTIONS)
    texts = {passage.id: passage for passage in passages}
    # In a plain run, the sub-questions are not used. If there are sub-questions, there is a second, plain run.
    plain_values = [False]
    if any(question.decomposition or question.evidence_triples for question in questions):
        plain_values.append(True)

    divisions = max(1, _ENOUGH_QUESTIONS // len(questions))
    for division in range(min(_MOST_DIVISIONS, divisions)):
        # The first division puts a passage into the source that the corpus names for it. If the corpus names none, a
        # draw decides. In the further divisions, the draw decides for all passages.
        is_drawn = division > 0
        with two_sources(passages, seed + division, draw_all=is_drawn) as sources:
            for swapped, plain in product((False, True), plain_values):
                preferred = sources.swap() if swapped else sources
                is_first_variant = division == 0 and not swapped and not plain
                for step in simulated_steps(questions, preferred, texts, plain=plain):
                    yield TrainingStep(dataset.name, step, measures=is_first_variant)

    untitled = [replace(passage, meta={**passage.meta, "title": ""}) for passage in passages]
    with two_sources(untitled, seed) as sources:
        for preferred in (sources, sources.swap()):
            for step in simulated_steps(questions, preferred, texts):
                yield TrainingStep(dataset.name, step, measures=False)


def fit(steps: Sequence[TrainingStep], seed: int) -> Booster:
    """Train trees to tell which passages of a step are needed.

    :param steps: The steps.
    :param seed: The seed of the training.
    :returns: The trees, as XGBoost's ``Booster``. They also have the range of each feature of the texts, so that
        passages that are unlike the training data can be recognised.
    :raises ValueError: If a perfect judge would give the same verdict in all steps.
    """
    import numpy as np

    verdicts = {sample.step.keep for sample in steps}
    if len(verdicts) < 2:
        verdict = "keeps the results" if any(verdicts) else "switches the source"
        raise ValueError(
            f"A perfect judge {verdict} in each of the {len(steps)} steps, so there is nothing to learn: give "
            "questions with gold passages that only one of the sources has."
        )

    sizes = Counter(sample.dataset for sample in steps)
    rows = []
    labels = []
    weights = []
    for sample in steps:
        is_home = sample.dataset == HOME
        weight_of_dataset = _HOME_WEIGHT if is_home else 1
        # A step weighs the mean number of steps per dataset, divided by the number of steps of its own dataset. So all
        # steps of a small dataset together weigh as much as those of a large one. For example, with one dataset of 100
        # steps and one of 300, the mean is 200. A step of the first weighs 2, and a step of the second weighs 2/3.
        weight_of_step = weight_of_dataset * len(steps) / len(sizes) / sizes[sample.dataset]
        weight_of_needed = weight_of_step * _NEEDED_AT_HOME if is_home else weight_of_step
        for features, needed in zip(sample.step.features, sample.step.needed, strict=True):
            rows.append(as_row(features))
            labels.append(needed)
            weights.append(weight_of_needed if needed else weight_of_step)
    booster = fit_trees(
        {**SETTINGS, "seed": seed},
        ROUNDS,
        np.asarray(rows, dtype=np.float32),
        FEATURES,
        label=np.asarray(labels, dtype=np.float32),
        weight=np.asarray(weights, dtype=np.float32),
    )

    ranges = {}
    for name in TEXT_FEATURES:
        place = FEATURES.index(name)
        values = [row[place] for row in rows]
        ranges[name] = (min(values), max(values))
    booster.set_attr(**{RANGES: json.dumps(ranges)})
    return booster


def _measure(name: str, steps: Sequence[TrainingStep], trees: BoostedTrees) -> HeldBack:
    """Measure trees on the steps of a dataset, which they were not trained on."""
    # The trees keep the results if the probability that one is needed is at least this high.
    least = least_probability(COST_OF_LEAVING)
    n_right = 0
    n_with_needed = 0
    n_left = 0
    for sample in steps:
        features = sample.step.features
        # Passages that are unlike those of the training are kept.
        are_unlike = find_unknown(trees, features) is not None
        keeps = are_unlike or keep_probability(trees, features) >= least
        if keeps == sample.step.keep:
            n_right += 1
        if sample.step.keep:
            n_with_needed += 1
            if not keeps:
                n_left += 1

    share_left = n_left / n_with_needed if n_with_needed else 0.0
    return HeldBack(name, len(steps), n_right / len(steps), share_left)


def _write_steps(run: Callable[[], Iterable[TrainingStep]]) -> list[dict[str, object]]:
    """Make steps, and return them as plain JSON values."""
    return [_write_step(sample) for sample in run()]


def _write_step(sample: TrainingStep) -> dict[str, object]:
    """Return a step as plain JSON values."""
    # The texts of the passages are not written, because the trees learn only from features.
    step = sample.step
    return {
        "dataset": sample.dataset,
        "measures": sample.measures,
        "step": [step.question_id, step.question, step.step, step.query],
        "rows": [as_row(features) for features in step.features],
        "needed": step.needed,
    }


def _read_step(record: dict[str, Any]) -> TrainingStep:
    """Read a step that :func:`_write_step` wrote. It has no passages."""
    question_id, question, number, query = record["step"]
    step = JudgedStep(
        question_id=question_id,
        question=question,
        step=number,
        query=query,
        passages=(),
        observed=(),
        features=tuple(dict(zip(FEATURES, row, strict=True)) for row in record["rows"]),
        needed=tuple(record["needed"]),
    )
    return TrainingStep(record["dataset"], step, record["measures"])
