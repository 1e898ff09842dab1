"""Words that are looked up once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prefrag.training.judge_classifier.remembered_terms import RememberedTerms


class Counting:
    """Split texts into words, and record the requests."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.words: list[str] = []

    def analyze(self, text: str) -> list[str]:
        self.texts.append(text)
        return text.split()

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, Mapping[str, int]]:
        requested = list(words)
        self.words += requested
        return 10, {word: len(word) for word in requested if word != "absent"}


def test_a_text_is_analysed_once():
    store = Counting()
    terms = RememberedTerms(store)

    assert terms.analyze_many(["a b", "c", "a b"]) == [["a", "b"], ["c"], ["a", "b"]]
    assert terms.analyze("c") == ["c"]
    assert store.texts == ["a b", "c"]


def test_a_word_is_counted_once():
    store = Counting()
    terms = RememberedTerms(store)

    assert terms.document_frequencies([]) == (10, {})
    assert terms.document_frequencies(["yard", "absent"]) == (10, {"yard": 4, "absent": 0})
    assert terms.document_frequencies(["absent", "sea"]) == (10, {"absent": 0, "sea": 3})
    assert store.words == ["yard", "absent", "sea"]
