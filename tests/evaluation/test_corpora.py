"""Indexing the corpora that an evaluation searches."""

import bz2
import json
import logging
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from haystack import Document

import prefrag.evaluation.corpora
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import PassageStore, index_lock
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import data_directory, index_path
from prefrag.evaluation.corpora import ensure_indexes, index_corpus
from prefrag.indexing.report import Progress
from tests.for_each import for_each
from tests.python_process import run_python, start_python

PUBLISHED = Path(__file__).parent / "datasets" / "published"
OWN = PUBLISHED / "own" / "musique" / "corpus.jsonl"
DPR = PUBLISHED / "dpr" / "psgs_w100.tsv"


def stored(name: str) -> dict[str, Document]:
    documents = TantivyDocumentStore(path=str(index_path(name))).filter_documents()
    return {document.id: document for document in documents}


def indexes() -> set[str]:
    return {path.name for path in (data_directory() / "indexes").iterdir()}


def table(path: Path, numbers: range, word: str = "text") -> Path:
    """Write a corpus in DPR's format."""
    rows = "".join(f"{number}\tThe {word} of passage {number}.\tTitle {number}\n" for number in numbers)
    path.write_text(f"id\ttext\ttitle\n{rows}")
    return path


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PassageStore, "batch", 10)


class TestTheIndexesOfAnEvaluation:
    def test_whole_corpus_is_one_index_and_a_split_one_two(self) -> None:
        """Another corpus can stand in for the web."""

        local, web = ensure_indexes(OWN, split=True)
        assert web is not None
        assert indexes() == {local, web}, "nothing unfinished is left"
        assert (set(stored(local)), set(stored(web))) == ({"mq-1", "mq-2"}, {"mq-2", "mq-3"})
        local, web = ensure_indexes(OWN, split=False)
        assert (set(stored(local)), web) == ({"mq-1", "mq-2", "mq-3"}, None)
        local, web = ensure_indexes(OWN, split=False, web_corpus=DPR)
        assert (len(stored(local)), len(stored(str(web)))) == (3, 2)
        with pytest.raises(ValueError, match="not both"):
            ensure_indexes(OWN, split=True, web_corpus=DPR)

    @pytest.mark.parametrize("split", [True, False])
    def test_a_second_call_uses_them_as_they_are(self, split: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        first = ensure_indexes(OWN, split=split)
        monkeypatch.setattr(prefrag.evaluation.corpora, "index_corpus", None)
        assert ensure_indexes(OWN, split=split) == first

    def test_copy_of_the_corpus_has_the_same_index_a_changed_another(self, tmp_path: Path) -> None:
        first = ensure_indexes(OWN, split=False)
        (tmp_path / "copy.jsonl").write_bytes(OWN.read_bytes())
        assert ensure_indexes(tmp_path / "copy.jsonl", split=False) == first
        (tmp_path / "copy.jsonl").write_text(OWN.read_text() + json.dumps({"id": "mq-4", "text": "One more."}))
        changed = ensure_indexes(tmp_path / "copy.jsonl", split=False)
        assert (len(stored(first.local)), len(stored(changed.local))) == (3, 4)

    @pytest.mark.parametrize("corpus", [OWN, DPR])
    def test_a_new_way_of_making_them_makes_them_anew(self, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        first = ensure_indexes(corpus, split=False)
        monkeypatch.setattr(prefrag.evaluation.corpora, "_RECIPE", "another")
        assert ensure_indexes(corpus, split=False) != first

    @pytest.mark.slow
    def test_two_processes_that_want_the_same_new_index_make_it_once(self, tmp_path: Path) -> None:
        corpus = table(tmp_path / "c.tsv", range(60))
        want = """
import sys
from prefrag.evaluation.corpora import ensure_indexes
from prefrag.collections.stores import PassageStore
PassageStore.batch = 10
def show(progress):
    print(progress.written, flush=True)
    if len(sys.argv) > 2:
        sys.stdin.readline()
ensure_indexes(sys.argv[1], split=False, on_progress=show)
"""
        with start_python("-c", want, corpus, "slowly") as first:
            assert first.stdout is not None
            assert first.stdout.readline() == "10\n"
            with start_python("-c", want, corpus) as second:
                assert second.stderr is not None
                assert "is making the index" in second.stderr.readline()
                assert len(first.communicate("\n" * 10, timeout=60)[0].split()) == 5
                printed, _ = second.communicate(timeout=60)
        assert (first.returncode, second.returncode, printed) == (0, 0, "")
        [name] = indexes()
        assert len(stored(name)) == 60

    def test_the_wait_for_another_has_an_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(prefrag.evaluation.corpora, "index_lock", lambda name: index_lock(name, wait=0.0))
        names = ensure_indexes(OWN, split=False)
        index_path(names.local).rename(index_path("elsewhere"))

        with index_lock(names.local), pytest.raises(ValueError, match="still making the index .* after 0 seconds"):
            ensure_indexes(OWN, split=False)

    def test_index_without_file_locks_may_be_made_twice_and_serves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("filelock.lock_descriptor", Mock(side_effect=OSError("no locks here")))

        def meanwhile(*arguments: Any, **more: Any) -> Any:
            report = index_corpus(*arguments, **more)
            monkeypatch.setattr(prefrag.evaluation.corpora, "index_corpus", index_corpus)
            ensure_indexes(OWN, split=True)
            # This process still writes after another one has put the index in place.
            return index_corpus(*arguments, **more) and report

        monkeypatch.setattr(prefrag.evaluation.corpora, "index_corpus", meanwhile)
        local, web = ensure_indexes(OWN, split=True)
        assert indexes() == {local, web}
        assert (len(stored(local)), len(stored(str(web)))) == (2, 2)

    def test_a_split_half_in_place_is_finished(self) -> None:
        local, web = ensure_indexes(OWN, split=True)
        # The earlier call stopped between the two renames.
        index_path(local).rename(index_path(f"{local}.part"))
        assert ensure_indexes(OWN, split=True) == (local, web)
        assert indexes() == {local, web}
        assert (len(stored(local)), len(stored(str(web)))) == (2, 2)

    @for_each(
        "source, message",
        ({"source": "local"}, "no passage with source 'web' or 'both': set split=false"),
        ({"source": "web"}, "no passage with source 'local' or 'both': set split=false"),
        ({}, "'source' must be local, web or both"),
    )
    def test_a_corpus_of_one_source_or_none_is_not_split(
        self, tmp_path: Path, source: dict[str, str], message: str
    ) -> None:
        (tmp_path / "c.jsonl").write_text(json.dumps({"id": "a", "text": "T", **source}))
        with pytest.raises(ValueError, match=message):
            ensure_indexes(tmp_path / "c.jsonl", split=True)
        with pytest.raises(ValueError, match="format dpr and does not name the source"):
            ensure_indexes(DPR, split=True)

    def test_a_corpus_without_a_passage_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="p.tsv holds no passage"):
            ensure_indexes(table(tmp_path / "p.tsv", range(0)), split=False)
        with pytest.raises(ValueError, match="none of its lines is a passage"):
            ensure_indexes(PUBLISHED / "own" / "musique" / "dev.jsonl", split=False)

    def test_what_is_skipped_is_reported_once(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "c.jsonl").write_text(OWN.read_text() + "broken\n")
        skipped: list[Any] = []
        with caplog.at_level(logging.WARNING):
            ensure_indexes(tmp_path / "c.jsonl", split=True)
            assert "c.jsonl, line 4: it is not JSON" in caplog.text
            caplog.clear()
            ensure_indexes(tmp_path / "c.jsonl", split=False, on_skipped=skipped.append)
            ensure_indexes(tmp_path / "c.jsonl", split=False, on_skipped=skipped.append)
        assert [line.line for line in skipped] == [4]
        assert not caplog.text


class TestACorpusInAPublishedForm:
    @pytest.mark.parametrize(
        ("file", "passages"),
        [
            ("own/musique/corpus.jsonl", 3),
            ("hotpotqa/hotpot_dev_distractor_v1.json", 5),
            ("2wikimultihopqa/dev.json", 4),
            ("2wikimultihopqa/para_with_hyperlink.jsonl", 2),
            ("musique/musique_full_v1.0_dev.jsonl", 5),
            ("ircot/musique/test_subsampled.jsonl", 4),
            ("bioasq/11B1_golden.json", 3),
            ("beir/corpus.jsonl", 2),
            ("dpr/psgs_w100.tsv", 2),
        ],
    )
    def test_its_passages_are_in_the_index_once(self, file: str, passages: int) -> None:
        report = index_corpus(PUBLISHED / file, LocalCollection("test"))
        assert (report.written, report.unchanged, len(stored("test"))) == (passages, 0, passages)
        report = index_corpus(PUBLISHED / file, LocalCollection("test"))
        assert (report.written, report.unchanged) == (0, passages)

    def test_a_folder_is_a_corpus(self, tmp_path: Path) -> None:
        article = {"id": "12", "url": "u", "title": "Ada Quill", "text": ["She was a clockmaker."]}
        (tmp_path / "AA").mkdir()
        (tmp_path / "AA" / "wiki_00.bz2").write_bytes(bz2.compress(json.dumps(article).encode()))
        first, _ = ensure_indexes(tmp_path, split=False)
        assert set(stored(first)) == {"Ada Quill"}
        (tmp_path / "AA" / "wiki_01.bz2").write_bytes(bz2.compress(json.dumps({**article, "title": "B"}).encode()))
        second, _ = ensure_indexes(tmp_path, split=False)
        assert set(stored(second)) == {"Ada Quill", "B"}

    def test_a_changed_passage_takes_the_place_of_the_earlier_one(self, tmp_path: Path) -> None:
        index_corpus(table(tmp_path / "p.tsv", range(3)), LocalCollection("test"))
        report = index_corpus(table(tmp_path / "p.tsv", range(3), "new text"), LocalCollection("test"))
        assert (report.written, report.replaced) == (3, 3)
        assert stored("test")["0"].content == "The new text of passage 0."

    def test_its_texts_are_stored_in_the_form_of_the_queries(self, tmp_path: Path) -> None:
        corpus = tmp_path / "c.tsv"
        corpus.write_text("id\ttext\ttitle\nBru\u0308cke\tThe \ufb01nance house.\tKo\u0308penick\n", encoding="utf-8")
        index_corpus(corpus, LocalCollection("i"))
        [passage] = stored("i").values()
        assert passage.id == "Bru\u0308cke"
        assert (passage.content, passage.meta["title"]) == ("The finance house.", "K\u00f6penick")
        assert index_corpus(corpus, LocalCollection("i")).unchanged == 1

    @pytest.mark.usefixtures("small_batches")
    def test_progress_counts_what_is_safe(self, tmp_path: Path) -> None:
        seen: list[Progress] = []
        written: list[int] = []

        def note(progress: Progress) -> None:
            seen.append(progress)
            written.append(len(stored("test")))

        file = table(tmp_path / "p.tsv", range(25))
        index_corpus(file, LocalCollection("test"), on_progress=note)
        assert [progress.written for progress in seen] == written == [10, 20, 25]
        assert seen[-1].bytes_done == seen[-1].bytes_total == file.stat().st_size

    @pytest.mark.usefixtures("small_batches")
    def test_a_broken_record_is_named_and_what_was_before_it_is_safe(self, tmp_path: Path) -> None:
        file = table(tmp_path / "p.tsv", range(25))
        file.write_text(file.read_text() + "25\tno title\n")
        with pytest.raises(ValueError, match=r"p\.tsv, line 27: expected 3 columns, not 2"):
            ensure_indexes(file, split=False)
        [unfinished] = indexes()
        assert len(stored(unfinished)) == 20

    @pytest.mark.usefixtures("small_batches")
    def test_passages_are_read_as_they_are_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ahead = 0
        read = 0

        def passages(*_: Any) -> Iterator[Document]:
            nonlocal read
            for number in range(100):
                read += 1
                yield Document(id=str(number), content="A text.")

        def note(progress: Progress) -> None:
            nonlocal ahead
            ahead = max(ahead, read - progress.written)

        monkeypatch.setattr(prefrag.evaluation.corpora, "read_passages", passages)
        index_corpus(table(tmp_path / "p.tsv", range(1)), LocalCollection("test"), on_progress=note)
        assert (read, ahead) == (100, 0)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_after_a_kill_the_next_call_does_only_what_is_missing(tmp_path: Path, form: str) -> None:
    if form == "tsv":
        corpus = table(tmp_path / "c.tsv", range(40))
    else:
        corpus = tmp_path / "c.jsonl"
        corpus.write_text("".join(json.dumps({"id": str(i), "text": f"Passage {i}."}) + "\n" for i in range(40)))
    killed = """
import os, signal, sys
from prefrag.evaluation.corpora import ensure_indexes
from prefrag.collections.stores import PassageStore
PassageStore.batch = 10
def stop(progress):
    if progress.written >= 20:
        os.kill(os.getpid(), signal.SIGKILL)
ensure_indexes(sys.argv[1], split=False, on_progress=stop)
"""
    assert run_python(killed, corpus).returncode == -signal.SIGKILL
    [unfinished] = indexes()
    assert unfinished.endswith(".part")
    assert len(stored(unfinished)) == 20

    last: list[Progress] = []
    local, _ = ensure_indexes(corpus, split=False, on_progress=last.append)
    assert (last[-1].written, last[-1].unchanged) == (20, 20)
    assert len(stored(local)) == 40
    assert indexes() == {local}
