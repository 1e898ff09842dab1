"""From questions to trees that classify them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prefrag.components.adaptive_rag.tree_question_classifier import TreeQuestionClassifier
from prefrag.training.dataset import Dataset
from prefrag.training.question_classifier import train_questions
from prefrag.training.question_classifier.labels import LabelledQuestion
from prefrag.training.question_classifier.training import HeldBack, fit
from prefrag.training.tree_training import Training
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.training.question_classifier.river_questions import written
from tests.training.towns import ONE_PASSAGE
from tests.training.towns import TOWNS as ALL_TOWNS

pytest.importorskip("xgboost")

TOWNS = [name for name in ALL_TOWNS if not name.endswith("wick")][:13]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Dataset]:
    """Rivers that take two searches, and towns that take one and are asked for in other words."""
    folder = tmp_path_factory.mktemp("datasets")
    return (
        written(folder / "rivers", towns=TOWNS),
        written(folder / "towns", towns=TOWNS, hops=1, start="Is there a town named"),
    )


@pytest.fixture(scope="module")
def trained(datasets: tuple[Dataset, Dataset], tmp_path_factory: pytest.TempPathFactory) -> Training[HeldBack]:
    output = tmp_path_factory.mktemp("trained") / "trees.json"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PREFRAG_DATA_DIR", str(output.parent / "data"))
        return train_questions(
            datasets[:1], output, single_hop=datasets[1:], measure=datasets[:1], experiment=ONE_PASSAGE
        )


def test_the_trees_classify_what_they_have_learnt(trained: Training[HeldBack]):
    classifier = TreeQuestionClassifier(str(trained.output))

    assert classifier.classify("How long is the river of Zelden?").probabilities["multi_step"] > 0.5
    assert classifier.classify("Is there a town named Zelden?").probabilities["single_step"] > 0.5


def test_trees_are_measured_on_held_back_and_further_questions(trained: Training[HeldBack]):
    rivers, towns = trained.held_back

    assert (rivers.dataset, rivers.questions, rivers.shares["multi_step"]) == ("rivers/questions", 13, 1.0)
    assert (towns.dataset, towns.shares["single_step"], towns.silver) == ("towns/questions", 1.0, 1.0)
    assert (rivers.right, rivers.most_frequent, trained.questions) == (1.0, 1.0, 26)
    assert rivers.without is None, "the other dataset has one class alone"
    assert [(measured.dataset, measured.right) for measured in trained.measured] == [("rivers/questions", 1.0)]


def test_the_card_says_how_trees_do_on_another_dataset(trained: Training[HeldBack]):
    card = trained.output.with_suffix(".card.md").read_text()

    assert "seed 7, 26 questions, answered by simulated" in card
    assert "| rivers/questions | 13 | 0% / 0% / 100% | 100% | 100.0% | 100.0% | - |" in card
    assert "tell the datasets apart" in card


def labelled(dataset: str, question: str, label: Any) -> LabelledQuestion:
    return LabelledQuestion(dataset, question, label, True)


def test_the_trees_know_the_classes_that_occur():
    questions = [labelled("a", f"Is {town} a town?", "no_retrieval") for town in TOWNS]
    questions += [labelled("a", f"Who is the mother of the mayor of {town}?", "multi_step") for town in TOWNS]

    booster = fit(questions, seed=7)

    assert booster.attr("classes") == '["no_retrieval", "multi_step"]'
    assert bytes(booster.save_raw("json")) == bytes(fit(questions, seed=7).save_raw("json"))


def test_one_class_teaches_nothing():
    with pytest.raises(ValueError, match="All 13 questions are of the class single_step: there is nothing to learn"):
        fit([labelled("a", f"Is {town} a town?", "single_step") for town in TOWNS], seed=7)


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    running = FakeModelServer()
    # The model knows one thing by heart.
    running.answers = [(200, completion("Final Answer: Belbaden miles"))]
    yield running
    running.close()


@pytest.mark.slow
def test_the_command_takes_its_labels_from_a_model_server(
    datasets: tuple[Dataset, Dataset], server: FakeModelServer, tmp_path: Path
):
    from prefrag.cli.main import train

    rivers, towns = (f"{dataset.questions}:{dataset.corpus}" for dataset in datasets)
    arguments = ["questions", "--dataset", rivers, "--single-hop", towns, "--output", str(tmp_path / "t.json")]

    result = CliRunner().invoke(train, [*arguments, "--llm", server.url, "--model", "tiny", "--concurrency", "8"])

    assert result.exit_code == 0, result.output
    assert "rivers/questions" in result.output
    assert "(8% / 0% / 92%, 13 questions)" in result.output
    assert "(8% / 92% / 0%, 13 questions)" in result.output
    assert f"set {tmp_path / 't.json'} as `trees` of the TreeQuestionClassifier" in result.output
    distribution = TreeQuestionClassifier(str(tmp_path / "t.json")).classify("Is there a town named Belbaden?")
    assert set(distribution.probabilities) == {"no_retrieval", "single_step", "multi_step"}
    assert (tmp_path / "t-training").is_dir(), "answers of a model are not thrown away"


def test_the_command_reports_the_results(
    datasets: tuple[Dataset, Dataset], trained: Training[HeldBack], monkeypatch: pytest.MonkeyPatch
):
    from prefrag.cli.main import train

    monkeypatch.setattr("prefrag.training.question_classifier.train_questions", lambda *arguments, **named: trained)
    arguments = ["questions", "--dataset", f"{datasets[0].questions}:{datasets[0].corpus}", "--output", "t.json"]

    result = CliRunner().invoke(train, arguments)

    assert result.exit_code == 0, result.output
    assert "rivers/questions: 100.0%; 100.0%; - (0% / 0% / 100%, 13 questions)" in result.output
    assert f"set {trained.output} as `trees` of the TreeQuestionClassifier" in result.output
