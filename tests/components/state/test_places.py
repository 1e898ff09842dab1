"""Where passages stand in their files, in the trace."""

from datetime import date
from typing import Any

from haystack import Document

from prefrag.components.state.places import name_documents, place_of
from tests.for_each import for_each


def passage(title: str = "Manual", **meta: Any) -> Document:
    return Document(content="Text.", meta={"title": title, **meta})


def places(*documents: Document) -> list[str] | None:
    return name_documents("titles", documents).get("places")


def test_titles_that_differ_suffice_and_odd_metadata_is_ignored():
    untitled = Document(id="bare", content="Text.")
    odd = passage(file_path={"a": 1}, heading=["x"], split_id="1", split_count=None)

    assert name_documents("titles", [passage(heading="Manual > Use"), untitled]) == {"titles": ["Manual", "bare"]}
    assert places(odd, passage(split_id=9, split_count=2)) == ["", ""]


@for_each("title, text", (date(2024, 5, 1), "2024-05-01"), (1984, "1984"), (["a", "b"], "['a', 'b']"))
def test_titles_of_other_kinds_are_written_as_text(title: Any, text: str):
    assert name_documents("titles", [passage(title), passage()])["titles"] == [text, "Manual"]
    assert name_documents("titles", [passage(title), passage(title)])["titles"] == [text, text]


def test_passages_of_a_title_differ_by_heading_and_files_by_name():
    first, two = passage(heading="Manual > Installation > Linux"), passage(heading="Manual > Use")
    files = [passage(file_path="/home/ada/a.md", heading="Use"), passage(file_path="/home/ada/b.md")]

    assert places(first, passage("Other"), two) == ["Linux", "", "Use"]
    assert places(*files) == ["a.md, Use", "b.md"]


def test_passages_of_a_section_differ_by_their_number():
    first, two = (passage(heading="Manual > Use", split_id=place, split_count=9) for place in (3, 4))
    top, plain = passage(heading="Manual", split_id=0, split_count=9), passage(split_id=8, split_count=9)

    assert places(first, two, top, plain) == ["Use, passage 4", "Use, passage 5", "passage 1", "passage 9"]


@for_each("at, page", (None, 1), (0, 1), (14, 1), (15, 2), (30, 4), (99, 4))
def test_the_page_is_the_last_that_begins_before_a_sentence(at: int | None, page: int):
    assert place_of(passage(page_number=1, page_starts="15 2\n30 3\n30 4"), at) == {"page": page}


@for_each("starts", 7, "", "x 2", "0 x", "5\n\n", f"0 {'9' * 5_000}x", ["0 2"])
def test_pages_that_are_no_numbers_leave_the_page_of_the_passage(starts: Any):
    assert place_of(passage(page_number=3, page_starts=starts), 9) == {"page": 3}


def test_the_line_of_code_is_counted_from_its_passage():
    code = Document(content="def a():\n    pass\n\nrate = 7", meta={"line": 12})

    assert (place_of(code), place_of(code, code.content.index("rate"))) == ({"line": 12}, {"line": 15})
