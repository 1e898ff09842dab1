"""Deleting passages, and pruning those whose file or corpus is gone."""

import os
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag.collections.indexing import delete_documents, index, list_documents, prune
from prefrag.collections.local_collection import LocalCollection
from prefrag.errors import BadInput
from prefrag.indexing.report import PrunePlan
from tests.for_each import for_each
from tests.indexing.samples import Make, line, stored, texts


class TestDelete:
    def test_deletes_passages_by_id_file_corpus_and_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)

        assert delete_documents(["x"]).passages == 1
        assert delete_documents(["./a.txt", "a.txt", str(folder / "c.jsonl"), "nothing"]).unknown == ["nothing"]
        assert [entry.title for entry in list_documents()] == ["b.txt"]
        assert delete_documents([f"{folder}/sub/"]).passages == 1
        assert list_documents() == []

    @for_each("target", "", " ", ".", "..", "./..", "/", "//", "/../")
    def test_refuses_a_target_without_a_name(self, folder: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        before = stored()

        with pytest.raises(BadInput, match="names no document"):
            delete_documents(["x", target])

        assert stored() == before

    def test_a_folder_whose_name_only_begins_alike_stays(self, folder: Path, make: Make) -> None:
        index([make("subway/d.txt", "Under the ground.")])

        delete_documents([str(folder / "sub")])

        assert "d.txt" in {entry.title for entry in list_documents()}

    def test_a_deleted_file_comes_back_when_it_is_indexed_again(self, folder: Path) -> None:
        before = stored()
        delete_documents([str(folder / "a.txt")])

        index([folder])

        assert stored() == before


class TestFilesThatAreGone:
    def test_are_told_and_stay_in_the_index(self, make: Make) -> None:
        gone, corpus, stays = make("a.txt", "Gone."), make("sub/c.jsonl", line("x")), make("b.txt", "Stays.")
        index([gone, corpus, stays])
        gone.unlink()
        corpus.unlink()
        make("sub/d.txt", "New.")

        report = index([stays.parent])

        assert report.vanished == [str(gone), str(corpus)]
        assert texts() == ["A square in Vienna.", "Gone.", "New.", "Stays."]

    def test_are_told_only_of_the_folders_that_are_indexed(self, make: Make) -> None:
        gone, other = make("a/a.txt"), make("b/b.txt")
        index([gone, other])
        gone.unlink()
        make("a/c.txt")

        assert index([other.parent]).vanished == []
        assert index([other]).vanished == []
        assert index([gone.parent]).vanished == [str(gone)]

    def test_are_not_told_of_a_drive_that_is_not_mounted(self, make: Make) -> None:
        drive, stays = make("drive/a.txt"), make("b.txt")
        index([drive, stays])
        drive.unlink()

        assert index([stays.parent]).vanished == []


class TestPrune:
    def test_after_indexing_takes_out_files_and_lines_that_are_gone(self, make: Make) -> None:
        gone = make("a.txt")
        index([gone, make("c.jsonl", line("a") + line("b"))])
        gone.unlink()

        report = index([make("c.jsonl", line("b")).parent], prune=True)

        assert set(stored()) == {"b"}
        assert (report.deleted, report.pruned, report.vanished) == (2, [str(gone)], [])

    @for_each("left, reason", (line("b") + line("a")[:20], "line 2"), ("", "it is empty now"))
    def test_spares_a_corpus_that_cannot_be_read_or_is_empty(self, make: Make, left: str, reason: str) -> None:
        index([make("c.jsonl", line("a") + line("b"))])
        make("c.jsonl", left)

        report = prune()

        assert set(stored()) == {"a", "b"}
        assert reason in report.skipped[0].reason

    def test_needs_an_index_of_ones_own(self) -> None:
        with pytest.raises(FileNotFoundError, match="prefrag index"):
            prune(LocalCollection("nothing"))
        with pytest.raises(ValueError, match="demo"):
            prune(LocalCollection("demo"))

    def test_takes_out_a_corpus_that_is_gone_from_both_indexes(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", source="both"))
        index([corpus], split_sources=True)
        corpus.unlink()

        index([make("b.txt", "Text.")], split_sources=True, prune=True)

        assert (texts(), texts("default-web")) == (["Text."], [])

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

    def test_spares_everything_while_the_folder_of_all_is_absent(self, make: Make, tmp_path: Path) -> None:
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

    def test_leaves_shared_uploads_and_handwritten_passages(self, make: Make) -> None:
        index([make("a.txt", "A file.")])
        uploaded = {"file_path": "upload:default/b.txt", "file_hash": "1", "split_count": 1}
        LocalCollection().passages().write(
            [Document(id="b", content="B.", meta=uploaded), Document(content="By hand.")]
        )
        report = prune()
        assert (report.deleted, report.skipped, texts()) == (0, [], ["A file.", "B.", "By hand."])

    def test_takes_out_a_folder_that_is_gone_while_others_are_there(self, make: Make) -> None:
        gone = make("sub/a.txt", "A file.")
        index([gone, make("b.txt", "Stays.")])
        gone.unlink()
        gone.parent.rmdir()

        assert prune().pruned == [str(gone)]

    @pytest.mark.parametrize("left", ["nothing", "an empty folder", "a hidden file", "empty folders"])
    def test_spares_a_folder_among_others_whose_drive_is_absent(self, make: Make, tmp_path: Path, left: str) -> None:
        folders = [make(f"{name}/deep/text.txt", f"In {name}.").parent.parent for name in ("a", "b", "c")]
        index(folders)
        folders[1].rename(tmp_path / "drive")
        if left != "nothing":
            folders[1].mkdir()
        if left == "a hidden file":
            make("b/.keep")
        if left == "empty folders":
            (folders[1] / "deep").mkdir()

        report = prune()

        assert texts() == ["In a.", "In b.", "In c."]
        assert report.deleted == 0
        [skipped] = report.skipped
        assert skipped.path.startswith(str(folders[1]))
        assert f"prefrag documents delete {skipped.path}{os.sep}" in skipped.reason
        assert delete_documents([skipped.path + os.sep]).passages == 1

    @for_each("beside", "b.txt", "own/b.txt")
    def test_spares_the_single_file_of_a_folder_that_may_be_a_drive(self, make: Make, beside: str) -> None:
        """The drive lies within a folder that has files of its own."""

        on_drive = make("drive/a.txt", "On the drive.")
        index([on_drive, make(beside, "Beside it.").parent])
        on_drive.unlink()
        assert prune().deleted == 0

    def test_of_one_folder_goes_on_beside_another_that_is_spared(self, make: Make) -> None:
        gone = make("a/gone.txt", "Gone.")
        away = make("b/away.txt", "Away.")
        index([gone, away, make("a/stays.txt", "Stays.")])
        gone.unlink()
        away.unlink()

        report = prune()

        assert texts() == ["Away.", "Stays."]
        assert [Path(skipped.path).name for skipped in report.skipped] == ["b"]

    def test_reports_before_it_deletes_and_deletes_nothing_on_trial(self, make: Make) -> None:
        gone = make("a.txt", "Gone.")
        corpus = make("c.jsonl", line("x") + line("y"))
        index([gone, corpus])
        gone.unlink()
        make("c.jsonl", line("x"))
        for tried, left in ((True, 3), (False, 1)):
            plans: list[tuple[PrunePlan, int]] = []
            report = prune(on_plan=lambda plan, plans=plans: plans.append((plan, len(texts()))), dry_run=tried)
            assert plans == [(PrunePlan(gone={str(gone): 1}, shortened={str(corpus): 1}), 3)]
            assert plans[0][0].passages == 2
            assert report.deleted == 3 - left
            assert (report.pruned, len(texts())) == ([] if tried else [str(gone)], left)

    def test_after_indexing_takes_out_nothing_of_other_folders(self, make: Make) -> None:
        gone_there, gone_here = make("there/a.txt", "Gone there."), make("here/b.txt", "Gone here.")
        index([gone_there, make("there/c.txt", "There."), gone_here, make("here/sub/d.txt", "Here.")])
        gone_there.unlink()
        gone_here.unlink()

        report = index([gone_here.parent], prune=True)

        assert texts() == ["Gone there.", "Here.", "There."]
        assert report.pruned == [str(gone_here)]
