"""Labelling a question with the simplest strategy that answers it."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.components.adaptive_rag.question_classifier import QuestionClass
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.pipelines.loading import find, read_block
from prefrag.pipelines.replacing import replace_parts
from prefrag.training.dataset import Dataset
from prefrag.training.question_classifier.labels import LabelledQuestion, choose_label, label_dataset, read_single_hop
from tests.evaluation.answering import AnsweringChatGenerator
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import write_yaml
from tests.training.question_classifier.river_questions import TOWNS, written
from tests.training.towns import ONE_PASSAGE, write_lines

# With one passage per retrieval, the simulated reader has to search several times.


@for_each(
    "right, bias, expected",
    ({"no_retrieval": True, "single_step": True, "multi_step": True}, "multi_step", ("no_retrieval", True)),
    ({"no_retrieval": False, "single_step": True, "multi_step": True}, "multi_step", ("single_step", True)),
    ({"no_retrieval": False, "single_step": False, "multi_step": True}, "single_step", ("multi_step", True)),
    # A strategy with more retrieval may be worse.
    ({"no_retrieval": True, "single_step": False, "multi_step": False}, "multi_step", ("no_retrieval", True)),
    ({"no_retrieval": False, "single_step": False, "multi_step": False}, "single_step", ("single_step", False)),
    ({"no_retrieval": False, "single_step": False, "multi_step": False}, "multi_step", ("multi_step", False)),
)
def test_a_label_is_the_simplest_right_strategy_or_the_datasets(
    right: dict[QuestionClass, bool], bias: QuestionClass, expected: tuple[str, bool]
):
    assert choose_label(right, bias) == expected


@pytest.mark.parametrize(("hops", "expected"), [(1, "single_step"), (2, "multi_step")])
def test_the_simulated_reader_shows_how_often_one_has_to_search(tmp_path: Path, hops: int, expected: str):
    dataset = written(tmp_path / "towns", hops=hops)

    labelled = label_dataset(dataset, "single_step", ONE_PASSAGE, tmp_path / "runs")

    assert [(question.label, question.silver) for question in labelled] == [(expected, True)] * 3
    assert {question.dataset for question in labelled} == {"towns/questions"}
    assert labelled[0].question == "How long is the river of Belba?"


def strategy(folder: Path, name: str, right: list[str], others: str = "something else", failures: int = 0) -> str:
    """A pipeline whose model answers questions on these towns correctly."""
    answers = {f"river of {town}?": f"{town} miles" if town in right else others for town in TOWNS}
    block = replace_parts(
        read_block(find(name)), {"ChatModel": AnsweringChatGenerator(answers, dict.fromkeys(answers, failures))}
    )
    file = folder / f"{name}.yaml"
    file.write_text(write_yaml(block), encoding="utf-8")
    return str(file)


def test_labels_of_a_model_say_what_it_knows_by_heart(tmp_path: Path):
    dataset = written(tmp_path / "towns")
    strategies: dict[QuestionClass, str] = {
        "no_retrieval": strategy(tmp_path, "no_retrieval", ["Belba"]),
        "single_step": strategy(tmp_path, "vanilla_local", ["Belba", "Cormo"]),
    }

    labelled = label_dataset(dataset, "multi_step", Experiment(), tmp_path / "runs", strategies)

    assert [(question.label, question.silver) for question in labelled] == [
        ("no_retrieval", True),
        ("single_step", True),
        ("multi_step", False),
    ]


def label_by_heart(folder: Path, right: list[str], *others: Any) -> list[LabelledQuestion]:
    """Label with a model that also answers without retrieval."""
    strategies: dict[QuestionClass, str] = {"no_retrieval": strategy(folder, "no_retrieval", right, *others)}
    return label_dataset(written(folder / "towns"), "multi_step", Experiment(), folder / "runs", strategies)


def test_an_answer_that_only_contains_the_right_one_is_not_right(tmp_path: Path):
    (first, *_) = label_by_heart(tmp_path, [], "many Belba miles")

    assert (first.label, first.silver) == ("multi_step", False)


def test_questions_that_were_answered_are_not_answered_again(tmp_path: Path):
    assert label_by_heart(tmp_path, TOWNS) == label_by_heart(tmp_path, TOWNS)
    assert len(CALLS["questions"]) == 3


def test_failed_questions_stop_the_training_until_the_next_call(tmp_path: Path):
    message = r"3 questions of towns/questions failed with no_retrieval.*the server is down"
    with pytest.raises(ValueError, match=message):
        label_by_heart(tmp_path, TOWNS, "", 2)

    assert {question.label for question in label_by_heart(tmp_path, TOWNS, "", 2)} == {"no_retrieval"}


def test_a_dataset_without_a_corpus_is_refused(tmp_path: Path):
    dataset = Dataset(tmp_path / "questions.jsonl", None, "mydocs")

    with pytest.raises(ValueError, match="has no corpus: give QUESTIONS.jsonl:CORPUS.jsonl"):
        label_dataset(dataset, "multi_step", ONE_PASSAGE, tmp_path / "runs")


class TestReading:
    def test_is_of_one_step_and_each_question_counts_once(self, tmp_path: Path):
        lines = [{"question": f"What is thing {number % 8}?", "text": "..."} for number in range(16)]

        labelled = read_single_hop(write_lines(tmp_path / "reading.jsonl", lines), seed=7)

        assert len(labelled) == 8
        assert {(question.label, question.silver) for question in labelled} == {("single_step", False)}

    def test_of_many_questions_some_are_drawn_by_the_seed(self, tmp_path: Path):
        file = write_lines(
            tmp_path / "reading.jsonl", [{"question": f"What is thing {number}?"} for number in range(50)]
        )

        assert len(read_single_hop(file, seed=7, most=10)) == 10
        assert read_single_hop(file, seed=7, most=10) == read_single_hop(file, seed=7, most=10)
        assert read_single_hop(file, seed=7, most=10) != read_single_hop(file, seed=8, most=10)

    @for_each("line", {"text": "..."}, ["Who?"])
    def test_a_line_without_a_question_is_named(self, tmp_path: Path, line: Any):
        with pytest.raises(ValueError, match=r"reading\.jsonl, line 2: give a JSON object with a `question`"):
            read_single_hop(write_lines(tmp_path / "reading.jsonl", [{"question": "Who?"}, line]), seed=7)
