"""The same files give the same order of passages, however an index was built."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.ties import is_tied, sort_ties
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from tests.for_each import for_each

MILLS = [
    Document(id=f"m{number:03}", content=f"The mill {number} has a wheel.", meta={"title": "Mill", "part": number % 2})
    for number in range(100, 180)
]


def stored(folder: Path, documents: Sequence[Document], commits: int) -> TantivyDocumentStore:
    """Index documents in several commits; the order of the segments that they make is by chance."""
    store = TantivyDocumentStore(path=folder)
    for number in range(commits):
        store.write_documents(list(documents[number::commits]))
    return store


@pytest.fixture
def builds(tmp_path: Path) -> list[TantivyDocumentStore]:
    shuffled = random.Random(1).sample(MILLS, len(MILLS))
    orders = (MILLS, MILLS[::-1], shuffled)
    return [stored(tmp_path / str(number), own, commits=number + 1) for number, own in enumerate(orders)]


@for_each("filters", None, {"field": "meta.part", "operator": "==", "value": 0})
def test_equal_scores_are_sorted_by_id_in_every_build(builds: list[TantivyDocumentStore], filters: Any):
    for top_k in (3, 60):
        results = [[document.id for document in store.search("mill wheel", top_k, filters)] for store in builds]

        wanted = [document.id for document in MILLS if filters is None or document.meta["part"] == 0][:top_k]
        assert results == [wanted] * len(builds)


def test_passages_of_a_mentioned_title_are_sorted_alike(builds: list[TantivyDocumentStore]):
    results = [TitleMentionRetriever(store).run("Who built the Mill?")["documents"] for store in builds]

    assert results[0]
    assert [[document.id for document in documents] for documents in results] == [
        [document.id for document in results[0]]
    ] * len(builds)


def test_a_difference_of_rounding_is_no_better_score():
    documents = [Document(id=key, score=score) for key, score in (("c", 1.000001), ("b", 1.0), ("a", 0.9), ("d", 2.0))]

    assert [document.id for document in sort_ties(documents)] == ["d", "b", "c", "a"]


@for_each("scores, is_so", ([2.0, 1.0, 1.0], True), ([2.0, 1.0, 0.9], False), ([2.0, 1.0], False))
def test_a_tie_at_the_end_is_seen(scores: list[float], is_so: bool):
    assert is_tied(scores, 2) is is_so
