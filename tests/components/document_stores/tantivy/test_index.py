import errno
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import tantivy
from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prefrag.components.document_stores.tantivy import index as index_module
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import Index, index_exists
from tests.components.document_stores.tantivy.passages import ids, passage
from tests.for_each import for_each
from tests.python_process import run_python, start_python

WRITE_ONE = """
import sys
from haystack import Document
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
TantivyDocumentStore(path=sys.argv[1]).write_documents([Document(id=sys.argv[2], content="a heron by the river")])
"""


class TestSearch:
    def test_search_finds_inflected_words_and_cuts_at_top_k(self, towns):
        [document] = towns.search("living bear")
        assert (document.id, document.content) == ("bern", "Bears live beside the Aare.")
        assert document.score > 0

        assert towns.search("steel steel Danube") == towns.search("steel Danube")
        plain = ids(towns.search("Danube steel works"))
        assert ids(towns.search('title:(+Danube) "steel" -works~2^9 [* TO *]')) == plain
        assert len(towns.search("danube", top_k=2)) == 2

    def test_a_word_in_the_title_counts_more_than_in_a_text(self, store):
        store.write_documents([passage("text", "Heron", "Crane"), passage("title", "Crane", "Heron")])
        first, second = store.search("heron")
        assert (first.id, second.id) == ("title", "text")
        assert first.score == pytest.approx(1.25 * second.score, rel=1e-5)

    def test_scores_are_bm25_with_k1_1_2_and_b_0_75(self, store):
        store.write_documents([passage("a", "heron heron river"), passage("b", "river"), passage("c", "stone")])
        # idf = ln(1 + (3 - 1 + 0.5) / (1 + 0.5)); length 3 against a mean of 5/3; two occurrences.
        expected = 0.9808292530117262 * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / (5 / 3)))
        assert store.search("heron")[0].score == pytest.approx(expected, rel=1e-4)

    def test_accents_and_ligatures_are_found_in_any_spelling(self, store):
        store.write_documents(
            [passage("apart", "A Bru\u0308cke.", "Ko\u0308penick"), passage("whole", "A Br\u00fccke.", "K\u00f6penick")]
        )
        for query in ("K\u00f6penick", "Ko\u0308penick", "br\u00fccke"):
            assert set(ids(store.search(query))) == {"apart", "whole"}
            assert store.document_frequencies([query]) == (2, {query: 2})
        assert store.filter_documents()[0].meta["title"] == "Ko\u0308penick"
        store.write_documents([passage("printed", "The \ufb01nance o\ufb03ce.")])
        assert ids(store.search("finance office")) == ids(store.search("\ufb01nance")) == ["printed"]

    @pytest.mark.parametrize("filters", [None, {"field": "meta.title", "operator": "==", "value": "Birds"}])
    def test_equal_scores_have_the_order_of_their_ids(self, store, filters):
        keys = [f"{n * 37 % 100}" for n in range(100)]
        store.write_documents([passage(key, "heron", "Birds") for key in keys])
        assert ids(store.search("heron", top_k=10, filters=filters)) == sorted(keys)[:10]

    @for_each("query", "", "  ", "?!", "the of and", "\x00", "\ud800")
    def test_a_query_without_words_finds_nothing(self, towns, query):
        assert towns.search(query) == []

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(st.characters(exclude_categories=[]), max_size=80))
    def test_any_text_is_a_query(self, towns, text):
        assert len(towns.search(text, top_k=3)) <= 3
        assert set(ids(towns.search(text + " danube"))) >= {"vienna", "linz", "passau"}

    def test_threads_share_a_store(self, towns):
        def search_and_analyse(_: int) -> None:
            for _ in range(200):
                assert len(towns.search("Danube town")) == 3
                assert towns.analyze("Running herons") == ["run", "heron"]

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(search_and_analyse, range(8), timeout=60))


