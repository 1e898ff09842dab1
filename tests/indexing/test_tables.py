"""Rows of tables as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.report import CannotRead
from prefrag.indexing.tables import pack_rows, read_csv, write_rows


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_each_row_has_the_names_of_its_columns(separator: str) -> None:
    text = "name,born,city\nAda,1815,London\nBoole,1815,\n".replace(",", separator)

    assert read_csv(text) == ["name: Ada; born: 1815; city: London", "name: Boole; born: 1815"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('name;note\n"Ada; of London";"two\nlines"\n', ["name: Ada; of London; note: two lines"]),
        ("1,2\n3,4\n", ["1; 2", "3; 4"]),
        ("a\nb\n", ["a", "b"]),
        ("name,name\nAda,Bob\n", ["name; name", "Ada; Bob"]),
        ("name,city\n", ["name; city"]),
        ("name,city\nAda,London,England\n", ["name: Ada; city: London; England"]),
        ("\n\n , \n", []),
        ("", []),
    ],
)
def test_values_are_read_as_they_are_meant(text: str, rows: list[str]) -> None:
    assert read_csv(text) == rows


def test_a_quotation_mark_that_is_never_closed_leaves_the_lines() -> None:
    assert read_csv('name,note\nAda,"open\n' + "Bob,x\n" * 30_000)[:3] == ["name,note", 'Ada,"open', "Bob,x"]


def test_passages_are_of_whole_rows() -> None:
    rows = [f"name: Person {number}; note: One sentence. Another one stands here. And a third" for number in range(40)]

    passages = pack_rows("\n".join(rows))

    assert [row for passage in passages for row in passage.splitlines()] == rows
    assert all(len(passage.split()) <= 140 for passage in passages)
    assert len(passages) < len(rows) / 5


def test_only_a_row_longer_than_a_passage_is_split() -> None:
    passages = pack_rows("a: b\n" + "note: " + "A sentence of six words is. " * 100 + "\nc: d")

    assert passages[0] == "a: b\n"
    assert passages[-1] == "c: d"
    assert len(passages) > 4


@given(st.text())
def test_passages_join_to_the_whole(text: str) -> None:
    assert "".join(pack_rows(text)) == text


@given(st.text())
def test_any_text_is_rows(text: str) -> None:
    assert all("\n" not in row for row in read_csv(text.replace("\0", "")))


@given(st.lists(st.lists(st.text())))
def test_no_value_below_the_names_is_lost(rows: list[list[str]]) -> None:
    held = [row for row in rows if "".join(row).strip()]

    written = " ".join(write_rows(rows))

    assert all(" ".join(value.split()) in written for row in held[1:] for value in row)


def test_rows_that_all_repeat_one_long_value_are_read_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefrag.indexing.tables._MOST_TEXT", 10_000)
    long = "x" * 1_000
    rows = write_rows(iter([["1", long]] * 1_000))

    with pytest.raises(CannotRead, match="more text than is read"):
        list(rows)
