import csv
import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.unicode_form import normalize_unicode
from prefrag.evaluation.datasets import read_passages
from tests.for_each import for_each

FILE = Path(__file__).parent / "published" / "dpr" / "psgs_w100.tsv"
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1).filter(str.strip)


def test_passages_are_unquoted_also_in_a_packed_file(tmp_path: Path) -> None:
    first, second = read_passages(FILE)
    assert (first.id, first.content) == ("1", 'Ada Quill was called "the clock lady" by all.')
    assert (second.meta["title"], second.content) == ("Brenholm", "It has 4,120 inhabitants.")
    (tmp_path / "psgs_w100.tsv.gz").write_bytes(gzip.compress(FILE.read_bytes()))
    assert list(read_passages(tmp_path / "psgs_w100.tsv.gz")) == [first, second]
    (tmp_path / "p.tsv").write_text("id\ttitle\ttext\n")
    with pytest.raises(ValueError, match="line 1: expected the columns id, text, title"):
        list(read_passages(tmp_path / "p.tsv"))


@for_each(
    "line, reason",
    ("3\tonly two", "expected 3 columns, not 2"),
    ("3\t \tTitle", "'text' must be text, and not empty"),
    ("\ttext\tTitle", "1 to 512 bytes"),
)
def test_a_line_of_another_form_is_named(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "p.tsv").write_text(FILE.read_text() + line + "\n")
    with pytest.raises(ValueError, match=f"p.tsv, line 4: .*{reason}"):
        list(read_passages(tmp_path / "p.tsv"))


@given(st.lists(st.tuples(st.integers(1), WORDS, WORDS), max_size=5))
def test_what_was_written_is_read(rows: list[tuple[int, str, str]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "p.tsv")
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t").writerows([("id", "text", "title"), *rows])
        read = [(passage.id, passage.content, passage.meta["title"]) for passage in read_passages(path)]
    assert read == [(str(number), *(normalize_unicode(text.strip()) for text in texts)) for number, *texts in rows]
