"""Of two equally good passages of a source, the newer comes first; passages that are no longer current come last."""

from typing import Any

import pytest
from haystack import Document

from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.sources.retrieval_source import RetrievalSource
from tests.fakes import Giving
from tests.for_each import for_each

RULES = "Both boats leave the pier at nine and nobody goes alone on the water in winter."


def _search(rows: list[tuple[Any, ...]], external: bool = False, top_k: int = 9, ranker: Any = None) -> str:
    documents = [
        Document(id=str(number), content=text, score=score, meta={"date": date, "standing": standing})
        for number, (score, date, text, standing) in enumerate(
            (*row, *(None, f"It is number {number}.", None)[len(row) - 1 :]) for number, row in enumerate(rows)
        )
    ]
    source = RetrievalSource(name="local", retriever=Giving(*documents), ranker=ranker, external=external)
    return "".join(document.id for document in source.run(query="boats", top_k=top_k)["documents"])


@for_each(
    "rows, order",
    ([(9.0, "2023-05-01"), (8.9999, "2024"), (5.0, "2025")], "102"),
    ([(9.0, "2023-05-01"), (8.5, "2024")], "01"),
    ([(9.0, "2023"), (9.0,), (9.0, "2024"), (9.0,)], "2103"),
    ([(9.0, "2023", RULES), (6.0, "2026"), (3.0, "2024-02", f"{RULES} Always.")], "210"),
    ([(9.0, "2023", RULES), (3.0, "2024", f"{RULES} But what else is said here is another matter.")], "01"),
    ([(None, "2023"), (None, "2024"), (9.0, "2024"), (9.0, "2024"), (0.0, "2023", ""), (1.0, "2024", "")], "012345"),
    ([(1.0,), (3.0,), (3.0,), (2.0,)], "0123"),
    ([(9.0, "2023"), (9.0, "20 May 1890"), (9.0, 2025)], "210"),
)
def test_the_newer_of_two_equally_good_takes_the_first_place(rows: list[Any], order: str):
    assert _search(rows) == order


def test_a_ranker_does_not_cut_off_the_newer_one_before():
    assert _search([(9.0, "2023"), (9.0, "2024"), (8.0, "2025")], top_k=1, ranker=TitleMatchRanker()) == "1"


def test_outdated_passages_are_last_unless_set_otherwise(
    monkeypatch: pytest.MonkeyPatch,
):
    rows = [(9.0, None, "A.", "draft"), (8.0,), (7.0, "2023"), (7.0, "2024"), (6.0, None, "B.", "about")]

    assert [_search(rows, top_k=top_k) for top_k in (5, 3, 1)] == ["13240", "130", "0"]
    monkeypatch.setenv("PREFRAG_WEB", "on")
    assert _search(rows, external=True) == "01234"
    monkeypatch.setenv("PREFRAG_CURRENT_FIRST", "off")
    assert _search(rows) == "01234"
