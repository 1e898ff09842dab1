"""What a source puts first: the newer of two equally good passages, and what is not current last."""

from __future__ import annotations

import random
from typing import Any

import pytest
from haystack import Document

from prefrag.components.sources.current_first import newest_first
from prefrag.components.sources.retrieval_source import RetrievalSource
from tests.for_each import for_each

RULES = "Both boats leave the pier at nine and nobody goes alone on the water in winter."


def _passage(number: int, score: float | None, date: str | None = None, text: str = "", **meta: Any) -> Document:
    dated = {"date": date} if date else {}
    return Document(id=str(number), content=text or f"Passage number {number}.", meta={**dated, **meta}, score=score)


class _Finding:
    """Finds these, whatever is asked."""

    def __init__(self, documents: list[Document]):
        self._documents = documents

    def run(self, query: str) -> dict[str, Any]:
        return {"documents": list(self._documents)}


def _ids(documents: list[Document]) -> str:
    return "".join(document.id for document in documents)


@for_each(
    "given, order",
    ([(9.0, "2023-05-01"), (8.9999, "2024"), (5.0, "2025")], "102"),
    ([(9.0, "2023-05-01"), (8.5, "2024")], "01"),
    ([(9.0, "2023"), (9.0, None), (9.0, "2024"), (9.0, None)], "2103"),
    ([(9.0, "2023", RULES), (6.0, "2026"), (3.0, "2024-02", f"{RULES} Always.")], "210"),
    ([(9.0, "2023", RULES), (3.0, "2024", f"{RULES} But what else is said here is another matter.")], "01"),
    ([(None, "2023"), (None, "2024")], "01"),
    ([(9.0, "2024"), (9.0, "2024")], "01"),
    ([(0.0, "2023", " "), (1.0, "2024", " ")], "01"),
)
def test_of_two_that_are_equally_good_the_newer_takes_the_place_of_the_older(given: list[Any], order: str):
    assert _ids(newest_first([_passage(number, *one) for number, one in enumerate(given)])) == order


class TestASource:
    FOUND = [_passage(0, 9.0, standing="draft"), _passage(1, 8.0), _passage(2, 7.0, "2023"), _passage(3, 7.0, "2024")]

    @for_each("top_k, order", (4, "1320"), (3, "130"), (1, "0"))
    def test_puts_what_is_not_current_last_among_what_it_keeps(self, top_k: int, order: str):
        source = RetrievalSource(name="local", retriever=_Finding(self.FOUND))

        assert _ids(source.run(query="boats", top_k=top_k)["documents"]) == order

    def test_leaves_the_order_of_the_scores_to_whoever_wants_it_and_to_the_web(self, monkeypatch: pytest.MonkeyPatch):
        web = RetrievalSource(name="web", retriever=_Finding(self.FOUND), external=True)
        monkeypatch.setenv("PREFRAG_WEB", "on")
        assert _ids(web.run(query="boats", top_k=4)["documents"]) == "0123"

        monkeypatch.setenv("PREFRAG_CURRENT_FIRST", "off")
        source = RetrievalSource(name="local", retriever=_Finding(self.FOUND))
        assert _ids(source.run(query="boats", top_k=4)["documents"]) == "0123"

    def test_leaves_what_states_neither_as_it_is(self):
        found = [_passage(number, random.Random(number).random()) for number in range(9)]

        source = RetrievalSource(name="local", retriever=_Finding(found))

        assert _ids(source.run(query="boats", top_k=9)["documents"]) == "012345678"
