"""From questions and a corpus to trees that choose passages together."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
from haystack import Document
from typer.testing import CliRunner

import prefrag.training.pair_classifier.trees
from prefrag.cli.main import train
from prefrag.collections import indexing
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.loop.question_as_query import QuestionAsQuery
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.pair_classifier.pair_features import pair_features
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.state.state_builder import StateBuilder
from prefrag.training.dataset import Dataset
from prefrag.training.pair_classifier import Pool, Recall, fit, pools, recall, shares_found, train_pairs
from prefrag.training.pair_classifier.pool import linked_retrieval
from prefrag.training.pair_classifier.trees import DRAWN, label_pairs
from prefrag.training.tree_training import Training
from tests.training.pair_classifier.letters import pool
from tests.training.towns import TOWNS, ask_for_river, river, write_dataset

pytest.importorskip("xgboost")

NOISE = ("mill", "bridge", "harvest", "winter", "market", "chapel", "meadow", "orchard")


def written(folder: Path, count: int = 30, gold: int = 2) -> Dataset:
    """Questions on the river of a town, which a passage on the town names, between passages that name the town."""
    draw = random.Random(1)
    questions, passages = [], []
    for town in TOWNS[:count]:
        text = f"{town} lies on the river {river(town)}, with a {draw.choice(NOISE)}."
        passages += [
            {"id": town, "title": town, "text": text},
            {"id": f"r-{town}", "title": river(town), "text": f"Of {draw.choice(NOISE)} and many miles."},
            *(
                {"id": f"n-{town}-{n}", "title": f"The {word} {n}", "text": f"A long {word} by a river, near {town}."}
                for n, word in enumerate(draw.sample(NOISE, 4))
            ),
        ]
        questions.append(ask_for_river(town, *[town, f"r-{town}", f"n-{town}-1"][:gold]))
    return write_dataset(folder, questions, passages)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return written(tmp_path_factory.mktemp("dataset"))


@pytest.fixture(scope="module")
def trained(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Training[Recall]:
    return train_pairs([dataset], tmp_path_factory.mktemp("trained") / "trees.json", seed=7)


@pytest.mark.slow
def test_no_copy_of_a_held_back_question_teaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    datasets = [written(tmp_path / name) for name in ("first", "second")]
    original, taught = prefrag.training.pair_classifier.trees.fit, list[set[str]]()

    def fit(gathered: Sequence[Pool], seed: int, label: Any) -> Any:
        taught.append({pool.question for pool in gathered})
        return original(gathered, seed, label)

    def measure(gathered: Sequence[Pool], booster: Any, label: Any) -> tuple[float, float, float]:
        assert not taught[-1] & {pool.question for pool in gathered}
        return 0.0, 0.0, 0.0

    monkeypatch.setattr(prefrag.training.pair_classifier.trees, "fit", fit)
    monkeypatch.setattr(prefrag.training.pair_classifier.trees, "recall", measure)
    train_pairs(datasets, tmp_path / "trees.json")

    assert len(taught) == 6
    assert len(taught[-1]) == 30, "the trees that are kept have seen all"


@pytest.fixture(scope="module")
def gathered(dataset: Dataset) -> list[Pool]:
    with dataset.open_index() as (questions, store):
        return list(pools("rivers", questions, store))


def test_trees_learn_which_passages_belong_together(trained: Training[Recall]):
    [measured] = trained.held_back
    assert (trained.questions, measured.questions) == (30, 30)
    assert measured.after > 0.95 > measured.before
    first, second, other = (
        {"title": "Aldham", "text": "Aldham lies on the river Wensum."},
        {"title": "Wensum", "text": "Of winter and many miles."},
        {"title": "The mill", "text": "A long mill by a river, near Aldham."},
    )
    town, water, mill = (
        Document(content=record["text"], meta={"title": record["title"]}) for record in (first, second, other)
    )
    scores = TreePairScorer(str(trained.output)).score(
        "How long is the river of Aldham?", [(town, water), (town, mill)]
    )
    assert scores[0] > 0.5 > scores[1]


@pytest.mark.slow
def test_a_seed_decides_the_file(dataset: Dataset, trained: Training[Recall], tmp_path: Path):
    again, other = (tmp_path / f"{name}.json" for name in ("again", "other"))
    train_pairs([dataset], again, seed=7)
    train_pairs([dataset], other, seed=2)

    assert trained.output.read_bytes() == again.read_bytes() != other.read_bytes()
    assert sorted(file.name for file in tmp_path.glob("*.json")) == ["again.json", "other.json"]


def test_training_and_serving_count_the_same(dataset: Dataset):
    class Recorder:
        together = True

        def __init__(self, store: TantivyDocumentStore):
            self.store = store
            self.rows: Any = None

        def score(self, question: str, pairs: Any) -> list[float]:
            self.rows = pair_features(question, pairs, self.store)
            return [0.0] * len(pairs)

    with dataset.open_index() as (questions, store):
        engine = Recorder(store)
        served = linked_retrieval(store, PairClassifier(engine, "fill"))
        for question, pool in zip(questions[:3], pools("rivers", questions[:3], store), strict=True):
            state = StateBuilder(["local"], "local").run(question.question)["state"]
            served.run(QuestionAsQuery().run(state)["state"])
            assert np.array_equal(engine.rows, pool.features)
            assert any(first.id in pool.gold and second.id in pool.gold for first, second in pool.pairs)


@pytest.mark.slow
def test_recall_counts_at_most_as_many_as_are_looked_at(gathered: list[Pool]):
    booster = fit(gathered, seed=1)

    before, after = shares_found(gathered, booster, k=1)

    assert 0 <= mean(before) <= 1
    assert mean(after) > 0.95


def test_pair_trees_select_what_is_needed_together(gathered: list[Pool]):
    booster = fit(gathered[:20], seed=1, label="pair")

    before, after, documents = recall(gathered[20:], booster, "pair")

    assert after > 0.95 > before
    # Three of the first stage, and the one that is needed of the six that would fit.
    assert documents < 4.5


@pytest.mark.slow
def test_questions_with_one_gold_passage_teach_nothing(tmp_path: Path):
    with pytest.raises(ValueError, match="no two gold passages together"):
        train_pairs([written(tmp_path, gold=1)], tmp_path / "trees.json")
    assert not (tmp_path / "trees.json").exists()


def test_a_corpus_of_gold_passages_alone_teaches_nothing(gathered: list[Pool]):
    only_gold = [
        replace(pool, gold=frozenset(document.id for pair in pool.pairs for document in pair))
        for pool in gathered
        if pool.pairs
    ]

    with pytest.raises(ValueError, match="only gold passages"):
        fit(only_gold, seed=1)


def test_the_command_reports_the_results(dataset: Dataset, trained: Training[Recall], monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []
    monkeypatch.setattr(
        "prefrag.training.pair_classifier.train_pairs", lambda *arguments, **_: calls.append(arguments) or trained
    )
    arguments = ["pairs", "--dataset", f"{dataset.questions}:{dataset.corpus}", "--output", "t.json", "--seed", "5"]
    arguments += ["--label", "pair"]

    called = CliRunner().invoke(train, arguments, terminal_width=200)

    assert called.exit_code == 0, called.output
    assert calls == [([dataset], Path("t.json"), "pair", 5)]
    assert "(30 questions)" in called.output
    assert "dr_rag_cfs.yaml" in called.output


@pytest.mark.slow
@pytest.mark.parametrize("corpus", [None, "rivers"], ids=["file", "index"])
def test_the_command_trains_on_a_file_and_on_an_index(dataset: Dataset, tmp_path: Path, corpus: str | None):
    if corpus:
        indexing.index([dataset.corpus], LocalCollection(corpus))
    file = tmp_path / "trees.json"

    called = CliRunner().invoke(
        train,
        ["pairs", "--dataset", f"{dataset.questions}:{corpus or dataset.corpus}", "--output", str(file)],
        terminal_width=200,
    )

    assert called.exit_code == 0, called.output
    assert "(30 questions)" in called.output
    assert file.stat().st_size > 1000


def test_a_gold_passage_that_the_index_lacks_is_named(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "few.jsonl").write_text('{"id": "Belbaden", "title": "B", "text": "b"}\n', encoding="utf-8")
    indexing.index([tmp_path / "few.jsonl"], LocalCollection("few"))

    with pytest.raises(ValueError, match=r"collection 'few' lacks 59 gold passages"):
        train_pairs([Dataset.parse(f"{dataset.questions}:few")], tmp_path / "trees.json")


def test_a_pair_is_positive_when_both_documents_are_needed():
    labels, _ = label_pairs([pool("ab ba ac cd", gold="ab")])

    assert list(labels) == [1, 1, 0, 0]


def test_labels_negatives_and_datasets_weigh_the_same():
    _, weights = label_pairs([pool("ab ac ad bc cd de", gold="ab")])
    assert weights[0] == pytest.approx(weights[1:].sum())
    assert weights[1:4].sum() == pytest.approx(weights[4:].sum())
    assert weights.sum() == pytest.approx(DRAWN)

    _, weights = label_pairs([pool("ab ac cd", "ab", "few"), *(pool("ab ac cd ce", "ab", "many") for _ in range(9))])
    assert weights[:3].sum() == pytest.approx(weights[3:].sum()), "few questions weigh as much as many"
