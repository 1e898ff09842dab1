"""Answers from the rows of tables: those of twelve files, and what is answered at all."""

import json
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag.components.reader.tables.row_answer import answer_from_rows, row_limits
from prefrag.indexing.file_conversion import FileConverter
from tests.components.reader.tables.table_files import write_files
from tests.components.reader.tables.table_passages import STAFF, passage, text_of

QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("table_questions.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """Return the passages of the twelve files."""
    folder = tmp_path_factory.mktemp("tables")
    write_files(folder)
    converter = FileConverter()
    return [passage for path in sorted(folder.iterdir()) for passage in converter.passages(path, path.read_bytes())]


def answer(question: dict[str, Any], documents: list[Document]) -> str | None:
    if (found := answer_from_rows(question["question"], documents)) is None:
        return None
    if question["kind"] == "sum":
        return found.text.split(", the sum of")[0].split(" ")[0].replace(",", "")
    return found.text.split(", counted in")[0] if question["kind"] == "count" else found.text


def test_at_least_38_of_40_cells_are_given_and_no_other(documents: list[Document]) -> None:
    asked = [question for question in QUESTIONS if question["kind"] == "row"]
    answers = [(question, answer(question, documents)) for question in asked]
    shown = [(question, text) for question, text in answers if text is not None]

    assert [question["question"] for question, text in shown if text != question["answer"]] == []
    for question, _ in shown:
        found = answer_from_rows(question["question"], documents)
        assert found is not None
        assert question["row"] in found.sentence
        assert found.sentence in (found.document.content or "")
    assert (len(asked), len(shown) >= 38) == (40, True)


def test_questions_that_no_row_answers_get_no_answer(documents: list[Document]) -> None:
    asked = [question for question in QUESTIONS if question["kind"] == "none"]

    assert len(asked) == 20
    assert [question["question"] for question in asked if answer(question, documents) is not None] == []


def test_of_40_counts_lists_and_sums_none_is_wrong(documents: list[Document]) -> None:
    asked = [question for question in QUESTIONS if question["kind"] in ("count", "list", "sum")]
    answers = {question["question"]: (question["answer"], answer(question, documents)) for question in asked}

    assert len(asked) == 40
    assert {question: texts for question, texts in answers.items() if texts[1] not in (None, texts[0])} == {}
    assert sum(text is not None for _, text in answers.values()) >= 21


def test_an_answer_from_another_row_is_not_even_probable() -> None:
    table = passage(STAFF)
    own, other = "Name: Bob Bell; Department: Yard; Phone: 12", "Name: Ada Stone; Department: Office; Phone: 11"

    assert row_limits("phone of Bob Bell", [own, other, "Some prose."], [table], 0.5) == [0.5, 0.495, 1.0]
    assert row_limits("phone of Bob Bill", [own, other], [table], 0.5) == [0.495, 0.495]


def test_a_long_question_is_not_matched_with_rows() -> None:
    row = "Name: Bob Bell; Department: Yard; Phone: 12"
    question = "phone of Bob Bell, " * 20

    assert text_of(question, passage(STAFF)) is None
    assert row_limits(question, [row, "Some prose."], [passage(STAFF)], 0.5) == [0.495, 1.0]
