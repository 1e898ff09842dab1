"""The words of texts, and how rare they are."""

from collections.abc import Iterable
from math import isclose, log
from pathlib import Path

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.text.term_statistics import analyze_texts, passage_text, term_weights, words
from tests.components.samples import AtOnce
from tests.for_each import for_each


class Statistics:
    """An index of ten documents."""

    FREQUENCIES = {"yard": 4, "prize": 1, "the": 10}

    def analyze(self, text: str) -> list[str]:
        return text.lower().split()

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        return 10, {word: self.FREQUENCIES[word] for word in words if word in self.FREQUENCIES}


class TestAnalysis:
    def test_is_called_for_all_texts_at_once_where_that_can_be(self):
        texts, together = ["The Yard", "", "prize prize"], AtOnce(Statistics())

        assert (
            analyze_texts(texts, together)
            == analyze_texts(texts, Statistics())
            == [["the", "yard"], [], ["prize", "prize"]]
        )
        assert together.calls == [texts]


class TestWeights:
    @for_each(
        "term, weight",
        ("yard", log(1 + (10 - 4 + 0.5) / (4 + 0.5))),
        ("prize", log(1 + (10 - 1 + 0.5) / (1 + 0.5))),
        ("the", log(1 + 0.5 / 10.5)),
        ("unheard", log(1 + 10.5 / 0.5)),
    )
    def test_are_the_idf_of_bm25(self, term: str, weight: float):
        assert isclose(term_weights([term], Statistics())[term], weight)

    def test_of_an_empty_index_and_of_none_are_alike_and_positive(self):
        class Empty(Statistics):
            def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
                return 0, dict.fromkeys(words, 0)

        weights = term_weights(["a", "b"], Empty())
        assert weights["a"] == weights["b"] > 0
        assert term_weights(["a", "b", "a"], None) == {"a": 1.0, "b": 1.0}

    def test_are_in_one_order_in_every_process(self):
        terms = [f"word{number:02}" for number in range(30)]

        assert list(term_weights(reversed(terms), Statistics())) == terms


def test_words_without_an_index_have_at_least_four_letters():
    assert words("Who built the YARD in 1974?") == ["built", "yard", "1974"]
    assert analyze_texts(iter(["The yards", "win"]), None) == [["yards"], []]


def test_an_index_stems_the_words_and_knows_their_frequencies(tmp_path: Path):
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    store.write_documents(
        [Document(id=str(number), content="A yard.") for number in range(9)] + [Document(id="p", content="Prizes won.")]
    )
    yard, prize = log(1 + 1.5 / 9.5), log(1 + 9.5 / 1.5)

    assert analyze_texts(["the yards"], store) == [["yard"]]
    weights = term_weights(["yard", "prize"], store)
    assert isclose(weights["yard"], yard, rel_tol=1e-9)
    assert isclose(weights["prize"], prize, rel_tol=1e-9)


@for_each("meta, text", ({"title": "Aurora"}, "Aurora It was a boat."), ({}, " It was a boat."))
def test_the_text_of_a_passage_holds_the_title_that_it_has(meta: dict[str, str], text: str):
    assert passage_text(Document(content="It was a boat.", meta=meta)) == text
    assert passage_text(Document(id="a", meta={"title": None})) == " "
