import copy
from pathlib import Path

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from tests.components.document_stores.tantivy.passages import ids, passage
from tests.components.serialisation import rebuilt


class TestArguments:
    def test_arguments_that_make_no_sense_are_refused(self, towns):
        with pytest.raises(ValueError, match="at least 1"):
            towns.search("danube", top_k=0)
        with pytest.raises(ValueError, match="at least 1"):
            towns.documents_by_title({"linz": ""}, per_title=0)
        for documents in (["text"], [Document(id="a"), None]):
            with pytest.raises(ValueError, match="haystack Documents"):
                towns.write_documents(documents)
        with pytest.raises(ValueError, match="not both"):
            TantivyDocumentStore(path="a", index="b")


class TestWithoutAnIndex:
    def test_is_empty_and_makes_none(self, store):
        assert store.search("danube") == store.filter_documents() == store.documents_by_id(["a"]) == []
        assert store.count_documents() == 0
        assert store.document_frequencies(["danube"]) == (0, {"danube": 0})
        assert (store.known_title_keys(["linz"]), store.documents_by_title({"linz": ""})) == (set(), {})
        store.delete_documents(["a"])
        store.delete_all_documents()
        assert not Path(store.path).exists()


class TestOpening:
    def test_stores_of_one_folder_share_the_opened_index(self, towns):
        other, copied = TantivyDocumentStore(path=towns.path), copy.deepcopy(towns)
        other.count_documents()
        towns.count_documents()
        assert copied is not towns
        assert copied.search("steel") == towns.search("steel")
        assert other._latest is copied._latest is towns._latest

    def test_without_a_path_it_writes_and_reads_the_index_default(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))
        monkeypatch.delenv("PREFRAG_INDEX", raising=False)
        TantivyDocumentStore().write_documents([passage("a", "heron")])
        assert ids(TantivyDocumentStore(path=None).search("heron")) == ["a"]
        assert ids(TantivyDocumentStore(index="default").search("heron")) == ["a"]


class TestCodes:
    def test_a_code_is_found_whatever_signs_divide_it(self, store):
        store.write_documents([passage("a", "The van K-XY 317 is red."), passage("b", "BX4417 stands in hall 3.")])
        for query in ("KXY317", "k-xy 317", "K-XY317"):
            assert ids(store.search(query)) == ["a"]
        for query in ("BX4417", "BX-4417", "BX 4417"):
            assert ids(store.search(query)) == ["b"]
        # Another digit makes another code.
        for query in ("KXY318", "KXY3170", "KXY371", "BX-4471"):
            assert store.search(query) == []


class TestLanguage:
    def test_belongs_to_the_index_and_is_english_by_default(self, tmp_path, towns):
        german = TantivyDocumentStore(path=str(tmp_path / "german"), language="german")
        german.write_documents([passage("a", "Die Häuser am Fluss")])
        anyone = TantivyDocumentStore(path=german.path)
        assert ids(anyone.search("Haus")) == ["a"]
        with pytest.raises(ValueError, match="made for 'german', not for 'english'"):
            TantivyDocumentStore(path=german.path, language="english").search("Haus")
        assert TantivyDocumentStore(path=towns.path, language="english").count_documents() == 4


def test_keeps_the_parameters_in_a_form_that_json_can_hold():
    parameters = {"path": "somewhere", "index": None, "language": "german", "lock_timeout": 3}
    store = TantivyDocumentStore(path="somewhere", language="German", lock_timeout=3)
    assert rebuilt(store).to_dict()["init_parameters"] == parameters
