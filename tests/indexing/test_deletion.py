"""Deleting passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefrag.components.errors import BadInput
from prefrag.indexing import delete_documents, index, list_documents
from tests.indexing.samples import Make, stored


class TestDelete:
    def test_deletes_passages_by_id_file_corpus_and_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)

        assert delete_documents(["x"]).passages == 1
        assert delete_documents(["./a.txt", "a.txt", str(folder / "c.jsonl"), "nothing"]).unknown == ["nothing"]
        assert [entry.title for entry in list_documents()] == ["b"]
        assert delete_documents(["sub"]).passages == 1
        assert list_documents() == []

    def test_deletes_a_folder_that_is_named_with_or_without_a_slash(self, folder: Path) -> None:
        assert delete_documents([f"{folder}/sub/"]).passages == 1
        assert delete_documents([str(folder)]).unknown == []
        assert list_documents() == []

    @pytest.mark.parametrize("target", ["", " ", ".", "..", "./..", "/", "//", "/../"])
    def test_refuses_a_target_without_a_name(self, folder: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        before = stored()

        with pytest.raises(BadInput, match="names no document"):
            delete_documents(["x", target])

        assert stored() == before

    def test_a_folder_whose_name_only_begins_alike_stays(self, folder: Path, make: Make) -> None:
        index([make("subway/d.txt", "Under the ground.")])

        delete_documents([str(folder / "sub")])

        assert "d" in {entry.title for entry in list_documents()}

    def test_a_deleted_file_comes_back_when_it_is_indexed_again(self, folder: Path) -> None:
        before = stored()
        delete_documents([str(folder / "a.txt")])

        index([folder])

        assert stored() == before
