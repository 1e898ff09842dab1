"""Indexing tables, JSON and reStructuredText as text."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.tables import Grid, write_grid
from prefrag.indexing.readers.text_files import pack_rows, read_csv, read_json, read_rst, write_bar_tables
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each


def csv_rows(text: str) -> list[str]:
    outline = Outline()
    return [line for line in outline.read("\n".join(read_csv(text, outline)))[0].split("\n") if line]


def grid_rows(rows: list[list[str]]) -> list[str]:
    outline = Outline()
    return outline.read("\n".join(write_grid(Grid(rows), outline)))[0].split("\n")


@for_each(
    "text, rows",
    *(
        (
            "name,born,city\nAda,1815,London\nBoole,1815,\n".replace(",", separator),
            ["name: Ada; born: 1815; city: London", "name: Boole; born: 1815"],
        )
        for separator in ",;\t|"
    ),
    ('name;note\n"Ada; of London";"two\nlines"\n', ["name: Ada; of London; note: two lines"]),
    ("1,2\n3,4\n", ["1; 2", "3; 4"]),
    # A title has no separator, or another one.
    (
        "Sales 2026\n\nWare;Price\nRope;3,50\nSail;14,00\n",
        ["Sales 2026; Ware: Rope; Price: 3,50", "Sales 2026; Ware: Sail; Price: 14,00"],
    ),
    (
        "Sales, north hall\n\nWare;Price\nRope;3,50\nSail;14,00\n",
        ["Sales, north hall; Ware: Rope; Price: 3,50", "Sales, north hall; Ware: Sail; Price: 14,00"],
    ),
    ("Fleet\nBoat\tLength\nTern\t7,5\nAuk\t9,2\n", ["Fleet; Boat: Tern; Length: 7,5", "Fleet; Boat: Auk; Length: 9,2"]),
    ("Fleet\nBoat,Crew\nTern,3\nAuk,4\n", ["Fleet; Boat: Tern; Crew: 3", "Fleet; Boat: Auk; Crew: 4"]),
    # Other separators among the values, also in most lines.
    (
        "Name,Skills\nUna,sails;ropes\nBen,oars;maps\n",
        ["Name: Una; Skills: sails;ropes", "Name: Ben; Skills: oars;maps"],
    ),
    ("No;Text\n1;Well, yes, it is.\n2;No, not now.\n", ["No: 1; Text: Well, yes, it is.", "No: 2; Text: No, not now."]),
    ("1,5;2,5\n3,5;4,5\n", ["1,5; 2,5", "3,5; 4,5"]),
    # A blank line behind each row, as of a program that writes each line end twice.
    ("Boat,Crew\r\r\nTern,3\r\r\nAuk,4\r\r\n", ["Boat: Tern; Crew: 3", "Boat: Auk; Crew: 4"]),
    ("\nFleet\n\nBoat;Crew\n\nTern;3\n\nAuk;4", ["Fleet; Boat: Tern; Crew: 3", "Fleet; Boat: Auk; Crew: 4"]),
    (
        "Boat,Crew\nTern,3\nAuk,4\n\nHall,Seats\nNorth,30\nSouth,40\n",
        ["Boat: Tern; Crew: 3", "Boat: Auk; Crew: 4", "Hall: North; Seats: 30", "Hall: South; Seats: 40"],
    ),
    ("a\nb\n", ["a", "b"]),
    ("name,name\nAda,Bob\n", ["name; name", "Ada; Bob"]),
    ("name,city\n", ["name; city"]),
    ("name,city\nAda,London,England\n", ["name: Ada; city: London; England"]),
    # Years, months and days above columns name them, unless the next row has some in the same columns.
    ("Cost;2023;2024\nRent;900;1020\n", ["Cost: Rent; 2023: 900; 2024: 1020"]),
    ("Cost;2024;2023\nRent;900;\n", ["Cost: Rent; 2024: 900"]),
    (";2023;2024\nRent;900;1020\n", ["Rent; 2023: 900; 2024: 1020"]),
    ("2023;2024\n900;1020\n", ["2023: 900; 2024: 1020"]),
    ("Office;2023;2024\nChair;Ada;Bob\n", ["Office: Chair; 2023: Ada; 2024: Bob"]),
    ("Cost;2023/24;2024/25\nRent;900;1020\n", ["Cost: Rent; 2023/24: 900; 2024/25: 1020"]),
    ("Cost;2026-01;2026-02;Sum\nRent;9;8;17\n", ["Cost: Rent; 2026-01: 9; 2026-02: 8; Sum: 17"]),
    ("Cost;2026-01-01;2026-02-01\nRent;9;8\n", ["Cost: Rent; 2026-01-01: 9; 2026-02-01: 8"]),
    ("Cost;2024\nRent;1020\n", ["Cost: Rent; 2024: 1020"]),
    ("Ada;1990;1995\nBob;1985;2001\n", ["Ada; 1990; 1995", "Bob; 1985; 2001"]),
    ("Ada;1999;London\nBob;1987;Paris\n", ["Ada; 1999; London", "Bob; 1987; Paris"]),
    ("Ada;1999\nBob;unknown\n", ["Ada; 1999", "Bob; unknown"]),
    ("Ada;2024;2024\nBob;1;2\n", ["Ada; 2024; 2024", "Bob; 1; 2"]),
    ("Cost;2020;2023;2021\nRent;1;2;3\n", ["Cost; 2020; 2023; 2021", "Rent; 1; 2; 3"]),
    ("Tern,12.5,A4\nSkua,9.8,B2\n", ["Tern; 12.5; A4", "Skua; 9.8; B2"]),
    ("Rope;2023;12\nSail;9;8\n", ["Rope; 2023; 12", "Sail; 9; 8"]),
    ("Cost;2023;2024\n", ["Cost; 2023; 2024"]),
    ("name,,city\nAda,x,London\n", ["name: Ada; x; city: London"]),
    # Names that stand twice are numbered.
    ("Name,Phone,phone\nAda,111,222\n", ["Name: Ada; Phone: 111; phone 2: 222"]),
    ("Name,Phone,Phone,Phone\nAda,1,,3\n", ["Name: Ada; Phone: 1; Phone 3: 3"]),
    # Excel names the separator in a line of its own, and people write blanks behind it.
    ("sep=;\nName;Price, net\nRope;12,50\n", ["Name: Rope; Price, net: 12,50"]),
    ("SEP=\t\r\nName\tPrice\r\nRope\t12\r\n", ["Name: Rope; Price: 12"]),
    ('Name, Note\nAda, "a, b"\n', ["Name: Ada; Note: a, b"]),
    ("\n\n , \n", []),
    ("", []),
)
def test_row_has_the_names_of_its_columns_and_values_as_meant(text: str, rows: list[str]) -> None:
    assert csv_rows(text) == rows


@for_each(
    "text, written",
    ("A\n| flat | rent |\n|---|--:|\n| 3 | 540 |\nB", "A\nflat: 3; rent: 540\nB"),
    (" flat | rent\n------+------\n  3   |  540", "flat: 3; rent: 540"),
    ("| flat | rent | to |\n| 3 | 540 | |", "flat: 3; rent: 540"),
    ("| Port | /dev/jjy |", "Port: /dev/jjy"),
    ("ls | sort\ncat | wc", "ls | sort\ncat | wc"),
    ("a\n----\n  b", "a\n----\n  b"),
    ("| Cost | 2023 | 2024 |\n|---|---|---|\n| Rent | 900 | 1020 |", "Cost: Rent; 2023: 900; 2024: 1020"),
    ("| Size | 1 | 2 |\n|---|---|---|\n| Price | 900 | 1020 |", "Size: Price; 1: 900; 2: 1020"),
    ("| Size | 1 | 1 |\n|---|---|---|\n| Price | 900 | 1020 |", "Size: Price; 1: 900; 1 2: 1020"),
    ("+---+---+\n| 5 | 7 |\n+---+---+\n| 6 | 8 |\n+---+---+", "5: 6; 7: 8"),
    ("+---+---+\n| 5 | 7 |\n+---+---+\n| 6 | 8 |\n+---+---+\n| 1 | 2 |\n+---+---+", "5; 7\n6; 8\n1; 2"),
    ("| | |\n|--|--|", ""),
)
def test_rows_of_a_table_drawn_with_bars_have_column_names(text: str, written: str) -> None:
    outline = Outline()
    assert outline.read(write_bar_tables(text, outline))[0] == written


def test_a_quotation_mark_that_is_never_closed_leaves_the_lines() -> None:
    assert csv_rows('name,note\nAda,"open\n' + "Bob,x\n" * 30_000)[:3] == ["name,note", 'Ada,"open', "Bob,x"]


def test_passages_are_of_whole_rows() -> None:
    rows = [f"name: Person {number}; note: One sentence. Another one stands here. And a third" for number in range(40)]

    passages = pack_rows("\n".join(rows))

    assert [row for passage in passages for row in passage.splitlines()] == rows
    assert all(len(passage.split()) <= 140 for passage in passages)
    assert len(passages) < len(rows) / 5


def test_many_names_cost_nothing_in_rows_of_few_values() -> None:
    before = time.process_time()
    rows = [[f"name {number}" for number in range(20_000)], *([["a", "b"]] * 20_000)]

    first, *_ = grid_rows(rows)

    assert first == "name 0: a; name 1: b"
    assert time.process_time() - before < 5


def test_only_a_row_longer_than_a_passage_is_split() -> None:
    passages = pack_rows("a: b\n" + "note: " + "A sentence of six words is. " * 100 + "\nc: d")

    assert (passages[0], passages[-1]) == ("a: b\n", "c: d")
    assert len(passages) > 4


@given(st.text())
def test_any_text_is_rows_whose_passages_join_to_the_whole(text: str) -> None:
    assert "".join(pack_rows(text)) == text
    assert all("\n" not in row for row in read_csv(text.replace("\0", ""), Outline()))


def test_rows_that_repeat_a_long_value_are_read_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefrag.indexing.readers.tables._MOST_TEXT", 10_000)
    long = "x" * 1_000

    with pytest.raises(CannotRead, match="million characters: split it"):
        grid_rows([["1", long] for _ in range(1_000)])


@for_each(
    "text, written",
    (
        '{"name": "Ada", "address": {"city": "London", "tags": ["a", "b"]}, "known": true, "died": null}',
        ["name: Ada; address city: London; address tags: a, b; known: true"],
    ),
    (
        '{"title": "Staff", "people": [{"name": "Ada", "pets": [{"kind": "cat"}]}, {"name": "Bob"}]}',
        ["title: Staff", "people: name: Ada", "people > pets: kind: cat", "people: name: Bob"],
    ),
    (f"[1.10, 1e999, {'1' * 5_000}]", [f"1.10, 1e999, {'1' * 5_000}"]),
)
def test_object_is_a_line_of_names_and_values_as_written(text: str, written: list[str]) -> None:
    assert read_json(text) == written


@for_each("text", "[" * 100_000, '{"a":' * 100_000, "{", "", "[1] x")
def test_what_is_no_json_or_too_deep_is_refused(text: str) -> None:
    with pytest.raises(CannotRead, match="not JSON|too deeply"):
        read_json(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_VALUES)
def test_any_json_becomes_lines(value: object) -> None:
    assert all("\n" not in line for line in read_json(json.dumps(value)))


@for_each("value", {"k" * 10_000: [{"a": 1}] * 100}, {"k" * 10_000: dict.fromkeys("abcdefghij", 1)})
def test_a_long_name_is_not_written_in_full_before_each_value(value: object) -> None:
    assert len("".join(read_json(json.dumps(value)))) < 25_000


def test_more_text_than_is_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefrag.indexing.readers.tables._MOST_TEXT", 1_000)

    with pytest.raises(CannotRead, match="million characters: split it"):
        read_json(json.dumps({"people": [{"name": "Ada"}] * 100}))


MANUAL = """\
======
Manual
======

