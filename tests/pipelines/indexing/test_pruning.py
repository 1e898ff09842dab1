"""Taking out what has lost its origin."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.pipelines.indexing import delete_documents, index, prune
from tests.pipelines.indexing.samples import Make, line, stored, texts


class TestPrune:
    def test_takes_out_passages_of_files_that_are_gone(self, make: Make) -> None:
        gone, stays = make("a.txt", "Gone."), make("b.txt", "Stays.")
        index([gone, stays, make("c.jsonl", line("x"))])
        gone.unlink()

        report = prune()

        assert texts() == ["A square in Vienna.", "Stays."]
        assert (report.deleted, report.pruned) == (1, [str(gone)])

    def test_takes_out_lines_that_left_their_corpus(self, make: Make) -> None:
        index([make("c.jsonl", line("a") + line("b"))])
        corpus = make("c.jsonl", line("b"))

        report = index([corpus], prune=True)

        assert set(stored()) == {"b"}
        assert (report.deleted, report.pruned) == (1, [])

    def test_takes_out_a_corpus_that_is_gone_from_both_indexes(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", source="both"))
        index([corpus], split_sources=True)
        corpus.unlink()

        index([make("b.txt", "Text.")], split_sources=True, prune=True)

        assert (texts(), texts("default-web")) == (["Text."], [])

    def test_spares_a_corpus_with_a_line_that_cannot_be_read(self, make: Make) -> None:
        index([make("c.jsonl", line("a") + line("b"))])
        make("c.jsonl", line("b") + line("a")[:20])

        report = prune()

        assert set(stored()) == {"a", "b"}
        assert "line 2" in report.skipped[0].reason

    def test_spares_files_that_only_cannot_be_reached(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        path = make("a.txt")
        index([path])
        look = os.stat

        def denied(looked_at: Any, **options: Any) -> os.stat_result:
            if looked_at == str(path):
                raise PermissionError(13, "Permission denied")
            return look(looked_at, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, "stat", denied)
            assert prune().deleted == 0

    def test_spares_everything_while_the_folder_of_all_files_is_not_there(self, make: Make, tmp_path: Path) -> None:
        folder = make("sub/a.txt", "A file.").parent.parent
        make("c.jsonl", line("x"))
        index([folder])
        drive = folder.rename(tmp_path / "drive")

        report = prune()

        assert texts() == ["A file.", "A square in Vienna."]
        assert (report.deleted, report.pruned) == (0, [])
        [skipped] = report.skipped
        assert skipped.path == str(folder)
        assert "not mounted" in skipped.reason

        drive.rename(folder)
        assert prune().skipped == []
        folder.rename(drive)
        assert delete_documents([str(folder)]).passages == 2

    def test_takes_out_a_folder_that_is_gone_while_others_are_there(self, make: Make) -> None:
        gone = make("sub/a.txt", "A file.")
        index([gone, make("b.txt", "Stays.")])
        gone.unlink()
        gone.parent.rmdir()

        assert prune().pruned == [str(gone)]

    def test_spares_what_indexing_did_not_bring(self) -> None:
        TantivyDocumentStore(path=str(index_path("default"))).write_documents([Document(content="By hand.")])

        prune()

        assert texts() == ["By hand."]

    def test_needs_an_index(self) -> None:
        with pytest.raises(FileNotFoundError, match="prefrag index"):
            prune("nothing")

    def test_leaves_the_demo_alone(self) -> None:
        with pytest.raises(ValueError, match="demo"):
            prune("demo")
