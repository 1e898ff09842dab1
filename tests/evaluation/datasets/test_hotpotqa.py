import json
from pathlib import Path

import pytest

from prefrag.evaluation.datasets import load_questions, read_passages
from prefrag.evaluation.question import Question
from tests.for_each import for_each

FOLDER = Path(__file__).parent / "published" / "hotpotqa"


def test_a_question_of_the_distractor_setting() -> None:
    first, second = load_questions(FOLDER / "hotpot_dev_distractor_v1.json")
    assert first == Question(
        id="5a7f00b455429930675135f1",
        question="How many people live in the town that Ada Quill came from?",
        answers=("4,120",),
        type="bridge",
        supporting_ids=("Ada Quill", "Brenholm"),
        candidate_ids=("Sorne", "Brenholm", "Tom & Quill", "Ada Quill"),
        dataset="hotpotqa",
    )
    assert second.is_yes_no


def test_gold_passage_that_the_full_wiki_context_lacks_is_named() -> None:
    [question] = load_questions(FOLDER / "hotpot_dev_fullwiki_v1.json")
    assert question.supporting_ids == ("Ada Quill", "Brenholm")
    assert question.candidate_ids == ("Sorne", "Ada Quill")


def test_the_passages_are_the_sentences_joined() -> None:
    passages = {passage.id: passage for passage in read_passages(FOLDER / "hotpot_dev_distractor_v1.json")}
    assert passages["Brenholm"].content == "Brenholm is a harbour town on the river Sorne. It has 4,120 inhabitants."
    assert passages["Brenholm"].meta == {"title": "Brenholm"}
    assert list(passages) == ["Sorne", "Brenholm", "Tom & Quill", "Ada Quill", "Otto Vane"]


def test_the_test_set_without_answers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"hotpot_test_fullwiki_v1.json, record 1: it lacks 'answer'"):
        load_questions(FOLDER / "hotpot_test_fullwiki_v1.json")
    assert len(list(read_passages(FOLDER / "hotpot_test_fullwiki_v1.json"))) == 2


@for_each(
    "changes, reason",
    ({"answer": " "}, "'answer' must be text, and not empty"),
    ({"answer": 4120}, "'answer' must be text, and not empty"),
    ({"context": None}, "does not have the published form"),
    ({"context": [["Brenholm"]]}, "not enough values"),
    ({"context": [[5, ["A town."]]]}, "a title must be text"),
    ({"supporting_facts": [["", 0]]}, "a title must be text, and not empty"),
)
def test_a_record_of_another_form_is_named(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    first, second = json.loads((FOLDER / "hotpot_dev_distractor_v1.json").read_text())
    (tmp_path / "h.json").write_text(json.dumps([first, {**second, **changes}]))
    with pytest.raises(ValueError, match=f"h.json, record 2: .*{reason}"):
        load_questions(tmp_path / "h.json")


def test_a_passage_without_text_is_left_out(tmp_path: Path) -> None:
    first, _ = json.loads((FOLDER / "hotpot_dev_distractor_v1.json").read_text())
    (tmp_path / "h.json").write_text(json.dumps([{**first, "context": [*first["context"], ["Empty", [" "]]]}]))
    assert "Empty" not in {passage.id for passage in read_passages(tmp_path / "h.json")}
    assert "Empty" not in load_questions(tmp_path / "h.json")[0].candidate_ids
