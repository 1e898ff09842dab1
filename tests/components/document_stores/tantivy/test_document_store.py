import copy
import json
import shutil
import subprocess
import sys
import threading
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import tantivy
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prefrag.components.document_stores.tantivy.document_store import LANGUAGES, TantivyDocumentStore

CHECKOUT = Path(__file__).parents[4]


def passage(key: str, content: str, title: str | None = None, **meta) -> Document:
    return Document(id=key, content=content, meta=meta if title is None else {"title": title, **meta})


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    return TantivyDocumentStore(path=str(tmp_path / "index"))


@pytest.fixture
def towns(store: TantivyDocumentStore) -> TantivyDocumentStore:
    store.write_documents(
        [
            passage("vienna", "The capital lies on the Danube.", "Vienna", country="at", year=1137),
            passage("linz", "A town on the Danube with a steel works.", "Linz", country="at", year=799),
            passage("passau", "Three rivers meet in this town: Danube, Inn and Ilz.", "Passau", country="de"),
            passage("bern", "Bears live beside the Aare.", "Bern", country="ch", year=1191),
        ]
    )
    return store


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False
    )


WRITE_ONE = """
import sys
from haystack import Document
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
TantivyDocumentStore(path=sys.argv[1]).write_documents([Document(id=sys.argv[2], content="a heron by the river")])
"""


class TestSearch:
    def test_finds_inflected_words_and_says_how_well_they_fit(self, towns):
        [found] = towns.search("living bear")
        assert (found.id, found.content) == ("bern", "Bears live beside the Aare.")
        assert found.score > 0

    def test_a_word_in_the_title_counts_more_than_one_in_a_text_as_long(self, store):
        store.write_documents([passage("text", "Heron", "Crane"), passage("title", "Crane", "Heron")])
        first, second = store.search("heron")
        assert (first.id, second.id) == ("title", "text")
        assert first.score == pytest.approx(1.25 * second.score, rel=1e-5)

    def test_scores_are_bm25_with_k1_1_2_and_b_0_75(self, store):
        store.write_documents([passage("a", "heron heron river"), passage("b", "river"), passage("c", "stone")])
        # idf = ln(1 + (3 - 1 + 0.5) / (1 + 0.5)); length 3 against a mean of 5/3; two occurrences.
        expected = 0.9808292530117262 * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / (5 / 3)))
        assert store.search("heron")[0].score == pytest.approx(expected, rel=1e-4)

    def test_a_repeated_word_counts_once(self, towns):
        assert towns.search("steel steel Danube") == towns.search("steel Danube")

    def test_letters_with_accents_and_ligatures_are_found_however_they_are_written(self, store):
        store.write_documents(
            [passage("apart", "A Bru\u0308cke.", "Ko\u0308penick"), passage("whole", "A Br\u00fccke.", "K\u00f6penick")]
        )
        for query in ("K\u00f6penick", "Ko\u0308penick", "br\u00fccke"):
            assert set(ids(store.search(query))) == {"apart", "whole"}
            assert store.document_frequencies([query]) == (2, {query: 2})
        assert store.filter_documents()[0].meta["title"] == "Ko\u0308penick"
        store.write_documents([passage("printed", "The \ufb01nance o\ufb03ce.")])
        assert ids(store.search("finance office")) == ids(store.search("\ufb01nance")) == ["printed"]

    def test_top_k_cuts(self, towns):
        assert len(towns.search("danube", top_k=2)) == 2

    @pytest.mark.parametrize("query", ["", "  ", "?!", "the of and", "\x00", "\ud800"])
    def test_a_query_without_words_finds_nothing(self, towns, query):
        assert towns.search(query) == []

    def test_top_k_must_be_positive(self, towns):
        with pytest.raises(ValueError, match="at least 1"):
            towns.search("danube", top_k=0)

    def test_operators_are_words(self, towns):
        plain = ids(towns.search("Danube steel works"))
        assert ids(towns.search('title:(+Danube) "steel" -works~2^9 [* TO *]')) == plain

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
    @given(st.text(st.characters(exclude_categories=[]), max_size=80))
    def test_any_text_is_a_query(self, towns, text):
        assert len(towns.search(text, top_k=3)) <= 3
        assert set(ids(towns.search(text + " danube"))) >= {"vienna", "linz", "passau"}

    def test_a_store_without_an_index_is_empty_and_makes_none(self, store):
        assert store.search("danube") == store.filter_documents() == store.documents_by_id(["a"]) == []
        assert store.count_documents() == 0
        assert store.document_frequencies(["danube"]) == (0, {"danube": 0})
        store.delete_documents(["a"])
        store.delete_all_documents()
        assert not Path(store.path).exists()

    def test_threads_share_a_store(self, towns):
        failures = []

        def search_and_analyse() -> None:
            try:
                for _ in range(200):
                    assert len(towns.search("Danube town")) == 3
                    assert towns.analyze("Running herons") == ["run", "heron"]
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=search_and_analyse) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert failures == []


