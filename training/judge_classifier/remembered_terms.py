"""Cache the terms and the counts of an index, because simulated runs see the same passages again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prefrag.components.text.term_statistics import TermStatistics, analyze_texts


class RememberedTerms:
    """A cache of the term statistics of a store, which analyses each text and counts each word once.

    Nothing may be written to the store in the meantime.
    """

    def __init__(self, statistics: TermStatistics):
        self._statistics = statistics
        self._analysed: dict[str, list[str]] = {}
        self._total = 0
        self._frequencies: dict[str, int] = {}

    def analyze(self, text: str) -> list[str]:
        """Return the terms of a text as the index holds them."""
        return self.analyze_many([text])[0]

    def analyze_many(self, texts: list[str]) -> list[list[str]]:
        """Return the terms of each text."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._analysed]
        self._analysed |= zip(unknown, analyze_texts(unknown, self._statistics), strict=True)
        return [self._analysed[text] for text in texts]

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, Mapping[str, int]]:
        """Return the number of documents, and of those that contain each term."""
        words = list(words)
        unknown = [word for word in words if word not in self._frequencies]
        if unknown or not self._total:
            self._total, counted = self._statistics.document_frequencies(unknown)
            self._frequencies |= {word: counted.get(word, 0) for word in unknown}
        return self._total, {word: self._frequencies[word] for word in words}
