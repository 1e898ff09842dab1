"""Train the decision trees that estimate whether what a source has found suffices for a question."""

import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

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
from prefrag.training.card import table, write_card
from prefrag.training.dataset import FEWEST_QUESTIONS, Dataset
from prefrag.training.judge_classifier.steps import make_source
from prefrag.training.pair_classifier.pool import Pool, pools
from prefrag.training.pair_classifier.trees import fit as fit_pairs
from prefrag.training.tree_training import Training, TreeTraining, fit_trees

LOCAL = "local"
WEB = "web"
# Where the passages that a question needs are: all at home, all only on the web, or as the corpus is divided.
PLACES = ("home", "web", "divided")
SETTINGS: dict[str, Any] = {
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
ROUNDS = 120
# The estimate only rises with what passages hold and with the reader's certainty, and only falls with the names that
# they lack. So passages unlike those of the training cannot turn it round.
_DIRECTIONS = {
    **dict.fromkeys(("pair", "one_covers", "pair_covers", "three_cover", "all_cover", "answer"), 1),
    **dict.fromkeys(("absent_names", "absent_in_pair", "words"), -1),
}
_MOST_QUESTIONS = 150  # of each dataset
_STEPS = 4  # searches of a run
_TOP_K = 5  # passages of a search
_PARTS = 2  # the pair trees that score a question have learnt from the questions of the other part


@dataclass(frozen=True)
class FoundSoFar:
    """What the searches of the preferred source have found in a run, and whether that is all the question needs."""

    dataset: str
    place: str  # one of `PLACES`
    question: str
    row: tuple[float, ...]  # the features, see `sufficiency_features`
    suffices: bool


@dataclass(frozen=True)
class Ranked:
    """How well trees tell sufficient from insufficient passages in a dataset that they did not learn from.

    The trees of pairs, whose score is one of the features, have learnt from the other half of the dataset's questions.
    """

    dataset: str
    states: int
    area: float  # the area under the ROC curve, 0 to 1
    needless: float  # the share of questions with everything at home for which another source would be asked
    missed: float  # the share of questions with everything on the web for which it would never be asked


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
    :param threshold: The probability from which passages count as sufficient in the measures.
    :param seed: The seed of all random choices.
    :param on_progress: Is called with lines of progress.
    :returns: The results. The measures of a dataset are of trees that learnt from the other datasets.
    :raises ValueError: When there is nothing to learn.
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
    for dataset in datasets if len(datasets) > 1 else ():
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


def fit(states: Sequence[FoundSoFar], seed: int) -> Any:
    """Train trees on states. Each dataset weighs the same.

    Each state counts twice, with the reader's answer and without it: the trees also have to judge where no reader is.
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
    row = list(state.row)
    row[FEATURES.index("answer")] = math.nan
    return replace(state, row=tuple(row))


def measure(booster: Any, states: Sequence[FoundSoFar], threshold: float) -> Ranked:
    """Measure trees on the states of one dataset. Questions for which nothing is found at home have no state.

    :param booster: The trees.
    :param states: The states.
    :param threshold: The probability from which passages count as sufficient.
    """
    rows = np.array([state.row for state in states], np.float32)
    scores = [float(score) for score in booster.inplace_predict(rows)]
    lowest: dict[tuple[str, str], float] = {}
    for state, score in zip(states, scores, strict=True):
        key = (state.place, state.question)
        lowest[key] = min(score, lowest.get(key, 1.0))
    leaves: dict[str, list[bool]] = {place: [] for place in PLACES}
    for (place, _), score in lowest.items():
        leaves[place].append(score < threshold)
    area = area_under_curve([state.suffices for state in states], scores)
    return Ranked(states[0].dataset, len(states), area, _mean(leaves["home"]), 1 - _mean(leaves["web"]))


def area_under_curve(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """Compute how often a positive has a higher score than a negative; equal scores count half.

    :returns: The area under the ROC curve, from 0 to 1; 0.5 if one of the classes is empty.
    """
    positive = np.array([score for label, score in zip(labels, scores, strict=True) if label])
    negative = np.array([score for label, score in zip(labels, scores, strict=True) if not label])
    if not len(positive) or not len(negative):
        return 0.5
    return float((positive[:, None] > negative).mean() + (positive[:, None] == negative).mean() / 2)


def _mean(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


def _train_pair_scorers(datasets: Sequence[Dataset], folder: Path, seed: int) -> list[Callable[..., TreePairScorer]]:
    """Train trees of pairs for each part of the questions, on the questions of the other part."""
    gathered: list[Pool] = []
    for dataset in datasets:
        with dataset.open_index(at_least=FEWEST_QUESTIONS) as (questions, store):
            gathered += pools(dataset.name, questions, store)
    scorers: list[Callable[..., TreePairScorer]] = []
    for part in range(_PARTS):
        file = folder / f"pairs-{part}.json"
        others = [pool for pool in gathered if _part_of(pool.question) != part]
        fit_pairs(others, seed, "pair").save_model(file)
        scorers.append(partial(TreePairScorer, str(file)))
    return scorers


def _part_of(question: str) -> int:
    return random.Random(question).randrange(_PARTS)


def _run_dataset(
    dataset: Dataset,
    scorers: Sequence[Callable[..., TreePairScorer]],
    reader: Reader,
    seed: int,
    report: Callable[[str], None],
) -> Iterator[FoundSoFar]:
    questions, passages = dataset.read(at_least=FEWEST_QUESTIONS)
    asked = random.Random(seed).sample(questions, min(len(questions), _MOST_QUESTIONS))
    for place in PLACES:
        report(f"Running the questions of {dataset.name} ({place})")
        with ExitStack() as stack:
            sources = {}
            for source, own in _divide(passages, asked, place, seed).items():
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="prefrag-train-"))
                store = TantivyDocumentStore(path=folder)
                store.write_documents(own)
                sources[source] = store
            scored = [make(sources[LOCAL]) for make in scorers]
            for question in asked:
                for passages_so_far in _search(question.question, sources):
                    features = sufficiency_features(
                        question.question,
                        passages_so_far,
                        scored[_part_of(question.question)],
                        sources[LOCAL],
                        reader,
                    )
                    suffices = set(question.supporting_ids) <= {passage.id for passage in passages_so_far}
                    yield FoundSoFar(dataset.name, place, question.question, as_row(features), suffices)


def _divide(
    passages: Sequence[Document], questions: Iterable[Question], place: str, seed: int
) -> dict[str, list[Document]]:
    gold = {passage_id for question in questions for passage_id in question.supporting_ids}
    draw = random.Random(seed)
    divided: dict[str, list[Document]] = {LOCAL: [], WEB: []}
    for passage in passages:
        own = str(passage.meta.get(SPLIT) or draw.choice((LOCAL, LOCAL, WEB, "both")))
        if passage.id in gold and place != "divided":
            own = LOCAL if place == "home" else WEB
        for source in divided:
            if own in (source, "both"):
                divided[source].append(passage)
    return divided


def _search(question: str, stores: dict[str, TantivyDocumentStore]) -> Iterator[list[Document]]:
    """Search both sources step by step as a run without a language model does that always switches.

    Yields what the preferred source has found so far, from the second search on, the newest first.
    """
    sources = {name: make_source(store, _TOP_K) for name, store in stores.items()}
    state = State(question, RunSettings(sources=(LOCAL, WEB), preferred=LOCAL, max_steps=_STEPS))
    searched: list[list[Document]] = []
    query: str | None = question
    while query is not None and len(searched) < _STEPS:
        local = sources[LOCAL].run(query=query)["documents"]
        searched.append(local)
        shown = local
        if len(searched) > 1:
            newest = {identity(passage): passage for documents in reversed(searched) for passage in documents}
            if newest:
                yield list(newest.values())[:MOST_COMPARED]
            # Code asks another source the question first.
            at_web = question if len(searched) == 2 else query
            shown = sources[WEB].run(query=at_web)["documents"] or local
        searches = (Search(LOCAL, query, tuple(local)),)
        step = Step(Action.SEARCH, query=query, by_code=True, searches=searches, documents=tuple(shown), observed=True)
        state = state.with_step(step)
        query = next_query(state)