class TestFilters:
    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({"field": "meta.country", "operator": "==", "value": "at"}, {"vienna", "linz"}),
            ({"field": "country", "operator": "==", "value": "at"}, {"vienna", "linz"}),
            ({"field": "meta.country", "operator": "!=", "value": "at"}, {"passau", "bern"}),
            ({"field": "meta.country", "operator": "in", "value": ["de", "ch"]}, {"passau", "bern"}),
            ({"field": "meta.country", "operator": "not in", "value": ["de", "ch"]}, {"vienna", "linz"}),
            ({"field": "meta.country", "operator": "in", "value": []}, set()),
            ({"field": "meta.year", "operator": "==", "value": 799.0}, {"linz"}),
            ({"field": "meta.year", "operator": ">", "value": 1000}, {"vienna", "bern"}),
            ({"field": "meta.year", "operator": "==", "value": None}, {"passau"}),
            ({"field": "id", "operator": "in", "value": ["bern", "linz"]}, {"bern", "linz"}),
            ({"field": "content", "operator": "==", "value": "Bears live beside the Aare."}, {"bern"}),
            (
                {
                    "operator": "AND",
                    "conditions": [
                        {"field": "meta.country", "operator": "==", "value": "at"},
                        {"field": "meta.year", "operator": "<", "value": 1000},
                    ],
                },
                {"linz"},
            ),
            (
                {
                    "operator": "OR",
                    "conditions": [
                        {"field": "meta.country", "operator": "==", "value": "ch"},
                        {"field": "meta.year", "operator": "<", "value": 1000},
                    ],
                },
                {"linz", "bern"},
            ),
            (
                {"operator": "NOT", "conditions": [{"field": "meta.country", "operator": "==", "value": "at"}]},
                {"passau", "bern"},
            ),
        ],
    )
    def test_select_documents(self, towns, filters, expected):
        assert set(ids(towns.filter_documents(filters))) == expected
        everything = "danube town capital rivers bears"
        assert set(ids(towns.search(everything, filters=filters))) == expected

    def test_none_lists_everything(self, towns):
        assert set(ids(towns.filter_documents())) == {"vienna", "linz", "passau", "bern"}

    @pytest.mark.parametrize("operator", ["==", "<="])
    def test_a_rare_filter_finds_all_its_documents_below_thousands_of_better_ones(self, store, operator):
        common = [passage(f"c{n}", "heron heron heron", rank=n + 100) for n in range(3000)]
        rare = [passage(f"r{n}", "one heron in " + "many other words " * 9, rank=7) for n in range(8)]
        store.write_documents(common + rare)
        filters = {"field": "meta.rank", "operator": operator, "value": 7}
        assert set(ids(store.search("heron", top_k=5, filters=filters))) <= set(ids(rare))
        assert len(store.search("heron", top_k=5, filters=filters)) == 5
        assert len(store.search("heron", top_k=50, filters=filters)) == 8

    def test_filtered_results_keep_scores_and_order(self, towns):
        unfiltered = [d for d in towns.search("danube town", top_k=4) if d.meta["country"] == "at"]
        filtered = towns.search("danube town", filters={"field": "meta.country", "operator": "==", "value": "at"})
        assert [(d.id, pytest.approx(d.score)) for d in filtered] == [(d.id, d.score) for d in unfiltered]

    def test_nested_metadata(self, store):
        store.write_documents([passage("a", "heron", seen={"by": {"name": "Ada"}}), passage("b", "heron")])
        found = store.search("heron", filters={"field": "meta.seen.by.name", "operator": "==", "value": "Ada"})
        assert ids(found) == ["a"]

    scalars = st.one_of(
        st.sampled_from([0, 1, 1.0, True, False, "1", "x", "n1", None]),
        st.floats(allow_nan=False),
        st.text(max_size=4),
        st.text("ab\ud800é", min_size=199, max_size=201),
        st.lists(st.integers(0, 2), max_size=2),
    )
    comparisons = st.builds(
        lambda key, operator, value, values: {
            "field": f"meta.{key}",
            "operator": operator,
            "value": values if "in" in operator else value,
        },
        st.sampled_from("ab"),
        st.sampled_from(["==", "!=", "in", "not in"]),
        scalars,
        st.lists(scalars, max_size=3),
    )
    filters = st.recursive(
        comparisons,
        lambda children: st.builds(
            lambda operator, conditions: {"operator": operator, "conditions": conditions},
            st.sampled_from(["AND", "OR", "NOT"]),
            st.lists(children, max_size=3),
        ),
        max_leaves=5,
    )

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
    @given(st.lists(st.dictionaries(st.sampled_from("ab"), scalars), min_size=1, max_size=8), filters)
    def test_agree_with_haystack(self, tmp_path_factory, metas, condition):
        store = TantivyDocumentStore(path=str(tmp_path_factory.mktemp("filters") / "index"))
        documents = [Document(id=str(n), content="heron", meta=meta) for n, meta in enumerate(metas)]
        store.write_documents(documents)
        expected = [document.id for document in documents if document_matches_filter(condition, document)]
        assert sorted(ids(store.filter_documents(condition))) == expected
        assert sorted(ids(store.search("heron", top_k=20, filters=condition))) == expected

    @pytest.mark.parametrize(
        "filters",
        [
            {"field": "meta.a", "value": 1},
            {"field": "meta.a", "operator": "=", "value": 1},
            {"field": "meta.a", "operator": "in", "value": 1},
            {"field": 3, "operator": "==", "value": 1},
            {"operator": "XOR", "conditions": []},
            {"operator": "AND", "conditions": {}},
            {"operator": "AND", "conditions": [{"meta.a": 1}]},
            {"a": 1},
            ["a"],
        ],
    )
    def test_mistakes_are_named_even_where_nothing_would_match(self, store, filters):
        with pytest.raises(FilterError):
            store.search("anything", filters=filters)
        with pytest.raises(FilterError):
            store.filter_documents(filters)

    @pytest.mark.parametrize(("field", "value"), [("meta.country", 1000), ("meta.year", {"a": 1})])
    def test_values_that_cannot_be_compared_are_named(self, towns, field, value):
        with pytest.raises(FilterError):
            towns.search("danube", filters={"field": field, "operator": ">", "value": value})


