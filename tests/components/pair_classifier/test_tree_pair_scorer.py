"""The trees of DR-RAG's pair classifier."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from tests.components.samples import document
from tests.for_each import for_each

pytest.importorskip("xgboost")

QUESTION = "Who founded the yard that built the schooner Aurora?"
AURORA = document("Aurora (ship)", "Aurora is a schooner that was built at Brennan Yard in 1901.")
YARD = document("Brennan Yard", "Brennan Yard was founded by Ada Holm and lies in Kilmore.")
SCHOOL = document("Kilmore School", "The school was founded in 1911; it has a garden.")
TOWN = document("Ballina", "Ballina is a town in the west, known for its salmon.")


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    made = TantivyDocumentStore(path=str(tmp_path / "index"))
    made.write_documents([AURORA, YARD, SCHOOL, TOWN, *(document(f"No {n}", f"Of {n} sheep.") for n in range(30))])
    return made


@for_each("label", "pair", "passage")
def test_the_shipped_ones_find_what_belongs_together(store: TantivyDocumentStore, label: Any):
    scorer = TreePairScorer(term_statistics=store, label=label)

    scores = scorer.score(QUESTION, [(AURORA, YARD), (AURORA, SCHOOL), (AURORA, TOWN)])

    assert scores[0] == max(scores)
    assert scores[0] > 0.5 > scores[2]
    assert all(0 <= score <= 1 for score in scores)


def test_threads_may_share_it_and_no_pairs_have_no_scores(store: TantivyDocumentStore):
    scorer = TreePairScorer(term_statistics=store)
    pairs = [(AURORA, YARD), (AURORA, SCHOOL)]
    expected = scorer.score(QUESTION, pairs)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: scorer.score(QUESTION, pairs), range(20))) == [expected] * 20
    assert scorer.score(QUESTION, []) == []


def test_an_empty_path_and_another_label_are_refused():
    with pytest.raises(ValueError, match="model is empty"):
        TreePairScorer("")
    with pytest.raises(ValueError, match="label is 'document': set it to pair or passage"):
        TreePairScorer(label="document")  # type: ignore[arg-type]
