"""An index follows its corpora and files."""

import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from hypothesis import given, settings
from hypothesis import strategies as st

from prefrag.collections.indexing import delete_documents, index, list_documents
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from tests.indexing.samples import Make, line, stored
from tests.python_process import run_python


class TestList:
    def test_lists_an_entry_a_file_or_corpus(self, folder: Path) -> None:
        TantivyDocumentStore(path=str(index_path("default"))).write_documents([Document(content="By hand.")])

        listed = [(entry.path, entry.kind, entry.title, entry.passages) for entry in list_documents()]

        count = len(stored()) - 4
        assert listed == [
            (str(folder / "a.txt"), "file", "a.txt", count),
            (str(folder / "c.jsonl"), "corpus", "c.jsonl", 2),
            (str(folder / "sub" / "b.txt"), "file", "b.txt", 1),
            (None, "other", "", 1),
        ]

    def test_a_listing_needs_an_index(self) -> None:
        with pytest.raises(FileNotFoundError, match="prefrag index"):
            list_documents(LocalCollection("nothing"))


class TestCrashes:
    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
    @pytest.mark.parametrize("kill_after", [1, 4])
    def test_kill_9_loses_nothing_that_was_reported(self, make: Make, tmp_path: Path, kill_after: int) -> None:
        for number in range(6):
            make(f"{number}.txt", f"File {number}. " + "A sentence of six words is. " * 60)
        folder = make("c.jsonl", "".join(line(str(number)) for number in range(200))).parent
        script = (
            "import os, signal, sys\n"
            "from prefrag.collections import indexing\n"
            "from prefrag.collections import files\n"
            "from prefrag.collections.stores import PassageStore\n"
            "PassageStore.batch, files._MOST_SECONDS_UNSAVED = 60, 0\n"
            "seen = []\n"
            "def report(progress):\n"
            "    if progress.written not in (0, *seen):\n"
            "        seen.append(progress.written)\n"
            "        print(progress.written, flush=True)\n"
            f"    if len(seen) == {kill_after}:\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "indexing.index([sys.argv[1]], on_progress=report)\n"
        )
        killed = run_python(script, folder)
        assert killed.returncode == -signal.SIGKILL, killed.stderr

        reported = int(killed.stdout.split()[-1])
        assert 0 < reported <= len(stored())
        index([folder])
        whole = stored()
        other = InMemoryDocumentStore()
        index([folder], other)
        assert {document.id for document in other.filter_documents()} == set(whole)
        assert index([folder]).written == 0


class TestStores:
    def test_any_haystack_document_store_will_do(self, make: Make) -> None:
        store = InMemoryDocumentStore()
        folder = make("a.txt", "A sentence of six words is. " * 60).parent
        make("c.jsonl", line("x"))
        index([folder], store)
        before = sorted(document.id for document in store.filter_documents())

        assert index([folder], store).written == 0
        assert sorted(document.id for document in store.filter_documents()) == before
        assert sum(entry.passages for entry in list_documents(store)) == len(before)
        assert delete_documents(["x"], store).passages == 1

    def test_passages_written_by_others_stay(self, make: Make) -> None:
        store = InMemoryDocumentStore()
        store.write_documents([Document(id="mine", content="By hand.")], policy=DuplicatePolicy.FAIL)

        index([make("a.txt")], store, prune=True)

        assert "mine" in {document.id for document in store.filter_documents()}


_NAMES = st.sampled_from(["a.txt", "b.txt", "sub/c.txt", "d.jsonl"])
_CONTENTS = st.sampled_from(["", "One.", "Two.", "A sentence of six words is. " * 40, None])


@settings(max_examples=settings.default.max_examples // 4)
@given(st.lists(st.dictionaries(_NAMES, _CONTENTS), min_size=1, max_size=4))
def test_index_ends_as_if_made_anew_whatever_happened_before(history: list[dict[str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        grown = InMemoryDocumentStore()
        # An empty folder is never pruned, so each folder here keeps a file.
        (folder / "sub").mkdir()
        for name in ("stays.txt", "sub/stays.txt"):
            (folder / name).write_text("Stays.")
        for changes in history:
            for name, content in changes.items():
                path = folder / name
                path.unlink(missing_ok=True)
                # The passages of an emptied file are kept, so the file is deleted instead.
                if content:
                    rows = "".join(line(row, f"{row} {content}") for row in content.split()[:2])
                    path.write_text(rows if name.endswith(".jsonl") else content)
            index([folder], grown, prune=True)

        fresh = InMemoryDocumentStore()
        index([folder], fresh)
        assert _contents(grown) == _contents(fresh)
        assert index([folder], grown).written == 0


def _contents(store: InMemoryDocumentStore) -> dict[str, tuple[str | None, dict[str, Any]]]:
    return {document.id: (document.content, document.meta) for document in store.filter_documents()}
