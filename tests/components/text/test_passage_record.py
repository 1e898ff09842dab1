"""How a line of a corpus becomes a document."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text import passage_record
from prefrag.components.text.passage_record import (
    PassageError,
    PassageRecord,
    passage_lines,
    read_passage_line,
    read_passages,
)
from prefrag.components.text.unicode_form import normalize_unicode
from tests.for_each import for_each


def read(**keys: Any) -> PassageRecord:
    return read_passage_line(json.dumps({"id": "a", "text": "A square.", **keys}).encode(), 1)


class TestALine:
    def test_is_a_passage_with_title_source_and_further_keys(self) -> None:
        record = read(title="Karlsplatz", source="both", year=1990, tags=["x"])
        assert record == PassageRecord("a", "A square.", "Karlsplatz", "both", {"year": 1990, "tags": ["x"]})

    def test_needs_no_title_and_may_have_a_numeric_id_or_a_bom(self) -> None:
        """It keeps its blanks."""

        assert read(id=7, title=None) == PassageRecord("7", "A square.")
        assert read_passage_line(b'\xef\xbb\xbf{"id": "a", "text": "T"}', 1).id == "a"
        assert read(text=" A square.\n", title=" T ") == PassageRecord("a", " A square.\n", " T ")

    def test_has_the_keys_of_its_meta_and_marks_reserved_names(self) -> None:
        """An underscore marks names that belong to documents."""

        more = {"content": "x", "score": 3, "file_path": "/y", "title_key": "k", "corpus": "c"}
        assert read(**more).meta == {f"{key}_": value for key, value in more.items()}
        assert read(meta={"lang": "de", "id": "z", "year": 1}, year=2).meta == {"lang": "de", "id_": "z", "year": 2}

    @for_each(
        "bad, reason",
        (b"{not json", "not JSON"),
        (b'{"id": "x", "text": "cut o', "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b'["a list"]', "expected a JSON object"),
        (b"3", "expected a JSON object"),
        (b'{"id": "x"}', "expected a JSON object"),
        (b'{"text": "t"}', "expected a JSON object"),
        (b'{"id": "", "text": "t"}', "'id' must be text"),
        (b'{"id": true, "text": "t"}', "'id' must be text"),
        (b'{"id": "' + b"x" * 600 + b'", "text": "t"}', "512 bytes"),
        (b'{"id": "x", "text": "  "}', "'text' must be text, and not empty"),
        (b'{"id": "x", "text": 5}', "'text' must be text"),
        (b'{"id": "x", "text": "t", "title": 5}', "'title' must be text"),
        (b'{"id": "x", "text": "t", "n": NaN}', "NaN is not a JSON number"),
        (b'{"id": "x", "text": "t", "n": 1e999}', "1e999 is not a JSON number"),
        (b'{"id": "x", "text": "\\uD800"}', "surrogate"),
        (b'{"id": "\\uD800", "text": "t"}', "surrogate"),
        (b'{"id": "x", "text": "t", "n": ["\\uD800"]}', "surrogate"),
        (b'{"id": "x", "text": "t", "n": ' + b"[" * 100_000, "not JSON"),
        (b'{"id": "x", "text": "t", "when": {"__date__": "2020-01-01"}}', "'__date__' is reserved for dates"),
        (b'{"id": "x", "text": "t", "list": [{"__datetime__": 1}]}', "'__datetime__' is reserved for dates"),
    )
    def test_that_is_no_passage_is_named_with_the_reason(self, bad: bytes, reason: str) -> None:
        with pytest.raises(PassageError, match=reason) as caught:
            read_passage_line(bad, 3)
        assert (caught.value.line, str(caught.value)) == (3, f"line 3: {caught.value.reason}")

    def test_that_is_too_long_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(passage_record, "MAX_LINE_BYTES", 20)
        with pytest.raises(PassageError, match="cut it into passages"):
            read()


class TestADocument:
    def test_has_the_title_in_its_metadata_and_no_source(self) -> None:
        document = read(title="T", source="web", url="u").document(corpus="/c")
        assert (document.id, document.content) == ("a", "A square.")
        assert document.meta == {"url": "u", "title": "T", "corpus": "/c"}
        assert read().document().meta == {}

    @given(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip))
    def test_has_text_and_title_in_the_form_in_which_queries_come(self, text: str) -> None:
        document = read(text=text, title=text).document()
        assert (document.content, document.meta["title"]) == (normalize_unicode(text), normalize_unicode(text))


class TestTheLines:
    def test_have_numbers_and_positions_without_blanks_or_long_ones(self, monkeypatch: pytest.MonkeyPatch):
        """Those that are too long are not read into memory."""

        assert list(passage_lines(io.BytesIO(b"one\n\n  \nfour\nend"))) == [
            (1, 4, b"one\n"),
            (4, 13, b"four\n"),
            (5, 16, b"end"),
        ]

        monkeypatch.setattr(passage_record, "MAX_LINE_BYTES", 5)
        lines = list(passage_lines(io.BytesIO(b"x" * 100 + b"\nnext\n")))
        assert lines == [(1, 101, b"x" * 6), (2, 106, b"next\n")]


class TestACorpus:
    def test_is_read_as_documents_and_a_mistake_names_its_line(self, tmp_path: Path):
        corpus = tmp_path / "corpus.jsonl"
        corpus.write_text('{"id": 7, "title": "T", "text": "é", "source": "web", "url": "u"}\n\n', encoding="utf-8")
        [document] = read_passages(corpus)
        assert (document.id, document.content, document.meta) == ("7", "é", {"title": "T", "url": "u"})

        corpus = tmp_path / "corpus.jsonl"
        corpus.write_text('{"id": "a", "title": "T", "text": "x"}\n[]\n')
        with pytest.raises(ValueError, match=r"corpus\.jsonl, line 2: expected a JSON object"):
            list(read_passages(corpus))
