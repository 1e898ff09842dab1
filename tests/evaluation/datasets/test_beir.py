from pathlib import Path

import pytest

from prefrag.evaluation.datasets import read_passages

FILE = Path(__file__).parent / "published" / "beir" / "corpus.jsonl"


def test_passages_have_their_ids_and_titles() -> None:
    first, second = read_passages(FILE)
    assert (first.id, first.content) == ("11111111", "Brenholmin inhibits it.")
    assert first.meta == {"title": "Inhibitors of quillase"}
    assert (second.id, second.meta) == ("55", {})


def test_a_line_of_another_form_is_named(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        FILE.read_text() + '{"_id": 5, "title": "", "text": "An id that is no text."}'
    )
    with pytest.raises(ValueError, match=r"corpus.jsonl, line 4: '_id' must be text"):
        list(read_passages(tmp_path / "corpus.jsonl"))
