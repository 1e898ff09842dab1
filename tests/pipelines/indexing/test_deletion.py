"""Deleting passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefrag.pipelines.indexing import delete_documents, index, list_documents
from tests.pipelines.indexing.samples import stored


class TestDelete:
    def test_deletes_passages_by_id_file_corpus_and_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)

        assert delete_documents(["x"]).passages == 1
        assert delete_documents(["./a.txt", "a.txt", str(folder / "c.jsonl"), "nothing"]).unknown == ["nothing"]
        assert [entry.title for entry in list_documents()] == ["b"]
        assert delete_documents(["sub"]).passages == 1
        assert list_documents() == []

    def test_a_deleted_file_comes_back_when_it_is_indexed_again(self, folder: Path) -> None:
        before = stored()
        delete_documents([str(folder / "a.txt")])

        index([folder])

        assert stored() == before
