"""Train the decision trees that estimate whether what a source has found suffices for a question.

The training simulates runs over questions whose needed passages are known (gold passages). A run searches the preferred
source (``local``) several times. After each search, the trees see features of the passages found so far. The label is
whether these passages include all gold passages. To get both labels, the gold passages are put into the preferred
source, or only into the other source (``web``), or into both.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.judge.pair_sufficiency import MOST_COMPARED, THRESHOLD
from prefrag.components.judge.sufficiency_features import FEATURES, as_row, sufficiency_features
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reader.reader import Reader
from prefrag.components.reasoner.reader_step import next_query
from prefrag.components.state.state import Action, RunSettings, Search, State, Step, identity
from prefrag.evaluation.datasets.jsonl import SPLIT
from prefrag.evaluation.question import Question
from prefrag.training.area_under_curve import area_under_curve
from prefrag.training.card import table, write_card
from prefrag.training.dataset import FEWEST_QUESTIONS, Dataset
from prefrag.training.judge_classifier.steps import make_source
from prefrag.training.pair_classifier.pool import Pool, pools
from prefrag.training.pair_classifier.trees import fit as fit_pairs
from prefrag.training.tree_training import Training, TreeTraining, fit_trees

if TYPE_CHECKING:
    from xgboost import Booster

# The preferred source, with the user's own files.
LOCAL = "local"
# The other source.
WEB = "web"
# Where the gold passages of a question are. "home": all are in the preferred source. "web": all are only in the other
# source. "divided": the corpus says which source has which passage, or a draw decides.
PLACES = ("home", "web", "divided")
# The settings of XGBoost.
SETTINGS: dict[str, object] = {
    "objective": "binary:logistic",
    "tree_method": "hist",
    "max_depth": 3,
    "eta": 0.05,
    "subsample": 0.7,
    "colsample_bytree": 0.7,
    "min_child_weight": 8,
    "lambda": 2,
    "nthread": 1,
}
# The number of trees that are trained one after the other.
ROUNDS = 120
# For each feature, the direction in which it may change the estimate. The estimate may only rise (1) with what the
# passages contain and with the probability of the reader's answer. It may only fall (-1) with the names that the
# passages lack, and with the number of the question's words. Without this rule, passages that are unlike those of the
# training could reverse the effect of a feature.
_DIRECTIONS = {
    "pair": 1,
    "one_covers": 1,
    "pair_covers": 1,
    "three_cover": 1,
    "all_cover": 1,
    "answer": 1,
    "absent_names": -1,
    "absent_in_pair": -1,
    "words": -1,
}
# At most this number of questions of each dataset is run. They are drawn at random.
_MOST_QUESTIONS = 150
# A run makes at most this number of searches.
_STEPS = 4
# Each search returns at most this number of passages.
_TOP_K = 5
# The questions are divided into this number of parts. The trees that score pairs of passages for the questions of one
# part have learnt from the questions of the other part.
_PARTS = 2


@dataclass(frozen=True)
class FoundSoFar:
    """The state of a simulated run: what the preferred source has found so far, and whether this suffices."""

    dataset: str  # the name of the question's dataset
    place: str  # where the gold passages are, one of `PLACES`
    question: str
    row: tuple[float, ...]  # the features of the passages found so far, see `sufficiency_features`
    suffices: bool  # whether the passages found so far include all gold passages of the question


@dataclass(frozen=True)
class Ranked:
    """How well trees tell sufficient from insufficient passages in a dataset that they did not learn from.

    One of the features is the score of other trees, which score pairs of passages. These trees have learnt from the
    other half of the questions, also from those of this dataset.
    """

    dataset: str  # the name of the dataset
    states: int  # the number of states that were measured
    area: float  # the area under the ROC curve, from 0 to 1
    # Of the questions with all gold passages in the preferred source: the share, from 0 to 1, for which the other
    # source would still be searched.
    needless: float
    # Of the questions with all gold passages in the other source: the share, from 0 to 1, for which that source would
    # never be searched.
    missed: float


def train_sufficiency(
    datasets: Sequence[Dataset],
    output: Path,
    threshold: float = THRESHOLD,
    seed: int = 7,
    on_progress: Callable[[str], None] | None = None,
) -> Training[Ranked]:
    """Train the trees. The same files and seed give the same trees.

    :param datasets: Questions with gold passages, and their corpora.
    :param output: The file of the trees.
    :param threshold: The least probability, from 0 to 1, with which passages count as sufficient in the measures.
    :param seed: The seed of all random choices.
    :param on_progress: A function that is called with each line of progress. None reports nothing.
    :returns: The results. The measures of a dataset are those of trees that have learnt from the other datasets.
    :raises ValueError: If there is nothing to learn.
    """
    training = TreeTraining(datasets, output, on_progress)
    with tempfile.TemporaryDirectory(prefix="prefrag-train-") as folder:
        training.report("Training the trees of pairs")
        scorers = _train_pair_scorers(datasets, Path(folder), seed)
        reader = ExtractiveReader()
        states: list[FoundSoFar] = []
        for dataset in datasets:
            states += _run_dataset(dataset, scorers, reader, seed, training.report)

    if len({state.suffices for state in states}) < 2:
        raise ValueError(
            "In all searches the passages suffice, or in none, so there is nothing to learn: give questions with gold "
            "passages that a search can find."
        )

    measured = []
    # With a single dataset, there are no trees that have learnt from others.
    measured_datasets = datasets if len(datasets) > 1 else ()
    for dataset in measured_datasets:
        training.report(f"Measuring on {dataset.name}")
        others = [state for state in states if state.dataset != dataset.name]
        own = [state for state in states if state.dataset == dataset.name]
        measured.append(measure(fit(others, seed), own, threshold))

    training.report("Training on all questions")
    training.keep(fit(states, seed))
    questions = len({(state.dataset, state.question) for state in states})
    result = Training(training.output, questions, len(states), tuple(measured), training.seconds)

    head = ["dataset, by trees of the others", "states", "area under the curve", "needless", "missed"]
    rows = []
    for part in measured:
        rows.append((part.dataset, part.states, f"{part.area:.3f}", f"{part.needless:.1%}", f"{part.missed:.1%}"))
    write_card(
        result.output,
        "Trees of `prefrag train sufficiency`",
        f"`{result.output.name}`: seed {seed}, {questions} questions, {len(states)} states, {result.seconds:.0f} s.",
        table(head, rows),
    )
    return result


def fit(states: Sequence[FoundSoFar], seed: int) -> Booster:
    """Train trees on states. Each dataset has the same weight.

    Each state is used twice: with the probability of the extractive reader's answer, and without it. So the trees can
    also judge in a pipeline that has no reader.

    :param states: The states.
    :param seed: The seed of the training.
    :returns: The trees, as XGBoost's ``Booster``.
    """
    states = [*states, *map(_without_answer, states)]
    sizes = Counter(state.dataset for state in states)
    directions = tuple(_DIRECTIONS[name] for name in FEATURES)
    weights = [len(states) / len(sizes) / sizes[state.dataset] for state in states]
    rows = np.array([state.row for state in states], np.float32)
    labels = np.array([state.suffices for state in states], np.float32)
    return fit_trees(
        {**SETTINGS, "seed": seed, "monotone_constraints": directions},
        ROUNDS,
        rows,
        FEATURES,
        label=labels,
        weight=np.array(weights, np.float32),
    )


def _without_answer(state: FoundSoFar) -> FoundSoFar:
    """Return a state whose probability of an answer is missing."""
    row = list(state.row)
    row[FEATURES.index("answer")] = math.nan
    return replace(state, row=tuple(row))


def measure(booster: Booster, states: Sequence[FoundSoFar], threshold: float) -> Ranked:
    """Measure trees on the states of one dataset.

    A question for which the preferred source finds nothing has no state, so it is not measured.

    :param booster: The trees.
    :param states: The states, all of one dataset.
    :param threshold: The least probability, from 0 to 1, with which passages count as sufficient.
    :returns: The measures.
    """
    rows = np.array([state.row for state in states], np.float32)
    scores = [float(score) for score in booster.inplace_predict(rows)]

    # The other source is searched for a question if any estimate of its run is below the threshold.
    lowest_scores: dict[tuple[str, str], float] = {}
    for state, score in zip(states, scores, strict=True):
        key = (state.place, state.question)
        lowest_scores[key] = min(score, lowest_scores.get(key, 1.0))
    # For each place of the gold passages, whether the other source is searched for each question.
    leaves: dict[str, list[bool]] = {place: [] for place in PLACES}
    for (place, _), score in lowest_scores.items():
        leaves[place].append(score < threshold)
    area = area_under_curve([state.suffices for state in states], scores)
    return Ranked(
        dataset=states[0].dataset,
        states=len(states),
        area=area,
        needless=_mean(leaves["home"]),
        missed=1 - _mean(leaves["web"]),
    )


def _mean(values: Sequence[bool]) -> float:
    """Return the share of true values; 0 if there are no values."""
    return sum(values) / len(values) if values else 0.0


def _train_pair_scorers(datasets: Sequence[Dataset], folder: Path, seed: int) -> list[Callable[..., TreePairScorer]]:
    """For each part of the questions, train the trees that score pairs. They learn from the other part's questions.

    Each result is a function that makes a scorer from the statistics of an index.
    """
    all_pools: list[Pool] = []
    for dataset in datasets:
        with dataset.open_index(at_least=FEWEST_QUESTIONS) as (questions, store):
            all_pools += pools(dataset.name, questions, store)
    scorers: list[Callable[..., TreePairScorer]] = []
    for part in range(_PARTS):
        file = folder / f"pairs-{part}.json"
        others = [pool for pool in all_pools if _part_of(pool.question) != part]
        fit_pairs(others, seed, "pair").save_model(file)
        scorers.append(partial(TreePairScorer, str(file)))
    return scorers


def _part_of(question: str) -> int:
    """Return the number of the part, from 0, to which a question belongs. Its text alone decides."""
    return random.Random(question).randrange(_PARTS)


def _run_dataset(
    dataset: Dataset,
    scorers: Sequence[Callable[..., TreePairScorer]],
    reader: Reader,
    seed: int,
    report: Callable[[str], None],
) -> Iterator[FoundSoFar]:
    """Run the questions of a dataset, once for each of :data:`PLACES`, and yield the states of the runs."""
    questions, passages = dataset.read(at_least=FEWEST_QUESTIONS)
    asked = random.Random(seed).sample(questions, min(len(questions), _MOST_QUESTIONS))
    for place in PLACES:
        report(f"Running the questions of {dataset.name} ({place})")
        with ExitStack() as stack:
            stores = {}
            for source, passages_of_source in _divide(passages, asked, place, seed).items():
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="prefrag-train-"))
                store = TantivyDocumentStore(path=folder)
                store.write_documents(passages_of_source)
                stores[source] = store
            scorer_of_part = [make_scorer(stores[LOCAL]) for make_scorer in scorers]
            for question in asked:
                for passages_so_far in _search(question.question, stores):
                    features = sufficiency_features(
                        question.question,
                        passages_so_far,
                        scorer_of_part[_part_of(question.question)],
                        stores[LOCAL],
                        reader,
                    )
                    suffices = set(question.supporting_ids) <= {passage.id for passage in passages_so_far}
                    yield FoundSoFar(dataset.name, place, question.question, as_row(features), suffices)


def _divide(
    passages: Sequence[Document], questions: Iterable[Question], place: str, seed: int
) -> dict[str, list[Document]]:
    """Divide passages between the two sources. ``place``, one of :data:`PLACES`, says where the gold passages go."""
    gold: set[str] = set()
    for question in questions:
        gold.update(question.supporting_ids)
    draw = random.Random(seed)
    passages_of_source: dict[str, list[Document]] = {LOCAL: [], WEB: []}
    for passage in passages:
        # Half of the passages without a source are only in the local one.
        chosen_source = str(passage.meta.get(SPLIT) or draw.choice((LOCAL, LOCAL, WEB, "both")))
        if passage.id in gold and place != "divided":
            chosen_source = LOCAL if place == "home" else WEB
        for source, passages_there in passages_of_source.items():
            if chosen_source in (source, "both"):
                passages_there.append(passage)
    return passages_of_source


def _search(question: str, stores: dict[str, TantivyDocumentStore]) -> Iterator[list[Document]]:
    """Search both sources step by step, as in a run without a language model that always switches to the other source.

    From the second search on, yield the passages that the preferred source has found so far, the newest first.
    """
    sources = {name: make_source(store, _TOP_K) for name, store in stores.items()}
    state = State(question, RunSettings(sources=(LOCAL, WEB), preferred=LOCAL, max_steps=_STEPS))
    # What each search of the preferred source has found.
    results: list[list[Document]] = []
    query: str | None = question
    while query is not None and len(results) < _STEPS:
        local_passages = sources[LOCAL].run(query=query)["documents"]
        results.append(local_passages)
        shown = local_passages
        if len(results) > 1:
            newest_first = {}
            for documents in reversed(results):
                for passage in documents:
                    newest_first[identity(passage)] = passage
            if newest_first:
                yield list(newest_first.values())[:MOST_COMPARED]
            # The other source is first searched for the question itself.
            web_query = question if len(results) == 2 else query
            shown = sources[WEB].run(query=web_query)["documents"] or local_passages
        searches = (Search(LOCAL, query, tuple(local_passages)),)
        step = Step(Action.SEARCH, query=query, by_code=True, searches=searches, documents=tuple(shown), observed=True)
        state = state.with_step(step)
        query = next_query(state)
