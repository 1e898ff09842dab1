"""With damaged files or a full disk, there is a clear error, never a panic, and no stored document is lost."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from tests.components.document_stores.tantivy.passages import damage, exchange, passage
from tests.for_each import for_each
from tests.full_disk import files_of_at_most, say_full
from tests.indexes import index_of

HERONS = [passage(f"{n}", f"The heron number {n} by the river", f"Bird {n}") for n in range(300)]
CALLS: dict[str, Callable[[TantivyDocumentStore], Any]] = {
    "count": lambda store: store.count_documents(),
    "search": lambda store: store.search("heron river 7"),
    "list": lambda store: store.filter_documents(),
    "by id": lambda store: store.documents_by_id(["7"]),
    "by title": lambda store: store.documents_by_title({"bird 7": "heron"}),
    "titles": lambda store: store.known_title_keys(["bird 7"]),
    "frequencies": lambda store: store.document_frequencies(["heron"]),
    "analyze": lambda store: store.analyze("heron"),
    "check": lambda store: store.check(),
}


@pytest.fixture
def herons(tmp_path: Path) -> Path:
    index_of(HERONS, tmp_path / "herons")
    return tmp_path / "herons"


class _Unharmed(Exception):
    """The call did not read the damaged file."""


class TestDamagedIndex:
    @pytest.mark.parametrize("call", CALLS)
    @pytest.mark.parametrize("kind", ["fast", "idx", "store", "term", "pos"])
    def test_is_an_error_in_words_or_of_no_account(self, herons: Path, kind: str, call: str):
        damage(herons, kind)

        described = pytest.raises(DocumentStoreError, match=f"The index {herons} (is damaged|cannot be written)")
        with contextlib.suppress(_Unharmed), described:
            CALLS[call](TantivyDocumentStore(path=str(herons)))
            raise _Unharmed

    @for_each("kind", "fast", "idx", "store", "term")
    def test_is_found_by_a_check_and_takes_nothing_new(self, herons: Path, kind: str):
        damage(herons, kind)

        with pytest.raises(DocumentStoreError, match="damaged"):
            TantivyDocumentStore(path=str(herons)).check()
        if kind in ("fast", "term"):
            with pytest.raises(DocumentStoreError, match=f"The index {herons} (is damaged|cannot be written)"):
                TantivyDocumentStore(path=str(herons)).write_documents([passage("new", "A stork.")])

    @for_each("kind", "fast", "store")
    def test_is_the_failure_of_a_source_and_not_of_the_process(self, herons: Path, kind: str):
        damage(herons, kind)
        source = RetrievalSource("local", TantivyBM25Retriever(TantivyDocumentStore(path=str(herons))))

        with pytest.raises(RuntimeError, match="The source 'local' failed: TantivyBM25Retriever: The index .* damaged"):
            source.run("heron")

    @pytest.mark.parametrize("kind", ["fast", "fieldnorm", "idx", "pos", "store", "term"])
    @pytest.mark.parametrize("size", [0, 10, 4096])
    def test_an_index_cut_short_is_refused_before_it_is_read(self, herons: Path, kind: str, size: int):
        store = TantivyDocumentStore(path=str(herons))
        assert len(store.search("heron river")) == 10
        (file,) = herons.glob(f"*.{kind}")
        content = file.read_bytes()
        # The file is exchanged, not cut in place: a thread of tantivy's may still be reading it after the index was
        # opened, and reading past the end of a mapped file kills the process.
        exchange(file, content[: min(size, len(content) - 1)])

        for call in CALLS.keys() - {"analyze"}:
            with pytest.raises(DocumentStoreError, match=rf"damaged \(\w+\.{kind} has become shorter\): restore"):
                CALLS[call](store)
        exchange(file, content)
        assert len(store.search("heron river")) == 10

    def test_is_not_blamed_for_what_the_caller_did(self, herons: Path):
        with pytest.raises(ValueError, match="top_k"):
            TantivyDocumentStore(path=str(herons)).search("heron", top_k=0)


class TestCheck:
    def test_of_an_index_that_is_not_there(self, tmp_path: Path):
        with pytest.raises(FileNotFoundError):
            TantivyDocumentStore(path=str(tmp_path / "nowhere")).check()

    @pytest.mark.parametrize("documents", [HERONS, [Document(id="empty", content="")], []])
    def test_of_one_that_can_be_searched(self, tmp_path: Path, documents: list[Document]):
        store = index_of(documents or HERONS[:1], tmp_path / "index")
        if not documents:
            store.delete_all_documents()

        store.check()


@pytest.mark.skipif("sys.platform == 'win32'")
class TestFullDisk:
    # Few documents are written at the commit; many fill the writer's memory before it.
    @pytest.mark.parametrize("number", [3, pytest.param(60_000, marks=pytest.mark.slow)])
    def test_is_named_and_what_was_there_stays(self, herons: Path, monkeypatch: pytest.MonkeyPatch, number: int):
        say_full(monkeypatch)
        store = TantivyDocumentStore(path=str(herons))
        words = " ".join(f"word{n}" for n in range(40))

        with files_of_at_most(20), pytest.raises(DocumentStoreError, match="The disk is full") as caught:
            store.write_documents([passage(f"new-{n}", f"{words} {n}") for n in range(number)])

        assert "still there" in str(caught.value)
        assert store.count_documents() == len(HERONS)
        assert store.write_documents([passage("later", "A stork.")]) == 1

    @for_each("folder, message", ("herons", "cannot be written"), ("new", "Cannot make an index"))
    def test_a_disk_that_refuses_otherwise_is_not_called_full(self, herons: Path, folder: str, message: str):
        with files_of_at_most(20), pytest.raises(DocumentStoreError, match=message):
            TantivyDocumentStore(path=str(herons.parent / folder)).write_documents([passage("new", "A stork.")])
