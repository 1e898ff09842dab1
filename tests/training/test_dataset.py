"""The two files that a training reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prefrag.training.dataset import Dataset


def lines(file: Path, *records: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def question(key: str, *gold: str) -> dict[str, Any]:
    return {"id": key, "question": f"What is {key}?", "answers": ["it"], "supporting_ids": list(gold)}


def passage(key: str) -> dict[str, Any]:
    return {"id": key, "title": key, "text": f"About {key}."}


def test_the_two_files_stand_with_a_colon_between_them(tmp_path: Path):
    questions, corpus = lines(tmp_path / "a:b.jsonl", question("q", "p")), lines(tmp_path / "c.jsonl", passage("p"))

    assert Dataset.parse(f"{questions}:{corpus}") == Dataset(questions, corpus)


@pytest.mark.parametrize("text", ["", "a.jsonl", ":a.jsonl", "a.jsonl:"])
def test_one_file_is_not_enough(text: str):
    with pytest.raises(ValueError, match=r"QUESTIONS.jsonl:CORPUS.jsonl"):
        Dataset.parse(text)


def test_a_file_that_is_absent_is_named(tmp_path: Path):
    corpus = lines(tmp_path / "c.jsonl", passage("p"))

    with pytest.raises(FileNotFoundError, match="nowhere"):
        Dataset.parse(f"nowhere.jsonl:{corpus}")


def test_questions_without_gold_passages_are_left_out(tmp_path: Path):
    data = Dataset(
        lines(tmp_path / "q.jsonl", question("one", "p"), question("two")), lines(tmp_path / "c.jsonl", passage("p"))
    )

    questions, passages = data.read()

    assert [one.id for one in questions] == ["one"]
    assert [one.id for one in passages] == ["p"]


def test_a_gold_passage_that_the_corpus_lacks_is_named(tmp_path: Path):
    data = Dataset(lines(tmp_path / "q.jsonl", question("one", "p", "gone")), lines(tmp_path / "c.jsonl", passage("p")))

    with pytest.raises(ValueError, match="'gone' of question 'one'"):
        data.read()


def test_two_passages_with_one_id_are_refused(tmp_path: Path):
    corpus = lines(tmp_path / "c.jsonl", passage("p"), {**passage("p"), "text": "Something else."})
    data = Dataset(lines(tmp_path / "q.jsonl", question("one", "p")), corpus)

    with pytest.raises(ValueError, match=r"c.jsonl holds two passages with the id 'p': give each its own"):
        data.read()


def test_too_few_questions_are_refused(tmp_path: Path):
    data = Dataset(lines(tmp_path / "q.jsonl", question("one", "p")), lines(tmp_path / "c.jsonl", passage("p")))

    with pytest.raises(ValueError, match="has 1 questions .* needs at least 25"):
        data.read(at_least=25)