:Author: Ada

Read *this* ``first``, then [1]_.

Installation
------------

- one
- two

screw
   A thing that turns.

==== ====
Name 7
==== ====
Ada  12
==== ====

.. code-block:: python

   print(1)

.. versionadded:: 3.1
   Only Sphinx knows this directive.

.. [1] A footnote.
"""


def _read(text: str) -> str:
    pytest.importorskip("docutils", reason="the extra 'files' is not installed")
    outline = Outline()
    return outline.read(read_rst(text, outline))[0]


def test_marks_go_and_words_stay() -> None:
    assert _read(MANUAL).split("\n\n") == [
        "Manual",
        "Author: Ada",
        "Read this first, then 1.",
        "Installation",
        "- one\n- two",
        "screw: A thing that turns.",
        "Name: Ada; 7: 12",
        "print(1)",
        ".. versionadded:: 3.1\n   Only Sphinx knows this directive.",
        "A footnote.",
    ]


def test_a_file_has_its_title_and_its_headings() -> None:
    pytest.importorskip("docutils", reason="the extra 'files' is not installed")
    [passage] = FileConverter().passages(Path("/manual.rst"), MANUAL.encode())

    assert (passage.meta["title"], passage.meta["heading"]) == ("Manual", "Manual > Installation")
    assert passage.meta["kind"] == "rst"


@for_each(
    "directive",
    ".. include:: {}",
    ".. literalinclude:: {}",
    ".. raw:: html\n   :file: {}",
    ".. raw:: html\n   :url: file://{}",
    ".. csv-table:: T\n   :file: {}",
    ".. csv-table:: T\n   :url: file://{}",
    ".. figure:: {}",
    ".. |x| replace:: y\n.. include:: {}\n   :literal:",
    ".. code-block:: python\n   :file: {}",
)
def test_no_other_file_is_taken_in(directive: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("PASSWORD,HUNTER2\n")

    assert "HUNTER2" not in _read(f"Before.\n\n{directive.format(secret)}\n\nAfter.")


def test_a_configuration_beside_the_file_is_not_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docutils.conf").write_text("[general]\nfile_insertion_enabled: yes\nraw_enabled: yes\n")
    (tmp_path / "secret.txt").write_text("HUNTER2")
    monkeypatch.chdir(tmp_path)

    assert "HUNTER2" not in _read(".. include:: secret.txt\n\nText.")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "\n".join(
            [
                *(f".. |a{n}| replace:: {f'|a{n - 1}| ' * 9}" for n in range(1, 12)),
                ".. |a0| replace:: lol",
                "",
                "|a11| end",
            ]
        ),
        "\n".join("  " * depth + "- x end" for depth in range(400)),
        "x " * 20_000 + "end",
        "*" * 4_000 + "end",
    ],
    ids=["substitutions", "lists", "a long line", "stars"],
)
def test_what_cannot_be_parsed_is_text(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = time.process_time()

    assert "end" in _read(text)

    assert time.process_time() - before < 20
    assert capsys.readouterr() == ("", "")


@settings(deadline=None)
@given(st.text(alphabet="ab *`_|.:-=~\n\t<>[]\\"))
def test_any_text_is_read(text: str) -> None:
    _read(text)
