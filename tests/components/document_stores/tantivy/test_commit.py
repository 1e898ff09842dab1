import pytest
from haystack.document_stores.types import DuplicatePolicy

from tests.components.document_stores.tantivy.passages import ids, passage


class TestDocumentsAtHand:
    @pytest.mark.parametrize("further", [{}, {"pages": [1]}])
    def test_found_again_a_document_is_another_object(self, store, further):
        store.write_documents([passage("a", "heron", "Birds", **further)])
        for _ in range(3):
            [document] = store.search("heron")
            assert document.meta == {"title": "Birds", **further}
            document.meta["title"] = "Fish"
            document.meta.get("pages", []).append(2)

    def test_cached_documents_are_those_of_the_last_commit(self, store):
        store.write_documents([passage("a", "grey heron", "Birds")])
        assert [document.content for document in store.search("stork heron")] == ["grey heron"]
        assert store.document_frequencies(["heron"]) == (1, {"heron": 1})
        store.write_documents([passage("a", "white heron")], DuplicatePolicy.OVERWRITE)
        assert [document.content for document in store.search("stork heron")] == ["white heron"]
        store.write_documents([passage("b", "nothing else", "Stork"), passage("c", "heron")])
        assert set(ids(store.search("stork heron"))) == {"a", "b", "c"}
        assert store.document_frequencies(["heron"]) == (3, {"heron": 2})
        store.delete_documents(["a"])
        assert store.document_frequencies(["heron"]) == (2, {"heron": 1})

    def test_more_documents_than_are_kept_at_hand_are_found(self, store, monkeypatch):
        monkeypatch.setattr("prefrag.components.document_stores.tantivy.commit._MAX_DOCUMENTS", 2)
        store.write_documents([passage(f"{n}", "heron " * (n + 1)) for n in range(5)])
        for _ in range(2):
            assert sorted((document.id, document.content) for document in store.search("heron")) == [
                (f"{n}", "heron " * (n + 1)) for n in range(5)
            ]


class TestLongTexts:
    @pytest.fixture
    def birds(self, store, monkeypatch):
        monkeypatch.setattr("prefrag.components.document_stores.tantivy.commit._MAX_WORDS", 2)
        often = [passage(f"grey {n}", "grey grey", "Grey") for n in range(4)]
        store.write_documents([*often, passage("heron", "heron"), passage("ibis", "ibis"), passage("tern", "tern")])
        return store

    def test_in_a_large_index_are_searched_by_their_rarest_words(self, birds, monkeypatch):
        monkeypatch.setattr("prefrag.components.document_stores.tantivy.commit.LARGE_INDEX", 7)
        assert set(ids(birds.search("grey heron tern"))) == {"heron", "tern"}
        # A word that no document has does not take the place of another word.
        assert set(ids(birds.search("grey heron zebra"))) == {"heron", *(f"grey {n}" for n in range(4))}
        assert len(birds.search("grey heron tern", 9, {"field": "meta.title", "operator": "==", "value": "Grey"})) == 4

    def test_in_other_indexes_by_all_words(self, birds):
        assert len(birds.search("grey heron ibis tern")) == 7


class TestFrequencies:
    def test_document_frequencies(self, store):
        store.write_documents(
            [passage("a", "Rivers run", "Heron"), passage("b", "The heron, a heron"), passage("c", "U.S. rivers")]
        )
        total, frequencies = store.document_frequencies(["herons", "River", "running", "the", "U.S.", "zebra", "!"])
        assert total == 3
        assert frequencies == {"herons": 2, "River": 2, "running": 1, "the": 3, "U.S.": 1, "zebra": 0, "!": 3}

    def test_document_frequencies_of_analysed_words(self, store):
        store.write_documents([passage("a", "His decisiveness")])
        # The stem must not be stemmed again, which would give another word.
        assert store.analyze("decisiveness") == ["decis"]
        assert store.analyze("decis") != ["decis"]
        assert store.document_frequencies(store.analyze("decisiveness")) == (1, {"decis": 1})
