"""The questions and the corpus that the authors of PrefRAG name can be read as they are published."""

import json
from pathlib import Path

import pytest

from prefrag.evaluation.datasets import detect, load_questions, read_passages
from tests.for_each import for_each

PUBLISHED = Path(__file__).parent / "published"


@for_each("dataset, kind, answers", ("musique", "", ("Skarvoy", "Skarvoy harbour")), ("bioasq", "yesno", ("yes",)))
def test_questions_have_all_answers_and_their_folders_dataset(dataset: str, kind: str, answers: tuple[str, ...]):
    first, *_ = load_questions(PUBLISHED / "prefrag" / dataset / "test.json")

    assert (first.dataset, first.type, first.answers, first.supporting_ids) == (dataset, kind, answers, ())


def test_id_follows_from_the_question_and_stays_in_another_file(tmp_path: Path):
    whole = load_questions(PUBLISHED / "prefrag" / "musique" / "test.json")
    records = json.loads((PUBLISHED / "prefrag" / "musique" / "test.json").read_text(encoding="utf-8"))
    (tmp_path / "own.json").write_text(json.dumps(records[1:]), encoding="utf-8")

    assert [question.id for question in load_questions(tmp_path / "own.json")] == [whole[1].id] != [whole[0].id]


@for_each("answer", [], [""], ["yes", " "])
def test_a_question_without_an_answer_is_named(tmp_path: Path, answer: list[str]):
    (tmp_path / "own.json").write_text(json.dumps([{"question": "Why?", "answer": answer}]), encoding="utf-8")

    with pytest.raises(ValueError, match=r"own.json, record 1: 'answer' must be a list of texts"):
        load_questions(tmp_path / "own.json")


def test_a_text_as_answer_is_another_format(tmp_path: Path):
    (tmp_path / "own.json").write_text(json.dumps([{"question": "Why?", "answer": "so"}]), encoding="utf-8")

    with pytest.raises(ValueError, match="was not recognised"):
        detect(tmp_path / "own.json")


def test_a_chunk_of_medrag_is_a_passage_without_its_text_twice():
    first, _ = read_passages(PUBLISHED / "medrag" / "pubmed_chunk.jsonl")

    assert (first.id, first.content) == ("pubmed23n0001_0", "Brenholmin binds to BRX-2 in mice.")
    assert first.meta == {"title": "Brenholmin and its receptor."}