class TestDocuments:
    def test_come_back_whole(self, store):
        meta = {
            "title": "Tür",
            "page": 3,
            "share": 0.5,
            "flag": True,
            "none": None,
            "list": [1, "a", {"b": None}],
            "day": date(2024, 2, 29),
            "time": {"at": datetime(2024, 2, 29, 12, 30, 1, 5, tzinfo=UTC)},
            "file_path": "/tmp/a b.pdf",
        }
        store.write_documents([Document(id="x", content="héron \ud800 \U0001f985", meta=meta), Document(id="empty")])
        [back, empty] = store.documents_by_id(["x", "empty"])
        assert (back.content, back.meta) == ("héron \ud800 \U0001f985", meta)
        assert type(back.meta["flag"]) is bool
        assert (empty.content, empty.meta) == (None, {})

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3),
        max_leaves=6,
    )

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
    @given(st.text(min_size=1, max_size=300), st.none() | st.text(), st.dictionaries(st.text(max_size=5), json_values))
    def test_come_back_whole_whatever_they_hold(self, store, key, content, meta):
        store.write_documents([Document(id=key, content=content, meta=meta)], DuplicatePolicy.OVERWRITE)
        [back] = store.documents_by_id([key])
        assert (back.id, back.content, back.meta) == (key, content, meta)

    @pytest.mark.parametrize("value", [{1, 2}, (1, 2), {1: "a"}, float("nan"), b"x", {"__date__": "2024-02-29"}])
    def test_metadata_that_would_change_is_refused_and_nothing_written(self, towns, value):
        with pytest.raises(ValueError, match=r"document 'odd'.*unchanged"):
            towns.write_documents([passage("fine", "heron"), passage("odd", "heron", bad=value)])
        assert towns.search("heron") == []
        assert towns.count_documents() == 4

    def test_by_id_in_the_order_asked(self, towns):
        assert ids(towns.documents_by_id(["bern", "nobody", "vienna", "bern"])) == ["bern", "vienna"]

    def test_long_and_odd_ids(self, store):
        keys = ["a" * 100_000, "a" * 99_999, "\ud800", "?", "a b\x00"]
        store.write_documents([Document(id=key, content="heron") for key in keys])
        store.delete_documents([keys[0]])
        assert ids(store.documents_by_id(keys)) == keys[1:]


