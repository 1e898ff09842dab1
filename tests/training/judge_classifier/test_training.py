"""From questions and a corpus to trees that judge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from typer.testing import CliRunner

import prefrag.training.judge_classifier.training
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.judge.switch_features import FEATURES, TEXT_FEATURES, switch_features
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.trees import load_trees
from prefrag.evaluation.question import Question
from prefrag.training.dataset import Dataset
from prefrag.training.judge_classifier import train_judge
from prefrag.training.judge_classifier.steps import RememberedTerms, simulated_steps, two_sources
from prefrag.training.judge_classifier.training import HeldBack, TrainingStep, fit, training_steps
from prefrag.training.tree_training import Training
from tests.components.samples import document, found, search_step, state
from tests.for_each import for_each
from tests.training.judge_classifier.houses import records as home_records
from tests.training.towns import TOWNS, write_lines, write_rivers

pytest.importorskip("xgboost")


def written(folder: Path, count: int = 30, sources: tuple[str, ...] = ("local", "web")) -> Dataset:
    places = [(sources[place % len(sources)], sources[place // 2 % len(sources)]) for place in range(count)]
    return write_rivers(folder, places)


class TestSteps:
    QUESTION = Question("q", "How long is the river of Alpha?", ("9 miles",), supporting_ids=("alpha", "beta"))
    ALPHA = document("alpha", content="Alpha is a town on the river Beta.")
    BETA = document("beta", content="Beta is a river of 9 miles.")

    def steps(self, local: list[Any], web: list[Any], **settings: Any) -> list[tuple[int, bool]]:
        passages = [
            document(passage.id, content=passage.content, source_split=split)
            for split, group in (("local", local), ("web", web))
            for passage in group
        ]
        texts = {passage.id: passage for passage in passages}
        with two_sources(passages, seed=1) as sources:
            return [(step.step, step.keep) for step in simulated_steps([self.QUESTION], sources, texts, **settings)]

    def test_end_when_all_gold_passages_have_been_shown(self):
        other = document("gamma", content="Gamma is a hill.")

        assert self.steps([self.ALPHA, self.BETA], [other]) == [(0, True)]

    def test_steps_after_a_switch_and_after_an_unjudged_first_search(self):
        verdicts = self.steps([document("gamma", content="The river of Gamma."), self.BETA], [self.ALPHA], top_k=1)

        assert verdicts[0] == (0, False)
        assert verdicts[-1] == (2, True)

        local, web = [document("gamma", content="How long is the river of Gamma?")], [self.ALPHA, self.BETA]

        later_verdicts = self.steps(local, web, top_k=1, judge_first_step=False)

        assert later_verdicts[0] == (0, False)
        assert all(not keep for _, keep in later_verdicts)

    def test_mark_the_needed_passages_and_hold_the_features_of_each(self):
        passages = [
            document(passage.id, content=passage.content, source_split=split)
            for passage, split in (
                (self.ALPHA, "local"),
                (self.BETA, "local"),
                (document("gamma", content="A hill."), "web"),
            )
        ]
        with two_sources(passages, seed=1) as sources:
            (step,) = simulated_steps([self.QUESTION], sources, {passage.id: passage for passage in passages})
            served = switch_features(
                self.QUESTION.question, step.query, step.passages, step.observed, step.step, sources.local
            )

        assert step.needed == (True, True)
        assert list(step.features) == served

    def test_a_corpus_is_divided_anew_whatever_its_passages_hold(self):
        passages = [document(name, content="A town.", source_split="both") for name in TOWNS]

        def held(**settings: Any) -> tuple[int, int]:
            with two_sources(passages, seed=1, **settings) as sources:
                return sources.local.count_documents(), sources.web.count_documents()

        assert held() == (len(TOWNS), len(TOWNS))
        assert sum(held(draw_all=True)) < 2 * len(TOWNS)


@for_each(
    "split, message",
    ("Web", "has the source 'Web': set one of local, web, both, or leave it out"),
    ("local", "The source 'web' would be empty"),
)
def test_an_unknown_and_an_empty_source_are_refused(split: str, message: str):
    passages = [document("alpha", source_split="local"), document("beta", source_split=split)]
    with pytest.raises(ValueError, match=message):
        two_sources(passages, seed=1).__enter__()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return written(tmp_path_factory.mktemp("dataset"))


@pytest.fixture(scope="module")
def trained(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Training[HeldBack]:
    return train_judge([dataset], tmp_path_factory.mktemp("trained") / "trees.json", seed=3)


@pytest.mark.slow
def test_a_seed_decides_the_file(dataset: Dataset, trained: Training[HeldBack], tmp_path: Path):
    again, other = (tmp_path / f"{name}.json" for name in ("again", "other"))

    train_judge([dataset], again, seed=3)
    train_judge([dataset], other, seed=4)

    assert trained.output.read_bytes() == again.read_bytes() != other.read_bytes()
    assert trained.questions == 30
    assert [part.dataset for part in trained.held_back] == [dataset.name]
    assert sorted(file.name for file in tmp_path.glob("*.json")) == ["again.json", "other.json"]


def test_trained_trees_judge_and_have_ranges_and_a_card(trained: Training[HeldBack], dataset: Dataset):
    ranges = load_trees(trained.output, FEATURES).ranges

    assert set(ranges) == set(TEXT_FEATURES)
    assert not {"step", "observed_passages", "rank"} & set(ranges), "these depend on settings"
    assert ranges["years"] == (0, 0)
    assert ranges["words"][0] > 3

    card = trained.output.with_name("trees.card.md").read_text(encoding="utf-8")

    assert "`trees.json`: seed 3, 30 questions" in card
    assert f"| {dataset.name} | {trained.held_back[0].steps} |" in card

    passage = document("Zelden", content="Zelden is a town on the river Nedlez.")
    reached = state(search_step("river of Zelden", found(passage)), question="How long is the river of Zelden?")

    assert 0 < TreeJudge(str(trained.output)).estimate(reached)[0] < 1


@pytest.mark.slow
def test_an_interrupted_training_goes_on_where_it_stopped(
    dataset: Dataset, trained: Training[HeldBack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("prefrag.training.judge_classifier.training.fit", fail)
        with pytest.raises(KeyboardInterrupt):
            train_judge([dataset], tmp_path / "trees.json", seed=3)
    with monkeypatch.context() as patched:
        patched.setattr("prefrag.training.judge_classifier.training.training_steps", fail)
        train_judge([dataset], tmp_path / "trees.json", seed=3)

    assert (tmp_path / "trees.json").read_bytes() == trained.output.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["trees.card.md", "trees.json"]


def test_an_index_that_changed_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    runs: list[str | None] = []

    def run(dataset: Dataset, seed: int) -> list[TrainingStep]:
        runs.append(dataset.collection)
        return []

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(prefrag.training.judge_classifier.training, "training_steps", run)
    monkeypatch.setattr(prefrag.training.judge_classifier.training, "fit", stop)
    store = TantivyDocumentStore(path=tmp_path / "indexes" / "own")
    for contents in (["About."], [], ["Changed."]):
        store.write_documents([Document(id=text, content=text) for text in contents])
        with pytest.raises(KeyboardInterrupt):
            train_judge([Dataset(written(tmp_path / "data", 1).questions, None, "own")], tmp_path / "trees.json")

    assert len(runs) == 2


@pytest.mark.slow
def test_files_of_ones_own_are_learnt_from_and_measured(dataset: Dataset, tmp_path: Path):
    lines: list[str] = []
    home = write_lines(tmp_path / "home.jsonl", home_records())

    trained = train_judge([dataset], tmp_path / "trees.json", home=home, on_progress=lines.append)

    assert [part.dataset for part in trained.held_back] == [dataset.name, "home"]
    assert lines[0] == f"Running the questions of {dataset.name} (1 of 2)"
    assert lines[2] == "Running the questions of home (2 of 2)"


@pytest.mark.slow
def test_no_copy_of_a_held_back_question_teaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = (written(tmp_path / name) for name in ("first", "second"))
    # Other ids mean that other questions are held back.
    records = [json.loads(line) for line in second.questions.read_text().splitlines()]
    ids = [record["id"] for record in records]
    write_lines(second.questions, ({**record, "id": key} for record, key in zip(records, reversed(ids), strict=True)))
    taught: list[set[str]] = []
    measured: set[str] = set()
    original = prefrag.training.judge_classifier.training.fit

    def fit(steps: Sequence[TrainingStep], seed: int) -> Any:
        taught.append({sample.step.question for sample in steps})
        return original(steps, seed)

    def measure(name: str, steps: Sequence[TrainingStep], trees: Any) -> HeldBack:
        measured.update(sample.step.question for sample in steps)
        return HeldBack(name, len(steps), 0.0, 0.0)

    with monkeypatch.context() as patched:
        patched.setattr("prefrag.training.judge_classifier.training.fit", fit)
        patched.setattr("prefrag.training.judge_classifier.training._measure", measure)
        train_judge([first, second], tmp_path / "trees.json")

    assert len(measured) > 6, "the two hold back other questions"
    assert not taught[0] & measured
    assert len(taught[1]) == 30, "the trees that are kept have seen all"


def test_two_datasets_of_one_name_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"Two datasets are called '.*/questions'"):
        train_judge([written(tmp_path), written(tmp_path)], tmp_path / "trees.json")


@pytest.mark.slow
def test_few_questions_run_over_divisions_and_without_titles(tmp_path: Path):
    steps = list(training_steps(written(tmp_path), seed=7))

    first = [sample.step for sample in steps if sample.step.question_id == "q-Belbaden" and sample.step.step == 0]
    assert len(first) == 4 * 2 + 2
    assert sum(sample.measures for sample in steps if sample.step.step == 0) == 30
    untitled = [step for step in first if not any(passage.meta["title"] for passage in step.passages)]
    assert len(untitled) == 2


@pytest.mark.slow
def test_a_corpus_without_sources_is_divided(tmp_path: Path):
    dataset = written(tmp_path, sources=("",))

    assert train_judge([dataset], tmp_path / "trees.json").examples > 30


def test_steps_with_one_verdict_teach_nothing():
    passages = [document("alpha", content="The river of Alpha."), document("beta", content="The river of Alpha.")]
    question = Question("q", "How long is the river of Alpha?", ("9 miles",), supporting_ids=("alpha", "beta"))
    with two_sources(
        [replace(passage, meta={**passage.meta, "source_split": "both"}) for passage in passages], seed=1
    ) as sources:
        steps = list(simulated_steps([question], sources, {passage.id: passage for passage in passages}))

    with pytest.raises(ValueError, match=r"A perfect judge keeps the results in each of the 1 steps, so there is noth"):
        fit([TrainingStep("towns", step, measures=True) for step in steps], seed=7)


def test_the_command_reports_the_results(
    dataset: Dataset, trained: Training[HeldBack], monkeypatch: pytest.MonkeyPatch
):
    from prefrag.cli.main import train

    calls: list[Any] = []
    monkeypatch.setattr(
        "prefrag.training.judge_classifier.train_judge", lambda *arguments, **_: calls.append(arguments) or trained
    )
    arguments = ["judge", "--dataset", f"{dataset.questions}:{dataset.corpus}", "--output", "t.json", "--seed", "5"]

    result = CliRunner().invoke(train, arguments)

    assert result.exit_code == 0, result.output
    assert calls == [([dataset], Path("t.json"), 5, None)]
    assert "Trained on 30 questions" in result.output


class Counting:
    """Splits texts into words, and counts the requests."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.words: list[str] = []

    def analyze(self, text: str) -> list[str]:
        self.texts.append(text)
        return text.split()

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, Mapping[str, int]]:
        requested = list(words)
        self.words += requested
        return 10, {word: len(word) for word in requested if word != "absent"}


def test_a_text_is_analysed_and_a_word_counted_once():
    store = Counting()
    terms = RememberedTerms(store)

    assert terms.analyze_many(["a b", "c", "a b"]) == [["a", "b"], ["c"], ["a", "b"]]
    assert terms.analyze("c") == ["c"]
    assert store.texts == ["a b", "c"]

    store = Counting()
    terms = RememberedTerms(store)

    assert terms.document_frequencies([]) == (10, {})
    assert terms.document_frequencies(["yard", "absent"]) == (10, {"yard": 4, "absent": 0})
    assert terms.document_frequencies(["absent", "sea"]) == (10, {"absent": 0, "sea": 3})
    assert store.words == ["yard", "absent", "sea"]