class TestTitles:
    def test_titles_come_and_go_with_their_passages(self, towns):
        assert towns.known_title_keys(["linz", "vienna", "Linz", "danube", ""]) == {"linz", "vienna"}
        towns.write_documents([passage("linz", "Renamed.", "Lentia")], DuplicatePolicy.OVERWRITE)
        towns.delete_documents(["bern"])
        assert towns.known_title_keys(["linz", "lentia", "bern", "vienna"]) == {"lentia", "vienna"}
        assert towns.documents_by_title({"linz": "", "bern": ""}) == {}

    def test_give_their_passages_best_first_for_a_text(self, store):
        store.write_documents(
            [
                passage("planet", "Close to the sun.", "Mercury (planet)"),
                passage("element", "A metal that is liquid.", "Mercury (element)"),
                passage("god", "He carries messages.", "Mercury"),
                passage("sun", "Mercury is close to it.", "Sun"),
            ]
        )
        by_title = store.documents_by_title({"mercury": "liquid metals", "sun": "", "moon": "metal"}, per_title=3)
        assert {key: ids(documents) for key, documents in by_title.items()} == {
            "mercury": ["element", *ids(by_title["mercury"])[1:]],
            "sun": ["sun"],
        }
        assert set(ids(by_title["mercury"])) == {"planet", "element", "god"}
        assert by_title["mercury"][0].score > by_title["mercury"][1].score == 0
        assert ids(store.documents_by_title({"mercury": "sun"}, per_title=1)["mercury"]) == ["planet"]

    def test_under_a_key_that_another_python_made_are_left_out(self, store, monkeypatch):
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr("prefrag.components.document_stores.tantivy.schema.title_key", lambda title: "o hara")
            store.write_documents([passage("actress", "She was Maureen.", "O\u00b4Hara")])
        assert store.documents_by_title({"o hara": ""}) == {}

    def test_with_many_passages_and_with_few_are_ranked_alike(self, store):
        store.write_documents([passage(f"many-{n}", "metal " * n, "Mercury") for n in range(1, 31)])
        store.write_documents([passage(f"few-{n}", "metal " * n, "Sun") for n in range(1, 6)])
        by_title = store.documents_by_title({"sun": "metal", "mercury": "metal"}, per_title=2)
        assert list(by_title) == ["sun", "mercury"]
        for key, documents in by_title.items():
            title = {"sun": "Sun", "mercury": "Mercury"}[key]
            by_words = [document for document in store.search("metal", top_k=40) if document.meta["title"] == title]
            assert [(document.id, document.score) for document in documents] == [
                (document.id, document.score) for document in by_words[:2]
            ]

    def test_passages_that_are_alone_have_no_score(self, store):
        store.write_documents([passage("a", "metal", "Mercury"), passage("b", "metal", "Sun"), passage("c", "", "Sun")])
        by_title = store.documents_by_title({"mercury": "metal", "sun": "metal"})
        assert [document.score for document in by_title["mercury"]] == [None]
        assert [document.id for document in by_title["sun"] if document.score] == ["b"]

    def test_passages_must_match_the_filters(self, towns):
        austrian = {"field": "meta.country", "operator": "==", "value": "at"}
        by_title = towns.documents_by_title({"linz": "town", "bern": "town"}, filters=austrian)
        assert {key: ids(documents) for key, documents in by_title.items()} == {"linz": ["linz"]}
        with pytest.raises(FilterError):
            towns.documents_by_title({"linz": ""}, filters={"country": "at"})

    def test_of_any_length_and_kind_can_be_kept(self, store):
        long = "word " * 20_000
        store.write_documents(
            [
                passage("long", "a", long),
                passage("year", "b", 1984),
                passage("none", "c"),
                passage("odd", "d", "\ud800!"),
            ]
        )
        assert store.known_title_keys(["word " * 19_999 + "word", "1984"]) == {"word " * 19_999 + "word", "1984"}
        assert store.count_documents() == 4