class TestWriting:
    def test_counts_what_was_written(self, store):
        assert store.write_documents([passage("a", "heron"), passage("b", "heron")]) == 2
        assert store.write_documents([]) == 0
        assert store.count_documents() == 2

    @pytest.mark.parametrize("policy", [DuplicatePolicy.NONE, DuplicatePolicy.FAIL])
    @pytest.mark.parametrize("batch", [["b", "a"], ["b", "b"]])
    def test_a_known_id_fails_and_writes_nothing(self, store, policy, batch):
        store.write_documents([passage("a", "heron")])
        with pytest.raises(DuplicateDocumentError, match="OVERWRITE"):
            store.write_documents([passage(key, "new") for key in batch], policy)
        assert [(d.id, d.content) for d in store.filter_documents()] == [("a", "heron")]

    def test_skip_keeps_the_first(self, store):
        store.write_documents([passage("a", "heron")])
        batch = [passage("a", "new"), passage("b", "one"), passage("b", "two")]
        assert store.write_documents(batch, DuplicatePolicy.SKIP) == 1
        assert {(d.id, d.content) for d in store.filter_documents()} == {("a", "heron"), ("b", "one")}

    def test_overwrite_keeps_the_last(self, store):
        store.write_documents([passage("a", "heron")])
        batch = [passage("a", "stork"), passage("b", "one"), passage("b", "two")]
        assert store.write_documents(batch, DuplicatePolicy.OVERWRITE) == 3
        assert sorted((d.id, d.content) for d in store.filter_documents()) == [("a", "stork"), ("b", "two")]
        assert store.search("heron") == []
        assert store.write_documents([passage("a", "heron")], DuplicatePolicy.SKIP) == 0

    def test_a_deleted_id_is_new_again(self, store):
        store.write_documents([passage("a", "heron"), passage("b", "heron")])
        store.delete_documents(["a", "nobody"])
        assert ids(store.search("heron")) == ["b"]
        assert store.write_documents([passage("a", "heron")]) == 1

    def test_delete_all_keeps_the_language(self, tmp_path):
        store = TantivyDocumentStore(path=str(tmp_path / "index"), language="german")
        store.write_documents([passage("a", "Reiher")])
        store.delete_all_documents()
        assert store.count_documents() == 0
        assert TantivyDocumentStore(path=store.path).analyze("die Häuser") == ["haus"]

    @pytest.mark.parametrize("documents", [["text"], [Document(id="a"), None]])
    def test_takes_only_documents(self, store, documents):
        with pytest.raises(ValueError, match="haystack Documents"):
            store.write_documents(documents)

    def test_many_writes_leave_few_segments(self, store):
        for n in range(30):
            store.write_documents([passage(str(n), "heron")])
        assert tantivy.Index.open(store.path).searcher().num_segments < 16
        assert store.count_documents() == 30

    def test_a_folder_of_something_else_is_left_alone(self, tmp_path):
        (tmp_path / "letter.txt").write_text("dear")
        with pytest.raises(DocumentStoreError, match="no index and not empty"):
            TantivyDocumentStore(path=str(tmp_path)).write_documents([passage("a", "heron")])
        assert [entry.name for entry in tmp_path.iterdir()] == ["letter.txt"]

    def test_threads_write_one_after_the_other(self, store):
        threads = [threading.Thread(target=store.write_documents, args=([passage(str(n), "heron")],)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert store.count_documents() == 4


class TestProcesses:
    def test_a_reader_sees_what_another_process_committed(self, towns):
        assert towns.search("heron") == []
        assert run_python(WRITE_ONE, towns.path, "new").stderr == ""
        assert ids(towns.search("heron")) == ["new"]
        assert towns.count_documents() == 5

    def test_a_reader_sees_an_index_that_was_deleted_and_made_again(self, towns):
        shutil.rmtree(towns.path)
        assert towns.search("danube") == []
        assert run_python(WRITE_ONE, towns.path, "new").stderr == ""
        assert ids(towns.filter_documents()) == ["new"]

    def test_a_second_writer_waits_and_then_says_who_is_in_the_way(self, towns):
        code = """
import sys, tantivy
writer = tantivy.Index.open(sys.argv[1]).writer(50_000_000, 1)
print("holding", flush=True)
sys.stdin.read()
"""
        with subprocess.Popen(
            [sys.executable, "-c", code, towns.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder:
            try:
                assert holder.stdout.readline() == "holding\n"
                impatient = TantivyDocumentStore(path=towns.path, lock_timeout=0.1)
                with pytest.raises(DocumentStoreError, match="Another process is still writing"):
                    impatient.write_documents([passage("a", "heron")])
                assert len(towns.search("danube")) == 3
            finally:
                holder.communicate("", timeout=30)
        assert impatient.write_documents([passage("a", "heron")]) == 1

    def test_a_killed_writer_loses_nothing_that_was_acknowledged(self, store):
        code = """
import os, signal, sys
from haystack import Document
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
store = TantivyDocumentStore(path=sys.argv[1])
store.write_documents([Document(id=f"done{n}", content="heron") for n in range(50)])
with store._open_for_writing().writer(1) as writer:
    writer.delete_all_documents()
    os.kill(os.getpid(), signal.SIGKILL)
"""
        assert run_python(code, store.path).returncode == -9
        assert store.count_documents() == 50
        assert store.write_documents([passage("after", "heron")]) == 1
        assert len(store.search("heron", top_k=100)) == 51

    def test_two_first_writes_at_once_make_one_index(self, tmp_path):
        path = str(tmp_path / "index")
        with (
            subprocess.Popen([sys.executable, "-c", WRITE_ONE, path, "a"], cwd=CHECKOUT) as one,
            subprocess.Popen([sys.executable, "-c", WRITE_ONE, path, "b"], cwd=CHECKOUT) as two,
        ):
            assert (one.wait(timeout=60), two.wait(timeout=60)) == (0, 0)
        assert set(ids(TantivyDocumentStore(path=path).filter_documents())) == {"a", "b"}
        assert [entry.name for entry in tmp_path.iterdir()] == ["index"]


class TestOpening:
    def test_stores_of_one_folder_share_the_opened_index(self, towns):
        other = TantivyDocumentStore(path=towns.path)
        other.count_documents()
        towns.count_documents()
        assert other._opened is towns._opened

    def test_a_deep_copy_shares_it_too(self, towns):
        copied = copy.deepcopy(towns)
        assert copied is not towns
        assert copied.search("steel") == towns.search("steel")
        assert copied._opened is towns._opened

    @pytest.mark.parametrize("content", ["", "{}", '{"format": 99, "language": "english"}'])
    def test_a_damaged_or_newer_index_is_refused_with_advice(self, towns, content):
        (Path(towns.path) / "prefrag-index.json").write_text(content)
        with pytest.raises(DocumentStoreError, match=r"[Dd]elete the folder"):
            towns.count_documents()

    def test_a_broken_index_file_is_refused_with_advice(self, towns):
        (Path(towns.path) / "meta.json").write_text("no")
        with pytest.raises(DocumentStoreError, match=r"cannot be (opened|read)"):
            TantivyDocumentStore(path=towns.path).count_documents()

    def test_path_and_name_exclude_each_other(self):
        with pytest.raises(ValueError, match="not both"):
            TantivyDocumentStore(path="a", index="b")

    def test_without_a_path_it_writes_and_reads_the_index_default(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))
        monkeypatch.delenv("PREFRAG_INDEX", raising=False)
        TantivyDocumentStore().write_documents([passage("a", "heron")])
        assert ids(TantivyDocumentStore(path=None).search("heron")) == ["a"]
        assert ids(TantivyDocumentStore(index="default").search("heron")) == ["a"]

    def test_serialises(self):
        store = TantivyDocumentStore(path="somewhere", language="German", lock_timeout=3)
        data = store.to_dict()
        assert json.loads(json.dumps(data)) == data
        assert data["init_parameters"] == {
            "path": "somewhere",
            "index": None,
            "language": "german",
            "lock_timeout": 3,
        }
        assert TantivyDocumentStore.from_dict(data).to_dict() == data


class TestLanguage:
    def test_belongs_to_the_index(self, tmp_path):
        german = TantivyDocumentStore(path=str(tmp_path / "index"), language="german")
        german.write_documents([passage("a", "Die Häuser am Fluss")])
        anyone = TantivyDocumentStore(path=german.path)
        assert ids(anyone.search("Haus")) == ["a"]
        with pytest.raises(ValueError, match="made for 'german', not for 'english'"):
            TantivyDocumentStore(path=german.path, language="english").search("Haus")

    def test_the_default_is_english(self, towns):
        assert TantivyDocumentStore(path=towns.path, language="english").count_documents() == 4

    def test_an_unknown_one_is_refused_with_the_known_ones(self):
        with pytest.raises(ValueError, match=r"klingon.*english.*turkish"):
            TantivyDocumentStore(language="klingon")

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_every_listed_one_works(self, tmp_path, language):
        assert TantivyDocumentStore(path=str(tmp_path / "index"), language=language).analyze("Radio")


class TestWords:
    def test_analysis_is_that_of_the_index(self, towns):
        expected = ["run", "heron", "u", "s", "naïv"]
        assert towns.analyze("The Running HERONS of U.S., naïve") == expected
        assert TantivyDocumentStore(path="nowhere").analyze("The Running HERONS of U.S., naïve") == expected
        assert towns.analyze_many(["The Running HERONS of U.S., naïve", "", "run"]) == [expected, [], ["run"]]

    @pytest.mark.parametrize("further", [{}, {"pages": [1]}])
    def test_found_again_a_document_is_another_object(self, store, further):
        store.write_documents([passage("a", "heron", "Birds", **further)])
        for _ in range(3):
            [found] = store.search("heron")
            assert found.meta == {"title": "Birds", **further}
            found.meta["title"] = "Fish"
            found.meta.get("pages", []).append(2)

    def test_found_again_a_document_is_as_the_index_holds_it_now(self, store):
        store.write_documents([passage("a", "grey heron")])
        assert [one.content for one in store.search("heron")] == ["grey heron"]
        store.write_documents([passage("a", "white heron")], DuplicatePolicy.OVERWRITE)
        assert [one.content for one in store.search("heron")] == ["white heron"]

    def test_words_that_come_with_a_commit_are_found(self, store):
        store.write_documents([passage("a", "heron", "Birds")])
        assert ids(store.search("stork heron")) == ["a"]
        store.write_documents([passage("b", "nothing else", "Stork")])
        assert set(ids(store.search("stork heron"))) == {"a", "b"}

    def test_more_documents_than_are_kept_at_hand_are_found(self, store, monkeypatch):
        monkeypatch.setattr("prefrag.components.document_stores.tantivy.document_store._MOST_AT_HAND", 2)
        store.write_documents([passage(f"{n}", "heron " * (n + 1)) for n in range(5)])
        for _ in range(2):
            assert sorted((one.id, one.content) for one in store.search("heron")) == [
                (f"{n}", "heron " * (n + 1)) for n in range(5)
            ]

    def test_document_frequencies(self, store):
        store.write_documents(
            [passage("a", "Rivers run", "Heron"), passage("b", "The heron, a heron"), passage("c", "U.S. rivers")]
        )
        total, frequencies = store.document_frequencies(["herons", "River", "running", "the", "U.S.", "zebra", "!"])
        assert total == 3
        assert frequencies == {"herons": 2, "River": 2, "running": 1, "the": 3, "U.S.": 1, "zebra": 0, "!": 3}

    def test_document_frequencies_leave_out_the_deleted(self, store):
        store.write_documents([passage("a", "heron"), passage("b", "heron")])
        store.delete_documents(["a"])
        assert store.document_frequencies(["heron"]) == (1, {"heron": 1})

    def test_document_frequencies_are_those_of_the_index_as_it_is_now(self, store):
        store.write_documents([passage("a", "heron")])
        assert store.document_frequencies(["heron"]) == (1, {"heron": 1})
        store.write_documents([passage("b", "heron"), passage("c", "stork")])
        assert store.document_frequencies(["heron"]) == (3, {"heron": 2})
        store.delete_documents(["a"])
        assert store.document_frequencies(["heron"]) == (2, {"heron": 1})

    def test_document_frequencies_of_analysed_words(self, store):
        store.write_documents([passage("a", "His decisiveness")])
        # Stemming the stem again would give another word.
        assert store.analyze("decisiveness") == ["decis"]
        assert store.analyze("decis") != ["decis"]
        assert store.document_frequencies(store.analyze("decisiveness")) == (1, {"decis": 1})


@pytest.fixture
def earlier(tmp_path: Path) -> TantivyDocumentStore:
    """A store on an index of the format before titles were kept."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    for field in ("title", "content"):
        builder.add_text_field(field, tokenizer_name="prefrag", index_option="freq")
    builder.add_text_field("meta", tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("stored", stored=True)
    path = tmp_path / "earlier"
    path.mkdir()
    tantivy.Index(builder.build(), path=str(path))
    (path / "prefrag-index.json").write_text('{"format": 1, "language": "english"}\n')
    store = TantivyDocumentStore(path=str(path))
    store.write_documents([passage("linz", "A town on the Danube.", "Linz", country="at")])
    return store


class TestTitles:
    def test_are_known_by_their_keys(self, towns):
        assert towns.known_titles(["linz", "vienna", "Linz", "danube", ""]) == {"linz", "vienna"}

    def test_give_their_passages_best_first_for_a_text(self, store):
        store.write_documents(
            [
                passage("planet", "Close to the sun.", "Mercury (planet)"),
                passage("element", "A metal that is liquid.", "Mercury (element)"),
                passage("god", "He carries messages.", "Mercury"),
                passage("sun", "Mercury is close to it.", "Sun"),
            ]
        )
        found = store.documents_by_title({"mercury": "liquid metals", "sun": "", "moon": "metal"}, per_title=3)
        assert {key: ids(documents) for key, documents in found.items()} == {
            "mercury": ["element", *ids(found["mercury"])[1:]],
            "sun": ["sun"],
        }
        assert set(ids(found["mercury"])) == {"planet", "element", "god"}
        assert found["mercury"][0].score > found["mercury"][1].score == 0
        assert ids(store.documents_by_title({"mercury": "sun"}, per_title=1)["mercury"]) == ["planet"]

    def test_under_a_key_that_an_earlier_version_made_are_left_out(self, store, monkeypatch):
        with monkeypatch.context() as earlier:
            earlier.setattr(
                "prefrag.components.document_stores.tantivy.document_store.title_key", lambda title: "o hara"
            )
            store.write_documents([passage("actress", "She was Maureen.", "O\u00b4Hara")])
        assert store.documents_by_title({"o hara": ""}) == {}

    def test_with_many_passages_and_with_few_are_ranked_alike(self, store):
        store.write_documents([passage(f"many-{n}", "metal " * n, "Mercury") for n in range(1, 31)])
        store.write_documents([passage(f"few-{n}", "metal " * n, "Sun") for n in range(1, 6)])
        found = store.documents_by_title({"sun": "metal", "mercury": "metal"}, per_title=2)
        assert list(found) == ["sun", "mercury"]
        for key, documents in found.items():
            title = {"sun": "Sun", "mercury": "Mercury"}[key]
            by_words = [one for one in store.search("metal", top_k=40) if one.meta["title"] == title]
            assert [(one.id, one.score) for one in documents] == [(one.id, one.score) for one in by_words[:2]]

    def test_passages_that_are_alone_have_no_score(self, store):
        store.write_documents([passage("a", "metal", "Mercury"), passage("b", "metal", "Sun"), passage("c", "", "Sun")])
        found = store.documents_by_title({"mercury": "metal", "sun": "metal"})
        assert [one.score for one in found["mercury"]] == [None]
        assert [one.id for one in found["sun"] if one.score] == ["b"]

    def test_passages_must_match_the_filters(self, towns):
        austrian = {"field": "meta.country", "operator": "==", "value": "at"}
        found = towns.documents_by_title({"linz": "town", "bern": "town"}, filters=austrian)
        assert {key: ids(documents) for key, documents in found.items()} == {"linz": ["linz"]}
        with pytest.raises(FilterError):
            towns.documents_by_title({"linz": ""}, filters={"country": "at"})

    def test_come_and_go_with_their_passages(self, towns):
        towns.write_documents([passage("linz", "Renamed.", "Lentia")], DuplicatePolicy.OVERWRITE)
        towns.delete_documents(["bern"])
        assert towns.known_titles(["linz", "lentia", "bern", "vienna"]) == {"lentia", "vienna"}
        assert towns.documents_by_title({"linz": "", "bern": ""}) == {}

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
        assert store.known_titles(["word " * 19_999 + "word", "1984"]) == {"word " * 19_999 + "word", "1984"}
        assert store.count_documents() == 4

    def test_an_index_that_does_not_exist_has_none(self, store):
        assert store.known_titles(["linz"]) == set()
        assert store.documents_by_title({"linz": ""}) == {}

    def test_per_title_must_be_positive(self, towns):
        with pytest.raises(ValueError, match="at least 1"):
            towns.documents_by_title({"linz": ""}, per_title=0)

    def test_an_index_without_them_works_as_before_for_all_else(self, earlier):
        earlier.write_documents([passage("wels", "A town near Linz.", "Wels")])
        earlier.delete_documents(["linz"])
        assert ids(earlier.search("town")) == ["wels"]
        assert earlier.count_documents() == 1

    def test_an_index_without_them_says_that_it_must_be_made_again(self, earlier):
        for ask in (lambda: earlier.known_titles([]), lambda: earlier.documents_by_title({"linz": ""})):
            with pytest.raises(DocumentStoreError, match=r"earlier version.*index the documents again"):
                ask()
