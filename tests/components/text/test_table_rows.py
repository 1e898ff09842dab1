"""The rows of tables in the metadata of passages."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.table_rows import TABLES, Row, Table, read_tables, write_tables
from prefrag.components.text.unicode_form import normalize_unicode
from tests.for_each import for_each

CELLS = st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=4).map(tuple)


def make_table(rows: int, length: int = 2) -> Table:
    return Table(1, "Fleet", ("Boat", "Seats"), [Row("", ("T" * length, str(number))) for number in range(rows)])


def test_a_row_is_written_with_title_group_and_names() -> None:
    table = Table(1, "Fleet", ("Boat", "Seats"))

    assert table.write(Row("Norwick", ("Tern", "48", "new"))) == "Fleet; Norwick; Boat: Tern; Seats: 48; new"
    assert table.write(Row("", ("", "48"))) == "Fleet; Seats: 48"


def test_a_small_table_is_whole_in_each_of_its_passages() -> None:
    table = make_table(9)

    [read] = read_tables(write_tables([(table, 4), (table, 5)]))

    assert read.is_whole
    assert (read.rows, read.columns, read.title) == (table.rows, table.columns, table.title)


def test_of_a_large_table_a_passage_has_its_own_rows() -> None:
    table = make_table(500, length=40)

    [read] = read_tables(write_tables([(table, 4), (table, 5)]))

    assert not read.is_whole
    assert (read.first, read.size, read.rows) == (4, 500, table.rows[4:6])


def test_of_long_rows_a_passage_has_no_more_than_its_share() -> None:
    table = make_table(9, length=7_000)

    [read] = read_tables(write_tables([(table, number) for number in range(9)]))

    assert (read.first, read.size, read.rows) == (0, 9, table.rows[:3])


def test_names_of_too_many_columns_are_left_out_of_metadata() -> None:
    table = Table(1, "", tuple(f"A long name of column {number}" for number in range(500)), [Row("", ("1",))])

    assert write_tables([(table, 0)]) == {}


def test_a_passage_without_rows_gets_no_metadata() -> None:
    assert write_tables([]) == {}


@given(st.text(st.characters(codec="utf-8")), CELLS, st.lists(st.builds(Row, st.text(), CELLS), min_size=1))
def test_rows_come_back_from_metadata_in_composed_form(title: str, columns: tuple[str, ...], rows: list[Row]) -> None:
    written = write_tables([(Table(7, title, columns, rows), number) for number in range(len(rows))])
    [read] = read_tables(written)

    assert (read.number, read.size, len(read.rows)) == (7, len(rows), len(rows))
    assert write_tables([(read, number) for number in range(len(rows))]) == written


@for_each("cell", "x\b\u0307y", "x\n\u0303y", 'say "a\u0301"')
def test_an_accent_behind_an_escaped_sign_breaks_no_table(cell: str) -> None:
    [read] = read_tables(write_tables([(Table(1, "", ("A",), [Row("", (cell,))]), 0)]))

    assert read.rows[0].cells == (normalize_unicode(cell),)


@for_each(
    "value",
    *(None, 7, "", "[", "[1]", "{}", "[[1]]", '[[1,"",[],0,1,[[1]]]]', '[[1,"",[],0,1,[[]]]]', "[" * 100_000),
    json.dumps([[1, "", "Boat", 0, 1, []]]),
    '[[Infinity,"",[],0,1,[["","a"]]]]',
    '[[1,"",[],0,-1,[]]]',
    '[[1,"",[],-1,1,[["","a"]]]]',
    '[[1,"",[],0,1,[["","a"],["","b"]]]]',
)
def test_metadata_of_another_form_has_no_rows(value: Any) -> None:
    assert read_tables({TABLES: value}) == []