class TestWriting:
    def test_counts_what_was_written_and_a_deleted_id_is_new_again(self, store):
        assert store.write_documents([passage("a", "heron"), passage("b", "heron")]) == 2
        assert (store.write_documents([]), store.count_documents()) == (0, 2)
        store.delete_documents(["a", "nobody"])
        assert ids(store.search("heron")) == ["b"]
        assert store.write_documents([passage("a", "heron")]) == 1

    @pytest.mark.parametrize("policy", [DuplicatePolicy.NONE, DuplicatePolicy.FAIL])
    @pytest.mark.parametrize("batch", [["b", "a"], ["b", "b"]])
    def test_a_known_id_fails_and_writes_nothing(self, store, policy, batch):
        store.write_documents([passage("a", "heron")])
        with pytest.raises(DuplicateDocumentError, match="OVERWRITE"):
            store.write_documents([passage(key, "new") for key in batch], policy)
        assert [(d.id, d.content) for d in store.filter_documents()] == [("a", "heron")]

    @pytest.mark.parametrize(
        ("policy", "written", "expected"),
        [
            (DuplicatePolicy.SKIP, 1, [("a", "heron"), ("b", "one")]),
            (DuplicatePolicy.OVERWRITE, 3, [("a", "stork"), ("b", "two")]),
        ],
    )
    def test_skip_keeps_the_first_and_overwrite_the_last(self, store, policy, written, expected):
        store.write_documents([passage("a", "heron")])
        batch = [passage("a", "stork"), passage("b", "one"), passage("b", "two")]
        assert store.write_documents(batch, policy) == written
        assert sorted((d.id, d.content) for d in store.filter_documents()) == expected
        assert len(store.search("heron")) == (written == 1)
        assert store.write_documents([passage("a", "heron")], DuplicatePolicy.SKIP) == 0

    def test_delete_all_keeps_the_language(self, tmp_path):
        store = TantivyDocumentStore(path=str(tmp_path / "index"), language="german")
        store.write_documents([passage("a", "Reiher")])
        store.delete_all_documents()
        assert store.count_documents() == 0
        assert TantivyDocumentStore(path=store.path).analyze("die Häuser") == ["haus"]

    @pytest.mark.slow
    def test_many_writes_leave_few_segments(self, store):
        for n in range(30):
            store.write_documents([passage(str(n), "heron")])
        assert tantivy.Index.open(store.path).searcher().num_segments < 16
        assert store.count_documents() == 30

    def test_a_folder_of_something_else_is_left_alone(self, tmp_path):
        (tmp_path / "letter.txt").write_text("dear")
        with pytest.raises(DocumentStoreError, match="neither empty nor an index"):
            TantivyDocumentStore(path=str(tmp_path)).write_documents([passage("a", "heron")])
        assert [entry.name for entry in tmp_path.iterdir()] == ["letter.txt"]

    def test_threads_write_one_after_the_other(self, store):
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda n: store.write_documents([passage(str(n), "heron")]), range(4), timeout=60))
        assert store.count_documents() == 4


class TestProcesses:
    @pytest.mark.slow
    def test_a_reader_sees_what_another_process_committed(self, towns):
        assert towns.search("heron") == []
        assert run_python(WRITE_ONE, towns.path, "new").stderr == ""
        assert ids(towns.search("heron")) == ["new"]
        assert towns.count_documents() == 5

    @pytest.mark.slow
    def test_a_reader_sees_an_index_that_was_deleted_and_made_again(self, towns):
        shutil.rmtree(towns.path)
        assert towns.search("danube") == []
        assert run_python(WRITE_ONE, towns.path, "new").stderr == ""
        assert ids(towns.filter_documents()) == ["new"]

    def test_a_second_writer_waits_and_then_names_who_is_in_the_way(self, towns):
        code = """
import sys, tantivy
writer = tantivy.Index.open(sys.argv[1]).writer(50_000_000, 1)
print("holding", flush=True)
sys.stdin.read()
"""
        with start_python("-c", code, towns.path) as holder:
            assert holder.stdout.readline() == "holding\n"
            impatient = TantivyDocumentStore(path=towns.path, lock_timeout=0.1)
            with pytest.raises(DocumentStoreError, match="Another process is still writing"):
                impatient.write_documents([passage("a", "heron")])
            assert len(towns.search("danube")) == 3
        assert impatient.write_documents([passage("a", "heron")]) == 1

    @pytest.mark.slow
    def test_a_killed_writer_loses_nothing_that_was_acknowledged(self, store):
        code = """
import os, signal, sys
from pathlib import Path
from haystack import Document
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import open_for_writing
store = TantivyDocumentStore(path=sys.argv[1])
store.write_documents([Document(id=f"done{n}", content="heron") for n in range(50)])
with open_for_writing(Path(sys.argv[1])).writer(1) as writer:
    writer.delete_all_documents()
    os.kill(os.getpid(), signal.SIGKILL)
"""
        assert run_python(code, store.path).returncode == -9
        assert store.count_documents() == 50
        assert store.write_documents([passage("after", "heron")]) == 1
        assert len(store.search("heron", top_k=100)) == 51

    @pytest.mark.slow
    def test_two_first_writes_at_once_make_one_index(self, tmp_path):
        path = str(tmp_path / "index")
        with start_python("-c", WRITE_ONE, path, "a") as first, start_python("-c", WRITE_ONE, path, "b") as two:
            assert (first.wait(timeout=60), two.wait(timeout=60)) == (0, 0)
        assert set(ids(TantivyDocumentStore(path=path).filter_documents())) == {"a", "b"}
        assert [entry.name for entry in tmp_path.iterdir()] == ["index"]


