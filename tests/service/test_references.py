"""The numbered documents of a result."""

from __future__ import annotations

from service.references import reference_text, references, references_text

LOCAL = {"id": "d1", "title": "Alpha", "source": "local", "url": ""}
FILED = {"id": "d2", "title": "Beta", "source": "local", "url": "", "file": "yards.pdf", "page": 3}
WEB = {"id": "w1", "title": "Gamma", "source": "web", "url": "https://gamma.example"}


def test_documents_of_the_web_are_numbered_apart():
    assert [mark for mark, _ in references({"documents": [LOCAL, WEB, FILED]})] == ["1", "W1", "2"]


def test_a_source_whose_queries_left_the_house_counts_as_web():
    news = {**WEB, "source": "news"}

    marks = references({"documents": [LOCAL, news], "queries_sent_out": [{"source": "news", "query": "gamma"}]})

    assert [mark for mark, _ in marks] == ["1", "W1"]


def test_each_says_where_it_is_from():
    assert references_text({"documents": [LOCAL, FILED, WEB]}) == (
        "Sources:\n[1] Alpha (local)\n[2] Beta (local, yards.pdf, page 3)\n[W1] Gamma (web) https://gamma.example"
    )


def test_a_document_without_a_title_goes_by_its_id():
    assert reference_text("1", {"id": "d1", "title": "", "source": "local"}) == "[1] d1 (local)"


def test_no_documents_no_heading():
    assert references_text({"documents": []}) == ""
