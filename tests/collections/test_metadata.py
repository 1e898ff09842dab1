"""The metadata of files, by which searches can be filtered."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from haystack.errors import FilterError

from prefrag.collections.indexing import index
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from tests.for_each import for_each
from tests.indexing.samples import Make, stored


def _noon(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, 12, tzinfo=UTC).timestamp()


@pytest.fixture
def folder(make: Make) -> Path:
    """Three files that differ in kind, folder and day."""
    for name, text, day in (
        ("board/minutes.txt", "The crane was sold.", 1),
        ("board/old/letter.md", "# Cranes\n\nThe crane was bought.", 2),
        ("yard/cranes.csv", "name,height\nGoliath,80\n", 3),
    ):
        path = make(name, text)
        os.utime(path, (0, _noon(2024, 5, day)))
    folder = make("board/minutes.txt", "The crane was sold.").parent.parent
    os.utime(folder / "board" / "minutes.txt", (0, _noon(2024, 5, 1)))
    index([folder])
    return folder


def _search(field: str, operator: str, value: Any) -> set[str]:
    filters = {"field": f"meta.{field}", "operator": operator, "value": value}
    found = TantivyDocumentStore(path=str(index_path("default"))).search("crane cranes name", 10, filters)
    return {document.meta["file_name"] for document in found}


class TestAFilter:
    @for_each(
        "operator, day, found",
        (">=", "2024-05-02", {"letter.md", "cranes.csv"}),
        (">", "2024-05-02", {"cranes.csv"}),
        ("<", "2024-05-02", {"minutes.txt"}),
        ("<=", "2024-05-02T23:00:00+00:00", {"minutes.txt", "letter.md"}),
        ("==", "2024-05-03", {"cranes.csv"}),
        (">=", "2025-01-01", set()),
    )
    def test_a_filter_by_date_compares_days(self, folder: Path, operator: str, day: str, found: set[str]) -> None:
        assert _search("modified", operator, day) == found

    def test_by_folder_kind_name_and_section(self, folder: Path) -> None:
        assert _search("folder", "==", str(folder / "board")) == {"minutes.txt"}
        both = [str(folder / "board"), str(folder / "board" / "old")]
        assert _search("folder", "in", both) == {"minutes.txt", "letter.md"}
        assert _search("kind", "in", ["csv", "markdown"]) == {"letter.md", "cranes.csv"}
        assert _search("file_name", "==", "cranes.csv") == {"cranes.csv"}
        assert _search("heading", "==", "Cranes") == {"letter.md"}
        assert _search("standing", "==", "old") == {"letter.md"}

    def test_by_an_unknown_field_lists_those_that_there_are(self, folder: Path) -> None:
        with pytest.raises(FilterError) as refused:
            _search("date", "==", "2024")

        for name in ("file_name", "file_path", "folder", "heading", "kind", "modified", "title"):
            assert f"meta.{name}" in str(refused.value)


def test_a_new_date_of_the_same_content_changes_nothing(folder: Path) -> None:
    before = stored()
    os.utime(folder / "yard" / "cranes.csv", (0, _noon(2025, 1, 1)))

    report = index([folder])

    assert (report.written, report.unchanged_files) == (0, 3)
    assert stored() == before


def test_front_matter_cannot_pretend_to_be_another_file(make: Make) -> None:
    index([make("a.md", "---\nfolder: /etc\nfile_name: b\nkind: pdf\nmodified: 1999\n---\nText.")])

    [passage] = stored().values()
    assert (passage.meta["kind"], passage.meta["file_name"]) == ("markdown", "a.md")
    assert passage.meta["folder"] == str(Path(passage.meta["file_path"]).parent)
    assert str(passage.meta["modified"]) > "2020"
