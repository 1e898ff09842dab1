import json
from pathlib import Path

import pytest

from prefrag.evaluation.datasets import load_questions, read_passages
from prefrag.evaluation.question import Question
from tests.for_each import for_each

FILE = Path(__file__).parent / "published" / "bioasq" / "11B1_golden.json"


def test_only_yes_no_questions_are_read() -> None:
    first, second = load_questions(FILE)
    assert first == Question(
        id="5e47656935b8f0833c000004",
        question="Is quillase inhibited by brenholmin?",
        answers=("yes",),
        type="yesno",
        # The third abstract has no snippet, so the file has no text of it.
        supporting_ids=("22222222", "11111111"),
        candidate_ids=("22222222", "11111111"),
        dataset="bioasq",
    )
    assert (second.answers, second.supporting_ids) == (("no",), ("44444444", "22222222"))


def test_passage_is_all_snippets_of_an_abstract_once(tmp_path: Path) -> None:
    """Without any snippet, the listed abstracts are gold."""

    passages = {passage.id: passage for passage in read_passages(FILE)}
    assert list(passages) == ["22222222", "11111111", "44444444"]
    assert passages["22222222"].content == "Brenholmin inhibits quillase in vitro. No other enzyme was affected."
    assert passages["22222222"].meta == {"title": "PMID 22222222"}
    record = json.loads(FILE.read_text())["questions"][0]
    (tmp_path / "b.json").write_text(json.dumps({"questions": [{**record, "snippets": []}]}))
    assert load_questions(tmp_path / "b.json")[0].supporting_ids == ("11111111", "22222222", "33333333")


@for_each("answer", "Yes", "yes.", ["yes"], " YES ")
def test_the_answer_is_read_however_a_year_writes_it(tmp_path: Path, answer: object) -> None:
    record = json.loads(FILE.read_text())["questions"][0]
    (tmp_path / "b.json").write_text(json.dumps({"questions": [{**record, "exact_answer": answer}]}))
    assert load_questions(tmp_path / "b.json")[0].answers == ("yes",)


@for_each(
    "changes, reason",
    ({"exact_answer": "maybe"}, "'exact_answer' must be yes or no, not 'maybe'"),
    ({"exact_answer": None}, "'exact_answer' must be yes or no, not None"),
    ({"exact_answer": [["yes"]]}, "'exact_answer' must be yes or no"),
    ({"snippets": [{"text": "No address."}]}, "it lacks 'document'"),
    # As in a test set without answers.
    ({}, "it lacks 'exact_answer'"),
)
def test_a_question_of_another_form_is_named(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    other, record = json.loads(FILE.read_text())["questions"][1:]
    changed = {**record, **changes} if changes else {key: record[key] for key in record if key != "exact_answer"}
    (tmp_path / "b.json").write_text(json.dumps({"questions": [other, changed]}))
    with pytest.raises(ValueError, match=f"b.json, question 2: {reason}"):
        load_questions(tmp_path / "b.json")
