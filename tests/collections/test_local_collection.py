"""The list of indexes, and dropping one."""

import shutil

import pytest
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.indexing import index
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import open_index
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.errors import Missing
from tests.for_each import for_each
from tests.indexing.samples import Make, line


def test_each_index_is_listed_with_what_it_holds(make: Make) -> None:
    index([make("a.txt"), make("c.jsonl", line("x") + line("y"))], LocalCollection("papers"))
    index([make("b.txt")], LocalCollection("books"))
    LocalCollection("papers").keep_consent(True)

    books, papers = [collection.summary() for collection in LocalCollection.all()]

    assert (books.name, books.passages, books.files, books.web) == ("books", 1, 1, None)
    assert (papers.name, papers.passages, papers.files, papers.web) == ("papers", 3, 2, True)
    assert papers.bytes > 1_000
    assert str(papers.changed).endswith("+00:00")
    assert papers.problem is None


def test_long_names_and_other_origins_are_counted_deletions_not(make: Make) -> None:
    assert [collection.summary() for collection in LocalCollection.all()] == []
    index([make("/".join(["a" * 90] * 3) + ".txt"), make("a.txt", "A sentence of six words is. " * 100)])
    index([make("a.txt", "Short.")])
    TantivyDocumentStore(path=str(index_path("default"))).write_documents([*_other()])
    [entry] = [collection.summary() for collection in LocalCollection.all()]
    assert (entry.passages, entry.files) == (3, 2)


def test_damaged_index_and_misnamed_copy_are_listed_as_such(make: Make) -> None:
    index([make("a.txt")])
    shutil.copytree(index_path("default"), index_path("default").with_name("default copy"))
    (index_path("default") / "prefrag-index.json").write_text("{broken")
    entry, copy = [collection.summary() for collection in LocalCollection.all()]
    assert entry.passages is None
    assert "prefrag-index.json is cut off" in str(entry.problem)
    assert str(copy.problem).startswith("'default copy' cannot name a collection")
    LocalCollection("default").drop()
    assert len([collection.summary() for collection in LocalCollection.all()]) == 1, "a damaged one can be dropped"


def test_an_index_that_is_being_written_is_not_dropped(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefrag.collections.local_collection._WRITER_SECONDS", 0)
    index([make("a.txt")])
    opened = open_index(index_path("default"))
    assert opened is not None

    with opened.writer(1), pytest.raises(DocumentStoreError, match="Another process is still writing"):
        LocalCollection("default").drop()

    assert next(LocalCollection.all()).summary().passages == 1


@for_each("name", "../papers", "/", "", ".", "demo", "a/b", "*", "_all")
def test_a_path_or_the_demo_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a collection|is reserved for the corpus"):
        LocalCollection(name).drop()
    with pytest.raises(ValueError, match="cannot name a collection|is reserved for the corpus"):
        ElasticCollection(name).drop()


def test_an_index_that_is_not_there_is_named() -> None:
    with pytest.raises(Missing, match="There is no collection 'papers'"):
        LocalCollection("papers").drop()
    with pytest.raises(Missing, match="There is no collection 'papers'"):
        LocalCollection("papers").summary()
    with pytest.raises(ValueError, match="cannot name a collection"):
        LocalCollection("../papers").summary()


def test_dropped_index_is_gone_files_stay_and_a_search_says_so(make: Make) -> None:
    path = make("a.txt", "A buoy.")
    for name in ("papers", "books"):
        index([path], LocalCollection(name))
    store = TantivyDocumentStore(index="papers")
    assert store.search("buoy")
    LocalCollection("papers").drop()
    with pytest.raises(FileNotFoundError, match="There is no collection 'papers'"):
        store.search("buoy")
    assert [entry.name for entry in [collection.summary() for collection in LocalCollection.all()]] == ["books"]
    assert list(index_path("books").parent.iterdir()) == [index_path("books")]
    assert path.exists()
    index([make("b.txt", "Another buoy.")], LocalCollection("papers"))
    assert [document.content for document in store.search("buoy")] == ["Another buoy."]


def _other() -> list[object]:
    from haystack import Document

    return [Document(id="x", content="Written by a program.")]
