import pytest
from haystack import Document

from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from tests.for_each import for_each


def candidate(title: object, score: float | None = 1.0, key: str = "") -> Document:
    return Document(id=key or str(title), content="", meta={"title": title}, score=score)


@for_each(
    "title, query, boost",
    ("Karlsplatz", "Karlsplatz", 1.5),
    ("Karlsplatz", " Karlsplatz ", 1.5),
    ("Karlsplatz", "karlsplatz", 1.2),
    ("Karlsplatz", "Who designed karlsplatz?", 1.1),
    ("Emma (novel)", "Emma (novel)", 1.5),
    ("Emma (novel)", "emma (NOVEL)", 1.2),
    ("Emma (novel)", "Who wrote Emma (novel)?", 1.1),
    ("Emma (novel)", "Emma", 1.2),
    ("Emma (novel)", "EMMA", 1.1),
    ("Emma (novel)", "Who wrote Emma?", 1.05),
    ("Art", "the party of the year", 1.0),
    ("C++", "who made C++?", 1.1),
    ("Vienna", "Karlsplatz", 1.0),
    ("", "Karlsplatz", 1.0),
    ("(film)", "Karlsplatz", 1.0),
    (None, "None", 1.0),
    (1984, "who wrote 1984", 1.1),
)
def test_boosts_of_the_paper(title, query, boost):
    [document] = TitleMatchRanker().run(query=query, documents=[candidate(title, 2.0)])["documents"]
    assert document.score == pytest.approx(2.0 * boost)


@for_each(
    "title, query, score",
    ("Karlsplatz", "Karlsplatz", -1.0 / 1.5),
    ("Karlsplatz", "Who designed karlsplatz?", -1.0 / 1.1),
    ("Emma (novel)", "Emma", -1.0 / 1.2),
    ("Vienna", "Karlsplatz", -1.0),
)
def test_a_boost_raises_a_negative_score_as_well(title, query, score):
    [document] = TitleMatchRanker().run(query=query, documents=[candidate(title, -1.0)])["documents"]
    assert document.score == pytest.approx(score)


@for_each("title, query", ("Ko\u0308ln", "K\u00f6ln"), ("K\u00f6ln", "Ko\u0308ln"))
def test_letters_with_accents_may_be_written_either_way(title, query):
    [document] = TitleMatchRanker().run(query=query, documents=[candidate(title)])["documents"]
    assert (document.score, document.meta["title"]) == (1.5, title)


def test_a_boost_can_change_the_order_but_not_of_equal_scores():
    candidates = [candidate("Vienna", 2.1), candidate("Karlsplatz", 2.0)]
    ranked = TitleMatchRanker().run(query="Who designed Karlsplatz?", documents=candidates)["documents"]
    assert [document.id for document in ranked] == ["Karlsplatz", "Vienna"]

    candidates = [candidate("Vienna", -1.2), candidate("Karlsplatz", -1.3)]
    ranked = TitleMatchRanker().run(query="Who designed Karlsplatz?", documents=candidates)["documents"]
    assert [document.id for document in ranked] == ["Karlsplatz", "Vienna"]

    candidates = [candidate("x", 1.0, key) for key in "cabd"]
    assert [d.id for d in TitleMatchRanker().run(query="q", documents=candidates)["documents"]] == list("cabd")


def test_the_ranker_keeps_the_best_top_k():
    candidates = [candidate("x", float(n), str(n)) for n in range(9)]
    assert [d.id for d in TitleMatchRanker().run("q", candidates)["documents"]] == list("87654")
    assert [d.id for d in TitleMatchRanker(top_k=3).run("q", candidates)["documents"]] == list("876")
    assert [d.id for d in TitleMatchRanker(top_k=3).run("q", candidates, top_k=1)["documents"]] == ["8"]

    assert TitleMatchRanker().run(query="", documents=[]) == {"documents": []}

    with pytest.raises(ValueError, match="at least 1"):
        TitleMatchRanker().run("q", [], top_k=0)


def test_documents_without_scores_are_ranked_by_title():
    ranked = TitleMatchRanker().run("Karlsplatz", [candidate("Vienna", None), candidate("Karlsplatz", None)])
    assert [(d.id, d.score) for d in ranked["documents"]] == [("Karlsplatz", 1.5), ("Vienna", 1.0)]

    candidates = [candidate("Karlsplatz", 2.0)]
    TitleMatchRanker().run(query="Karlsplatz", documents=candidates)
    assert candidates == [candidate("Karlsplatz", 2.0)]
