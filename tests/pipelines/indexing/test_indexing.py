"""Keeping an index in step with corpora and files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from hypothesis import given, settings
from hypothesis import strategies as st

import prefrag.components.document_stores.tantivy.analysis
import prefrag.components.document_stores.tantivy.schema
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.pipelines import indexing
from prefrag.pipelines.indexing import Progress, delete_documents, index, list_documents, prune
from prefrag.pipelines.indexing.stores import PassageStore

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a file below the folder `docs`."""

    def write(name: str, content: str | bytes = "Some text.") -> Path:
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def line(passage_id: Any, text: Any = "A square in Vienna.", title: Any = "Karlsplatz", **more: Any) -> str:
    return json.dumps({"id": passage_id, "title": title, "text": text, **more}) + "\n"


def stored(name: str = "default") -> dict[str, Document]:
    documents = TantivyDocumentStore(path=str(index_path(name))).filter_documents()
    return {document.id: document for document in documents}


def texts(name: str = "default") -> list[str]:
    return sorted(document.content or "" for document in stored(name).values())


class TestACorpus:
    def test_gives_a_passage_a_line_known_by_its_id(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", year=1990, tags=["x"]) + line(7, "Another.", title=None, source="web"))

        report = index([corpus])

        assert (report.written, report.replaced, report.unchanged, report.skipped) == (2, 0, 0, [])
        assert stored()["a"].content == "A square in Vienna."
        assert stored()["a"].meta == {"title": "Karlsplatz", "year": 1990, "tags": ["x"], "corpus": str(corpus)}
        assert stored()["7"].meta == {"corpus": str(corpus)}

    def test_is_not_written_twice(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a") + line("b"))
        index([corpus])

        report = index([corpus])

        assert (report.written, report.unchanged, report.unchanged_files) == (0, 2, 1)
        assert set(stored()) == {"a", "b"}

    def test_brings_only_its_new_and_changed_lines(self, make: Make) -> None:
        index([make("c.jsonl", line("a") + line("b") + line("c"))])

        report = index([make("c.jsonl", line("a") + line("b", "Now another text.") + line("d"))])

        assert (report.written, report.replaced, report.unchanged) == (2, 1, 1)
        assert stored()["b"].content == "Now another text."
        assert set(stored()) == {"a", "b", "c", "d"}

    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            (b"{not json", "not JSON"),
            (b'{"id": "x", "text": "cut o', "not JSON"),
            (b"\xff\xfe\x00", "not UTF-8"),
            (b'["a list"]', "expected a JSON object"),
            (b'{"id": "x"}', "expected a JSON object"),
            (b'{"id": "", "text": "t"}', "'id' must be text"),
            (b'{"id": true, "text": "t"}', "'id' must be text"),
            (b'{"id": "' + b"x" * 600 + b'", "text": "t"}', "512 bytes"),
            (b'{"id": "x", "text": "  "}', "'text' must be text, and not empty"),
            (b'{"id": "x", "text": 5}', "'text' must be text"),
            (b'{"id": "x", "text": "t", "title": 5}', "'title' must be text"),
            (b'{"id": "x", "text": "t", "n": NaN}', "NaN is no number"),
            (b'{"id": "x", "text": "t", "n": 1e999}', "1e999 is no number"),
            (b'{"id": "x", "text": "\\uD800"}', "surrogate"),
            (b'{"id": "x", "text": "t", "n": ' + b"[" * 100_000, "not JSON"),
            (b'{"id": "x", "text": "t", "when": {"__date__": "2020-01-01"}}', "'__date__' is how dates are stored"),
            (b'{"id": "x", "text": "t", "list": [{"__datetime__": 1}]}', "'__datetime__' is how dates are stored"),
            (b'{"id": "good", "text": "again"}', "the id 'good' is that of an earlier line"),
        ],
    )
    def test_names_a_line_that_is_no_passage_and_goes_on(self, make: Make, bad: bytes, reason: str) -> None:
        corpus = make("c.jsonl", line("good").encode() + b"\n" + bad + b"\n" + line("last").encode())

        report = index([corpus])

        assert set(stored()) == {"good", "last"}
        assert [(skipped.path, skipped.line) for skipped in report.skipped] == [(str(corpus), 3)]
        assert reason in str(report.skipped[0])

    def test_passes_over_a_line_without_end(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(indexing, "MOST_LINE_BYTES", 200)
        corpus = make("c.jsonl", line("a") + line("long", "x" * 1000) + line("b"))

        report = index([corpus])

        assert set(stored()) == {"a", "b"}
        assert [skipped.line for skipped in report.skipped] == [2]

    def test_names_only_the_first_of_many_bad_lines(self, make: Make) -> None:
        report = index([make("c.jsonl", line("a") + "bad\n" * 500)])

        assert (len(report.skipped), report.skipped_lines) == (indexing.MOST_NAMED_LINES, 500)

    def test_that_is_none_gets_one_word(self, make: Make) -> None:
        report = index([make("dev.jsonl", '{"id": "q", "question": "Why?"}\n' * 50), make("empty.jsonl", "\n")])

        assert [skipped.reason.split(";")[0] for skipped in report.skipped] == [
            "no line of it was taken",
            "it is empty",
        ]
        assert (report.files, report.skipped_lines) == (0, 0)

    def test_keeps_names_that_would_be_taken_for_the_store_s_own(self, make: Make) -> None:
        more = {"content": "x", "score": 3, "file_path": "/y", "title_key": "k", "meta": {"lang": "de", "id": "z"}}
        corpus = make("c.jsonl", line("a", **more))

        index([corpus])

        assert stored()["a"].content == "A square in Vienna."
        assert stored()["a"].score is None
        expected = {"content_": "x", "score_": 3, "file_path_": "/y", "title_key_": "k", "lang": "de", "id_": "z"}
        assert expected.items() <= stored()["a"].meta.items()

    def test_larger_than_a_batch_is_written_in_parts_and_each_part_is_reported(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(PassageStore, "batch", 3)
        corpus = make("c.jsonl", "".join(line(str(number)) for number in range(8)))
        seen: list[Progress] = []

        def check(progress: Progress) -> None:
            assert len(stored()) == progress.written
            seen.append(progress)

        index([corpus], on_progress=check)

        assert [progress.written for progress in seen] == [3, 6, 8]
        assert [progress.bytes_done for progress in seen] == sorted(progress.bytes_done for progress in seen)
        assert seen[-1].bytes_done == seen[-1].bytes_total == corpus.stat().st_size

    def test_that_moved_keeps_its_passages(self, make: Make) -> None:
        old = make("old.jsonl", line("a"))
        index([old])
        new = old.rename(old.with_name("new.jsonl"))

        index([new], prune=True)

        assert stored()["a"].meta["corpus"] == str(new)

    def test_is_found_however_its_accents_are_written(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", "Eine Bru\u0308cke.", "Ko\u0308penick"))

        index([corpus])

        assert (stored()["a"].content, stored()["a"].meta["title"]) == ("Eine Br\u00fccke.", "K\u00f6penick")
        assert index([corpus]).unchanged == 1

    def test_is_stored_in_the_form_in_which_it_is_asked_for(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", "The \ufb01nance house.", "\ufb02ow"))

        index([corpus])

        assert (stored()["a"].content, stored()["a"].meta["title"]) == ("The finance house.", "flow")
        assert index([corpus]).unchanged == 1

    def test_with_ligatures_is_found_in_an_index_that_was_made_when_they_were_kept(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text, title = "The \ufb01nance house.", "O\u00b4Hara"
        corpus = make("c.jsonl", line("a", text, title) + line("b"))
        store = TantivyDocumentStore(path=str(index_path("default")))
        with monkeypatch.context() as before:
            before.setattr(prefrag.components.document_stores.tantivy.analysis, "one_form", lambda text: text)
            before.setattr(prefrag.components.document_stores.tantivy.schema, "title_key", lambda title: title.lower())
            origin = {"corpus": str(corpus)}
            store.write_documents(
                [
                    Document(id="a", content=text, meta={"title": title, **origin}),
                    Document(id="b", content="A square in Vienna.", meta={"title": "Karlsplatz", **origin}),
                ]
            )

        report = index([corpus])

        assert (report.replaced, report.unchanged) == (1, 1)
        for query in ("\ufb01nance", "finance"):
            assert [document.id for document in store.search(query)] == ["a"]
        assert store.documents_by_title({"ohara": ""}).keys() == {"ohara"}

    @pytest.mark.parametrize("batch", [1, 2, 10_000])
    def test_with_an_id_twice_keeps_the_first_however_far_apart(
        self, make: Make, monkeypatch: pytest.MonkeyPatch, batch: int
    ) -> None:
        monkeypatch.setattr(PassageStore, "batch", batch)
        # The ids are sorted away in parts, and looked for among both.
        monkeypatch.setattr(indexing._Ids, "_MOST_UNSORTED", 2)
        corpus = make("c.jsonl", line("a", "First.") + line("b", "Second.") + line("c", "Third.") + line("a", "Lost."))

        for _ in range(2):
            report = index([corpus])

            assert texts() == ["First.", "Second.", "Third."]
            assert [(skipped.line, skipped.reason.split(":")[0]) for skipped in report.skipped] == [
                (4, "the id 'a' is that of an earlier line")
            ]
        assert (report.written, report.unchanged) == (0, 3)


class TestTwoCorporaWithTheSameIds:
    def test_keep_the_first_and_name_the_other(self, make: Make) -> None:
        first = make("a.jsonl", line(1, "Alpha.") + line(2, "Beta."))
        second = make("b.jsonl", line(1, "Gamma.") + line(3, "Delta."))

        for written in (3, 0):
            report = index([first, second])

            assert texts() == ["Alpha.", "Beta.", "Delta."]
            assert (report.written, report.replaced) == (written, 0)
            [skipped] = report.skipped
            assert (skipped.path, skipped.line) == (str(second), 1)
            assert f"the id '1' is that of a passage of {first}" in skipped.reason

    def test_that_say_the_same_lose_nothing(self, make: Make) -> None:
        report = index([make("a.jsonl", line(1)), make("b.jsonl", line(1) + line(2))])

        assert set(stored()) == {"1", "2"}
        assert (report.written, report.unchanged, report.skipped) == (2, 1, [])

    def test_pass_on_a_line_that_moved_from_one_to_the_other(self, make: Make) -> None:
        index([make("a.jsonl", line(1, "Alpha.") + line(2))])

        report = index([make("a.jsonl", line(2)), make("b.jsonl", line(1, "Alpha, put right."))], prune=True)

        assert texts() == ["A square in Vienna.", "Alpha, put right."]
        assert (report.replaced, report.deleted, report.skipped) == (1, 0, [])

    def test_count_a_line_that_cannot_be_read_as_the_one_in_question(self, make: Make) -> None:
        index([make("a.jsonl", line(1, "Alpha."))])

        report = index([make("a.jsonl", line(1, "Alpha.")[:20]), make("b.jsonl", line(1, "Beta."))])

        assert texts() == ["Alpha."]
        assert len(report.skipped) == 2


class TestSplitSources:
    def test_two_indexes_hold_what_each_source_has(self, make: Make) -> None:
        sources = {"l": "local", "w": "web", "b": "both"}
        corpus = make("c.jsonl", "".join(line(key, source=source) for key, source in sources.items()))

        report = index([corpus], split_sources=True)

        assert (set(stored()), set(stored("default-web"))) == ({"l", "b"}, {"w", "b"})
        assert report.written == 4
        assert index([corpus], split_sources=True).written == 0

    def test_a_passage_that_changed_sides_leaves_the_first(self, make: Make) -> None:
        index([make("c.jsonl", line("a", source="local") + line("b", source="both"))], split_sources=True)

        report = index([make("c.jsonl", line("a", source="web") + line("b", source="local"))], split_sources=True)

        assert (set(stored()), set(stored("default-web"))) == ({"b"}, {"a"})
        assert report.deleted == 2

    def test_a_passage_of_another_corpus_with_the_same_id_stays(self, make: Make) -> None:
        index([make("a.jsonl", line("x", "First.", source="local"))], split_sources=True)

        index([make("b.jsonl", line("x", "Second.", source="web"))], split_sources=True)

        assert (texts(), texts("default-web")) == (["First."], ["Second."])

    def test_a_line_without_a_source_is_named(self, make: Make) -> None:
        report = index([make("c.jsonl", line("a", source="both") + line("b"))], split_sources=True)

        assert [skipped.line for skipped in report.skipped] == [2]


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
        monkeypatch.setattr(indexing.FileConverter, "passages", None)

        report = index([path])

        assert (report.written, report.unchanged, report.unchanged_files) == (0, 1, 1)
        assert stored() == before

    def test_that_changed_replace_their_passages(self, make: Make) -> None:
        make("other.txt", "Another file.")
        index([make("a.txt", "A sentence of six words is. " * 100).parent])

        report = index([make("a.txt", "Now short.").parent])

        assert texts() == ["Another file.", "Now short."]
        assert (report.written, report.replaced, report.unchanged, report.deleted) == (1, 1, 1, 0)

    def test_that_cannot_be_read_are_named_and_the_others_indexed(self, make: Make) -> None:
        make("1.txt", "Caf\u00e9".encode("latin-1"))
        make("2.txt", "")
        make("3.txt", "Good.")
        make("4.bin", "x")

        report = index([make("5.txt", "Fine.").parent])

        assert texts() == ["Fine.", "Good."]
        assert [Path(skipped.path).name for skipped in report.skipped] == ["4.bin", "1.txt", "2.txt"]

    def test_without_permission_are_named(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        path = make("a.txt")
        monkeypatch.setattr(Path, "read_bytes", _denied)

        assert "Permission denied" in str(index([path, make("b.txt")]).skipped[0])

    def test_that_cannot_be_read_any_more_keep_their_passages(self, make: Make) -> None:
        index([make("a.txt", "Before.")])

        report = index([make("a.txt", "")])

        assert texts() == ["Before."]
        assert "its earlier passages stay" in report.skipped[0].reason

    def test_too_large_are_named(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(indexing, "MOST_BYTES", 5)

        assert "split it" in index([make("a.txt", "More than five.")]).skipped[0].reason

    def test_hidden_ones_are_left_out_unless_they_are_named(self, make: Make, tmp_path: Path) -> None:
        make(".git/a.txt", "Hidden folder.")
        hidden = make(".b.txt", "Hidden file.")
        make("c.txt", "Seen.")

        report = index([tmp_path / "docs"])

        assert texts() == ["Seen."]
        assert report.skipped == []
        index([hidden])
        assert texts() == ["Hidden file.", "Seen."]

    def test_of_a_corpus_in_the_same_folder_are_passages_too(self, make: Make) -> None:
        make("c.jsonl", line("a"))

        index([make("b.txt", "A file.").parent])

        assert texts() == ["A file.", "A square in Vienna."]

    def test_a_missing_path_stops_before_anything_is_indexed(self, make: Make, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"There is no file or folder .*typo\. Nothing was indexed"):
            index([make("a.txt"), tmp_path / "typo"])

        assert not index_path("default").exists()

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_a_pipe_is_named_and_not_waited_for(self, make: Make) -> None:
        folder = make("a.txt").parent
        os.mkfifo(folder / "pipe.txt")

        assert [skipped.reason for skipped in index([folder]).skipped] == ["it is not a regular file"]

    def test_a_name_that_is_no_text_is_named(self, make: Make) -> None:
        folder = make("a.txt").parent
        try:
            (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt"))).write_text("x")
        except OSError:
            pytest.skip("this file system takes only names in UTF-8")

        report = index([folder])

        assert "rename it" in report.skipped[0].reason
        assert str(report.skipped[0]).encode()


def _denied(path: Path) -> bytes:
    if path.name == "a.txt":
        raise PermissionError(13, "Permission denied")
    return b"Text."


class TestOneFileHasOneIdentity:
    def test_however_often_and_by_whatever_path_it_is_given(
        self, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = make("inner/a.txt")
        monkeypatch.chdir(tmp_path)

        report = index(["docs", "docs/inner", "docs/inner/../inner/a.txt", str(path), path])

        assert (report.files, report.written) == (1, 1)
        assert index([path.parent]).unchanged == 1
        assert [passage.meta["file_path"] for passage in stored().values()] == [str(path)]

    def test_through_links_and_loops_of_links(self, make: Make, tmp_path: Path) -> None:
        path = make("inner/a.txt")
        (tmp_path / "docs" / "loop").symlink_to(tmp_path / "docs")
        # Two links in one folder: followed without end, each level would double the folders.
        (path.parent / "up").symlink_to(path.parent)
        (path.parent / "again").symlink_to(path.parent)
        (path.parent / "same.txt").symlink_to(path)
        (tmp_path / "docs" / "broken.txt").symlink_to(tmp_path / "nowhere")

        report = index([tmp_path / "docs"])

        assert [passage.meta["file_path"] for passage in stored().values()] == [str(path)]
        assert ["No such file" in skipped.reason for skipped in report.skipped] == [True]

    def test_two_files_of_the_same_content_are_two(self, make: Make) -> None:
        index([make("a.txt", "Same."), make("b.txt", "Same.")])

        assert len(stored()) == 2


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

        def denied(asked: Any, **options: Any) -> os.stat_result:
            if asked == str(path):
                raise PermissionError(13, "Permission denied")
            return look(asked, **options)

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


class TestListAndDelete:
    @pytest.fixture
    def folder(self, make: Make) -> Path:
        make("c.jsonl", line("x") + line("y"))
        make("sub/b.txt", "In the folder.")
        folder = make("a.txt", "A sentence of six words is. " * 100).parent
        index([folder])
        return folder

    def test_lists_an_entry_a_file_or_corpus(self, folder: Path) -> None:
        TantivyDocumentStore(path=str(index_path("default"))).write_documents([Document(content="By hand.")])

        listed = [(entry.path, entry.kind, entry.title, entry.passages) for entry in list_documents()]

        count = len(stored()) - 4
        assert listed == [
            (str(folder / "a.txt"), "file", "a", count),
            (str(folder / "c.jsonl"), "corpus", "c.jsonl", 2),
            (str(folder / "sub" / "b.txt"), "file", "b", 1),
            (None, "other", "", 1),
        ]

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

    def test_a_listing_needs_an_index(self) -> None:
        with pytest.raises(FileNotFoundError, match="prefrag index"):
            list_documents("nothing")


class TestCrashes:
    def test_between_writing_and_deleting_leave_both_versions_and_the_next_call_clears_up(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
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

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
    @pytest.mark.parametrize("kill_after", [1, 4])
    def test_kill_9_loses_nothing_that_was_reported(self, make: Make, tmp_path: Path, kill_after: int) -> None:
        for number in range(6):
            make(f"{number}.txt", f"File {number}. " + "A sentence of six words is. " * 60)
        folder = make("c.jsonl", "".join(line(str(number)) for number in range(200))).parent
        script = (
            "import os, signal, sys\n"
            "from prefrag.pipelines import indexing\n"
            "from prefrag.pipelines.indexing.stores import PassageStore\n"
            "PassageStore.batch, indexing._MOST_SECONDS_UNSAVED = 60, 0\n"
            "seen = []\n"
            "def report(progress):\n"
            "    if progress.written not in (0, *seen):\n"
            "        seen.append(progress.written)\n"
            "        print(progress.written, flush=True)\n"
            f"    if len(seen) == {kill_after}:\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "indexing.index([sys.argv[1]], on_progress=report)\n"
        )
        killed = subprocess.run(
            [sys.executable, "-c", script, str(folder)],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr

        reported = int(killed.stdout.split()[-1])
        assert 0 < reported <= len(stored())
        index([folder])
        whole = stored()
        other = InMemoryDocumentStore()
        index([folder], store=other)
        assert {document.id for document in other.filter_documents()} == set(whole)
        assert index([folder]).written == 0


def _crash(*_: Any) -> None:
    raise KeyboardInterrupt


class TestStores:
    def test_any_haystack_document_store_will_do(self, make: Make) -> None:
        store = InMemoryDocumentStore()
        folder = make("a.txt", "A sentence of six words is. " * 60).parent
        make("c.jsonl", line("x"))
        index([folder], store=store)
        before = sorted(document.id for document in store.filter_documents())

        assert index([folder], store=store).written == 0
        assert sorted(document.id for document in store.filter_documents()) == before
        assert sum(entry.passages for entry in list_documents(store=store)) == len(before)
        assert delete_documents(["x"], store=store).passages == 1

    def test_passages_written_by_others_stay(self, make: Make) -> None:
        store = InMemoryDocumentStore()
        store.write_documents([Document(id="mine", content="By hand.")], policy=DuplicatePolicy.FAIL)

        index([make("a.txt")], store=store, prune=True)

        assert "mine" in {document.id for document in store.filter_documents()}

    def test_an_unknown_store_is_refused(self, make: Make) -> None:
        with pytest.raises(ValueError, match="choose from tantivy, elasticsearch"):
            index([make("a.txt")], store="faiss")

    def test_the_language_belongs_to_the_index(self, make: Make) -> None:
        index([make("a.txt", "Die H\u00e4user stehen.")], language="german")

        assert TantivyDocumentStore(path=str(index_path("default"))).search("Haus stehend", top_k=1)
        with pytest.raises(ValueError, match="german"):
            index([make("a.txt")], language="french")

    def test_a_server_that_is_not_there_is_named_with_the_variable_that_moves_it(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://127.0.0.1:9")
        with pytest.raises(Exception, match="PREFRAG_ELASTICSEARCH_URL"):
            index([make("a.txt")], store="elasticsearch")
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "nonsense")
        with pytest.raises(ValueError, match="PREFRAG_ELASTICSEARCH_URL"):
            index([make("a.txt")], store="elasticsearch")


_NAMES = st.sampled_from(["a.txt", "b.txt", "sub/c.txt", "d.jsonl"])
_CONTENTS = st.sampled_from(["", "One.", "Two.", "A sentence of six words is. " * 40, None])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.dictionaries(_NAMES, _CONTENTS), min_size=1, max_size=4))
def test_whatever_happened_before_the_index_ends_up_as_if_made_anew(history: list[dict[str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        grown = InMemoryDocumentStore()
        for changes in history:
            for name, content in changes.items():
                path = folder / name
                path.unlink(missing_ok=True)
                # An emptied file keeps what it had, so here it is removed.
                if content:
                    path.parent.mkdir(exist_ok=True)
                    rows = "".join(line(row, f"{row} {content}") for row in content.split()[:2])
                    path.write_text(rows if name.endswith(".jsonl") else content)
            index([folder], store=grown, prune=True)

        fresh = InMemoryDocumentStore()
        index([folder], store=fresh)
        assert _contents(grown) == _contents(fresh)
        assert index([folder], store=grown).written == 0


def _contents(store: InMemoryDocumentStore) -> dict[str, tuple[str | None, dict[str, Any]]]:
    return {document.id: (document.content, document.meta) for document in store.filter_documents()}
