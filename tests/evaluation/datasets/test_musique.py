import json
from pathlib import Path

import pytest

from prefrag.evaluation.datasets import load_questions, read_passages
from prefrag.evaluation.question import Hop

FOLDER = Path(__file__).parent / "published" / "musique"


def test_a_question_has_its_sub_questions_with_their_passages() -> None:
    question, _ = load_questions(FOLDER / "musique_ans_v1.0_dev.jsonl")
    passages = {passage.id: passage for passage in read_passages(FOLDER / "musique_ans_v1.0_dev.jsonl")}
    assert (question.dataset, question.type) == ("musique", "2hop")
    assert question.answers == ("4,120", "4120", "about 4,120")
    quill, brenholm = question.supporting_ids
    assert [passages[quill].meta["title"], passages[brenholm].meta["title"]] == ["Ada Quill", "Brenholm"]
    assert question.decomposition == (
        Hop("Ada Quill >> place of birth", "Brenholm", quill),
        Hop("How many people live in #1 ?", "4,120", brenholm),
    )


def test_type_is_the_shape_of_a_question_and_equal_titles_differ() -> None:
    """Two passages of one title are kept apart."""

    assert load_questions(FOLDER / "musique_ans_v1.0_dev.jsonl")[1].type == "3hop1"
    texts = [p.content for p in read_passages(FOLDER / "musique_ans_v1.0_dev.jsonl") if p.meta["title"] == "Sorne"]
    assert texts == ["The Sorne is a river.", "Sorne is also a brand of watches."]


def test_full_version_omits_the_unanswerable_but_not_passages() -> None:
    assert len(load_questions(FOLDER / "musique_full_v1.0_dev.jsonl")) == 1
    titles = [passage.meta["title"] for passage in read_passages(FOLDER / "musique_full_v1.0_dev.jsonl")]
    assert titles == ["Brenholm", "Sorne", "Ada Quill", "Sorne", "Otto Vane"]


def test_the_test_set_without_answers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"line 1: it lacks 'question_decomposition'"):
        load_questions(FOLDER / "musique_ans_v1.0_test.jsonl")


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    first = json.loads((FOLDER / "musique_ans_v1.0_dev.jsonl").read_text().splitlines()[0])
    (tmp_path / "m.jsonl").write_text(f"{json.dumps(first)}\n\n{json.dumps(first)[:-9]}\n")
    with pytest.raises(ValueError, match=r"m.jsonl, line 3: it is not JSON"):
        load_questions(tmp_path / "m.jsonl")
