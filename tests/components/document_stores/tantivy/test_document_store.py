import copy
import json
from pathlib import Path

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from tests.components.document_stores.tantivy.passages import ids, passage


class TestArguments:
    def test_top_k_must_be_positive(self, towns):
        with pytest.raises(ValueError, match="at least 1"):
            towns.search("danube", top_k=0)

    def test_per_title_must_be_positive(self, towns):
        with pytest.raises(ValueError, match="at least 1"):
            towns.documents_by_title({"linz": ""}, per_title=0)

    @pytest.mark.parametrize("documents", [["text"], [Document(id="a"), None]])
    def test_takes_only_documents(self, store, documents):
        with pytest.raises(ValueError, match="haystack Documents"):
            store.write_documents(documents)

    def test_path_and_name_exclude_each_other(self):
        with pytest.raises(ValueError, match="not both"):
            TantivyDocumentStore(path="a", index="b")


class TestWithoutAnIndex:
    def test_is_empty_and_makes_none(self, store):
        assert store.search("danube") == store.filter_documents() == store.documents_by_id(["a"]) == []
        assert store.count_documents() == 0
        assert store.document_frequencies(["danube"]) == (0, {"danube": 0})
        store.delete_documents(["a"])
        store.delete_all_documents()
        assert not Path(store.path).exists()

    def test_has_no_titles(self, store):
        assert store.known_titles(["linz"]) == set()
        assert store.documents_by_title({"linz": ""}) == {}


class TestOpening:
    def test_stores_of_one_folder_share_the_opened_index(self, towns):
        other = TantivyDocumentStore(path=towns.path)
        other.count_documents()
        towns.count_documents()
        assert other._latest is towns._latest

    def test_a_deep_copy_shares_it_too(self, towns):
        copied = copy.deepcopy(towns)
        assert copied is not towns
        assert copied.search("steel") == towns.search("steel")
        assert copied._latest is towns._latest

    def test_without_a_path_it_writes_and_reads_the_index_default(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))
        monkeypatch.delenv("PREFRAG_INDEX", raising=False)
        TantivyDocumentStore().write_documents([passage("a", "heron")])
        assert ids(TantivyDocumentStore(path=None).search("heron")) == ["a"]
        assert ids(TantivyDocumentStore(index="default").search("heron")) == ["a"]


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


class TestReading:
    def test_by_id_in_the_order_of_the_ids(self, towns):
        assert ids(towns.documents_by_id(["bern", "nobody", "vienna", "bern"])) == ["bern", "vienna"]


class TestSerialisation:
    def test_keeps_the_parameters(self):
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
