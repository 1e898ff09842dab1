"""Indexing people's own files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from prefrag.collections import files
from prefrag.collections.indexing import index
from prefrag.collections.stores import PassageStore
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.indexing import file_conversion, file_forms
from prefrag.indexing.readers.headings import Sections
from tests.indexing.samples import Make, stored, texts


class TestFiles:
    def test_of_a_folder_are_indexed_with_path_and_title(self, make: Make, tmp_path: Path) -> None:
        make("a.txt", "First text.")
        make("deep/er/b.txt", "Second text.")

        report = index([tmp_path / "docs"])

        assert texts() == ["First text.", "Second text."]
        assert {passage.meta["title"] for passage in stored().values()} == {"a", "b"}
        assert (report.files, report.written) == (2, 2)

    def test_that_are_unchanged_are_not_converted_again(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        path = make("a.txt")
        index([path])
        before = stored()
        os.utime(path, (1, 1))
        monkeypatch.setattr(files, "converter_process", lambda pid: None)

        report = index([path])

        assert (report.written, report.unchanged, report.unchanged_files) == (0, 1, 1)
        assert stored() == before

    def test_that_changed_replace_passages_unless_now_unreadable(self, make: Make) -> None:
        make("other.txt", "Another file.")
        index([make("a.txt", "A sentence of six words is. " * 100).parent])
        report = index([make("a.txt", "Now short.").parent])
        assert texts() == ["Another file.", "Now short."]
        assert (report.written, report.replaced, report.unchanged, report.deleted) == (1, 1, 1, 0)
        report = index([make("a.txt", "")])
        assert texts() == ["Another file.", "Now short."]
        assert "its earlier passages stay" in report.skipped[0].reason

    def test_that_cannot_be_read_are_named_and_the_others_indexed(self, make: Make) -> None:
        make("1.txt", b"a\0b")
        make("2.txt", "")
        make("3.txt", "Good.")
        make("4.txt", "")

        report = index([make("5.txt", "Fine.").parent])

        assert texts() == ["Fine.", "Good."]
        assert [Path(skipped.path).name for skipped in report.skipped] == ["1.txt", "2.txt", "4.txt"]

    def test_without_permission_and_too_large_ones_are_named(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(file_forms.FORMS, "text", file_forms.FORMS["text"]._replace(most_bytes=5_000_000))
        [large] = index([make("large.txt", b"x" * 6_000_000)]).skipped
        assert large.reason == "it has 6 MB, but .txt files may have at most 5 MB: split it"
        monkeypatch.setattr(Path, "read_bytes", _denied)
        assert "Permission denied" in str(index([make("a.txt"), make("b.txt")]).skipped[0])

    def test_of_other_kinds_are_counted_by_kind(self, make: Make) -> None:
        make("a.PNG")
        make("deep/b.png")
        make("database", b"\x00\x01\x02")

        report = index([make("c.txt").parent])

        assert (report.skipped, report.other_kinds) == ([], {".png": 2, "": 1})


class TestCrashes:
    def test_between_writing_and_deleting_leave_both_versions(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The next call clears up."""

        index([make("a.txt", "Old.")])
        path = make("a.txt", "New.")
        with monkeypatch.context() as patch:
            patch.setattr(PassageStore, "delete", _crash)
            with pytest.raises(KeyboardInterrupt):
                index([path])
        assert texts() == ["New.", "Old."]

        report = index([path])

        assert texts() == ["New."]
        assert (report.written, report.deleted) == (0, 1)

    def test_in_the_middle_of_a_file_are_repaired(self, make: Make) -> None:
        path = make("a.txt", "A sentence of six words is. " * 100)
        index([path])
        before = stored()
        TantivyDocumentStore(path=str(index_path("default"))).delete_documents(list(before)[:2])

        index([path])

        assert stored() == before


def _denied(path: Path) -> bytes:
    if path.name == "a.txt":
        raise PermissionError(13, "Permission denied")
    return b"Text."


def _crash(*_: Any) -> None:
    raise KeyboardInterrupt


def test_index_without_headings_is_searched_and_refreshed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("markdown_it")
    path = make("a.md", "# Manual\n\nRead it.")
    with monkeypatch.context() as before:
        before.setattr(file_conversion, "_RECIPE", 2)
        before.setattr(file_conversion, "find_sections", lambda parts, headings: [Sections(None)] * len(parts))
        before.setattr(files, "converter_process", lambda pid: file_conversion.FileConverter())
        index([path])
    assert [passage.meta.get("heading") for passage in stored().values()] == [None]

    report = index([path])

    assert (report.written, report.replaced) == (1, 1)
    assert [passage.meta["heading"] for passage in stored().values()] == ["Manual"]
    assert index([path]).unchanged == 1
