import json
from pathlib import Path

import pytest

from prefrag.evaluation.datasets import load_questions
from tests.for_each import for_each

FOLDER = Path(__file__).parent / "published" / "ircot"


@for_each("dataset, kind", ("hotpotqa", "bridge"), ("2wikimultihopqa", ""), ("musique", "2hop"))
def test_a_question_of_each_dataset(dataset: str, kind: str) -> None:
    [question] = load_questions(FOLDER / dataset / "test_subsampled.jsonl")
    assert (question.dataset, question.type) == (dataset, kind)
    assert question.answers == (("Brenholm",) if dataset == "2wikimultihopqa" else ("4,120",))
    assert len(question.supporting_ids) == 2
    assert set(question.supporting_ids) < set(question.candidate_ids)


def test_every_span_counts_as_right_once(tmp_path: Path) -> None:
    record = json.loads((FOLDER / "hotpotqa" / "test_subsampled.jsonl").read_text())
    record["answers_objects"] = [{"spans": ["4,120", "4120"]}, {"spans": ["4,120"]}]
    (tmp_path / "i.jsonl").write_text(json.dumps(record))
    assert load_questions(tmp_path / "i.jsonl")[0].answers == ("4,120", "4120")


def test_a_context_given_twice_is_gold_when_one_of_them_is(tmp_path: Path) -> None:
    record = json.loads((FOLDER / "hotpotqa" / "test_subsampled.jsonl").read_text())
    gold = next(context for context in record["contexts"] if context["is_supporting"])
    (tmp_path / "once.jsonl").write_text(json.dumps(record))
    record["contexts"].append({**gold, "is_supporting": False})
    (tmp_path / "twice.jsonl").write_text(json.dumps(record))

    once, twice = (load_questions(tmp_path / f"{name}.jsonl")[0].supporting_ids for name in ("once", "twice"))

    assert twice == once


@for_each("answers", [], [{"spans": []}], [{"spans": [""]}])
def test_a_question_without_an_answer_is_named(tmp_path: Path, answers: list[object]) -> None:
    record = json.loads((FOLDER / "hotpotqa" / "test_subsampled.jsonl").read_text())
    (tmp_path / "i.jsonl").write_text(json.dumps({**record, "answers_objects": answers}))
    with pytest.raises(ValueError, match=r"i.jsonl, line 1: 'answers_objects' must hold spans"):
        load_questions(tmp_path / "i.jsonl")


def test_the_folder_names_the_dataset_where_the_ids_do_not(tmp_path: Path) -> None:
    record = json.loads((FOLDER / "2wikimultihopqa" / "test_subsampled.jsonl").read_text())
    file = tmp_path / "2wikimultihopqa" / "dev_subsampled.jsonl"
    file.parent.mkdir()
    file.write_text(json.dumps({**record, "question_id": "odd"}))
    assert load_questions(file)[0].dataset == "2wikimultihopqa"