class TestOpening:
    @pytest.mark.parametrize(
        ("file", "content", "advice"),
        [
            ("prefrag-index.json", "", "[Mm]ove the folder away"),
            ("prefrag-index.json", "{}", "[Mm]ove the folder away"),
            ("prefrag-index.json", '{"format": 99, "language": "english"}', "[Mm]ove the folder away"),
            ("prefrag-index.json", "[]", "[Mm]ove the folder away"),
            ("meta.json", '{"segments": [\n{"a"' * 100, r"is damaged \([^\n]{1,150}\): .*move the folder away"),
        ],
    )
    def test_a_damaged_or_foreign_index_is_refused_with_advice(self, towns, file, content, advice):
        (Path(towns.path) / file).write_text(content)
        with pytest.raises(DocumentStoreError, match=advice):
            TantivyDocumentStore(path=towns.path).count_documents()

    @pytest.fixture
    def copy(self, towns, tmp_path) -> str:
        """An index that this process has not opened yet."""
        return shutil.copytree(towns.path, str(tmp_path / "copy"))

    @for_each("number", errno.EACCES, errno.EROFS, errno.EIO, errno.ENOSPC)
    def test_one_that_cannot_be_read_is_not_to_be_deleted(self, copy, monkeypatch, number):
        def fail(path: str) -> None:
            raise ValueError(f"Failed to acquire Lockfile: IoError(Os {{ code: {number}, kind: Other }}). None.")

        monkeypatch.setattr(index_module, "tantivy", SimpleNamespace(Index=SimpleNamespace(open=fail)))
        with pytest.raises(DocumentStoreError) as raised:
            TantivyDocumentStore(path=copy).count_documents()
        assert os.strerror(number) in str(raised.value)
        assert "elete" not in str(raised.value)

    def test_one_whose_settings_cannot_be_read_is_not_to_be_deleted(self, copy, monkeypatch):
        def refuse(path: Path, **_: str) -> str:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(Path, "read_text", refuse)
        with pytest.raises(DocumentStoreError, match="Permission denied") as raised:
            TantivyDocumentStore(path=copy).count_documents()
        assert "elete" not in str(raised.value)

    def test_one_that_cannot_be_written_is_searched(self, copy, monkeypatch):
        # A folder in the place of the lock that tantivy takes to read: it cannot be taken, as on a read-only disk.
        lock = Path(copy, ".tantivy-meta.lock")
        lock.unlink()
        lock.mkdir()
        monkeypatch.setattr(os, "access", lambda path, mode: str(path) != copy)
        reader = TantivyDocumentStore(path=copy)

        assert ids(reader.search("Danube"))
        with pytest.raises(DocumentStoreError, match="can only be read"):
            reader.write_documents([passage("new", "A stork.")])

        lock.rmdir()
        monkeypatch.undo()
        Index(Path(copy)).write([passage("new", "A stork.")], DuplicatePolicy.FAIL, 10.0)
        assert ids(reader.search("stork")) == ["new"], "what another machine writes meanwhile is found"

    def test_a_folder_without_an_index_holds_none(self, towns, tmp_path):
        (tmp_path / "empty").mkdir()
        assert not index_exists(tmp_path / "empty")
        assert not index_exists(tmp_path / "nowhere")
        assert index_exists(Path(towns.path))
