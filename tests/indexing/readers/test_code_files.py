"""Indexing code and configuration files."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.readers.code_files import split_code
from tests.for_each import for_each

BODY = "".join(f"    step_{n} = measure(step_{n - 1}, width, height)\n" for n in range(1, 26))
MODULE = f"import os\n\n\nclass Yard:\n    def launch(self):\n{BODY}\n    def refit(self):\n{BODY}\n\ndef close():\n    pass\n"


def test_long_class_is_split_by_its_functions_with_line_and_name() -> None:
    passages = FileConverter().passages(Path("/yard.py"), MODULE.encode())

    places = [(passage.meta["line"], passage.meta.get("heading")) for passage in passages]
    assert (places[0], places[-1]) == ((1, None), (60, "def close()"))
    assert (32, "class Yard > def refit(self)") in places
    assert {passage.meta["title"] for passage in passages} == {"yard.py"}
    lines = MODULE.splitlines()
    for passage in passages:
        assert (passage.content or "").splitlines()[0] == lines[passage.meta["line"] - 1]


@for_each(
    "name, text, heading",
    ("a.sql", "create table ships (id int);\n", "create table ships (id int);"),
    ("a.ini", "[server]\nport = 1416\n", "[server]"),
    ("a.rs", "pub(crate) fn launch() {\n}\n", "pub(crate) fn launch()"),
    ("a.ts", "export default class Yard {\n}\n", "export default class Yard"),
    ("a.go", "func (y *Yard) Launch() error {\n}\n", "func (y *Yard) Launch() error"),
    ("a.yaml", "type: barge\nclass: one\n", None),
)
def test_what_is_defined_is_the_heading(name: str, text: str, heading: str | None) -> None:
    [passage] = FileConverter().passages(Path("/") / name, text.encode())

    assert passage.meta.get("heading") == heading
    assert passage.content == text.strip()


@given(st.text(alphabet="ab \n", max_size=400).map(lambda text: text * 20))
def test_the_parts_join_to_the_whole(text: str) -> None:
    assert "".join(split_code(text)) == text
