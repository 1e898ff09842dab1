import shutil
from pathlib import Path

import pytest

from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.question import Question

FOLDER = Path(__file__).parent / "published" / "2wikimultihopqa"


def test_question_has_its_evidence_and_aliases_of_its_answer() -> None:
    first, second = load_questions(FOLDER / "dev.json")
    assert first == Question(
        id="93402dbc0bdb11eba7f7acde48001122",
        question="In which town was the builder of the Brenholm tower clock born?",
        answers=("Brenholm", "Brenholm on the Sorne", "Brenholmer"),
        type="compositional",
        supporting_ids=("Ada Quill", "Brenholm"),
        candidate_ids=("Sorne", "Ada Quill", "Brenholm"),
        evidence_triples=(
            ("Brenholm tower clock", "creator", "Ada Quill"),
            ("Ada Quill", "place of birth", "Brenholm"),
        ),
        dataset="2wikimultihopqa",
    )
    assert second.answers == ("no",)


def test_answer_stands_alone_without_the_file_of_aliases(tmp_path: Path):
    """A broken line of that file is named."""

    shutil.copy(FOLDER / "dev.json", tmp_path)
    assert load_questions(tmp_path / "dev.json")[0].answers == ("Brenholm",)

    (tmp_path / "id_aliases.json").write_text('{"Q_id": "Q1", "aliases": [], "demonyms": []}\n{"Q_id": "Q2"}\n')
    with pytest.raises(ValueError, match=r"id_aliases.json, line 2: it lacks 'aliases'"):
        load_questions(tmp_path / "dev.json")
