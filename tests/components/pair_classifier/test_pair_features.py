"""The features of two passages and a question, on texts small enough to count by hand."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.pair_classifier.pair_features import FEATURES, pair_features
from tests.components.samples import AtOnce, document

QUESTION = "Which harbour town built the schooner Aurora?"
AURORA = document("Aurora", "The schooner was launched by the yard of Brennan Brothers (1901).")
BRENNAN = document("Brennan Brothers", "Shipwrights of Kilmore, a harbour town. They launched nine schooners.")
CHEESE = document("Cheese", "Made of milk.")


def features(question: str, *pairs: tuple[Document, Document], statistics: Any = None) -> list[dict[str, float]]:
    rows = pair_features(question, list(pairs), statistics)
    return [dict(zip(FEATURES, row.tolist(), strict=True)) for row in rows]


def of(first: Document, second: Document) -> dict[str, float]:
    return features(QUESTION, (first, second))[0]


def test_features_measure_words_and_titles_of_the_question():
    # harbour, town, built, schooner, aurora: without statistics, all words of at least four letters weigh the same.
    counted = of(AURORA, BRENNAN)

    assert counted["covered_a"] == pytest.approx(2 / 5)
    assert counted["covered_b"] == pytest.approx(2 / 5)
    assert counted["covered_both"] == 0
    assert counted["covered_pair"] == pytest.approx(4 / 5)
    assert counted["open_covered_b"] == pytest.approx(2 / 3)
    assert counted["question_words"] == 5
    assert (counted["title_a_asked"], counted["title_b_asked"], counted["titles_asked"]) == (1, 0, 1)
    # Aurora is the only word in the question, after the first, that is written as a name.
    assert (counted["names_a"], counted["names_b"]) == (1, 0)
    # launched, brennan, brothers
    assert counted["shared"] == 3
    assert of(AURORA, CHEESE)["shared"] == 0
    # launched: "brennan brothers" is a title on one side.
    assert counted["shared_phrases"] == 0


def test_whose_title_stands_in_whose_text():
    there, back = features(QUESTION, (AURORA, BRENNAN), (BRENNAN, AURORA))

    assert (there["title_b_in_a"], there["title_a_in_b"]) == (1, 0)
    assert (back["title_b_in_a"], back["title_a_in_b"]) == (0, 1)
    assert 0.5 < there["title_b_place_in_a"] < 1
    assert back["title_b_place_in_a"] == -1
    assert (there["links_from_a"], there["links_to_b"]) == (1, 1)


def test_a_title_counts_as_whole_words_without_parenthesis():
    brothers = document("Brennan Brothers (shipyard)", "A yard.")
    text = document("Yards", "The yards of the coast (Brennan Brothers)")

    assert of(AURORA, brothers)["title_b_in_a"] == of(text, BRENNAN)["title_b_in_a"] == 1
    assert of(AURORA, document("Brenn", "A village."))["title_b_in_a"] == 0


def test_passages_of_two_sources_with_the_same_id_are_two():
    same_id = Document(id=AURORA.id, content=BRENNAN.content, meta=BRENNAN.meta)

    assert of(AURORA, same_id) == of(AURORA, BRENNAN)


def test_where_a_passage_leads_on_to():
    # Both contain what Aurora leaves open, a harbour town. Only one is led on to, by the brothers Aurora names.
    port = document("Port", "A harbour town of the north coast.")
    brothers, other, cheese = features(QUESTION, (AURORA, BRENNAN), (AURORA, port), (AURORA, CHEESE))

    assert min(brothers["open_fit_b"], other["open_fit_b"]) > 0.5
    assert (brothers["led_on_b"], other["led_on_b"]) == (1, 0)
    assert (brothers["led_on_rank_b"], cheese["open_fit_b"]) == (0, 0)


def test_rare_words_weigh_more(tmp_path: Path):
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    store.write_documents([AURORA, BRENNAN, *(document(f"Town {n}", "A harbour town.") for n in range(20))])

    question = "The harbour town of the schooner Aurora"
    alike = features(question, (AURORA, BRENNAN))[0]
    weighed = features(question, (AURORA, BRENNAN), statistics=store)[0]

    assert alike["covered_a"] == alike["covered_b"] == 0.5
    assert weighed["covered_a"] > 0.6 > 0.5 > weighed["covered_b"]


def test_values_may_be_relative_to_the_best_pair():
    alone = of(AURORA, CHEESE)
    beside = features(QUESTION, (AURORA, CHEESE), (AURORA, BRENNAN))[0]

    assert alone["covered_pair_below_best"] == 0
    assert beside["covered_pair_below_best"] == pytest.approx(-2 / 5)


def test_features_depend_on_no_score_and_no_order():
    pairs = [(AURORA, BRENNAN), (AURORA, CHEESE), (BRENNAN, AURORA)]
    scored = [tuple(Document(id=d.id, content=d.content, meta=d.meta, score=7.0) for d in pair) for pair in pairs]

    expected = pair_features(QUESTION, pairs)

    assert np.array_equal(pair_features(QUESTION, scored), expected)
    backwards = pair_features(QUESTION, pairs[::-1])[::-1]
    unequal = [
        name for number, name in enumerate(FEATURES) if not np.allclose(backwards[:, number], expected[:, number])
    ]
    # Of passages that fit equally well, the first one comes first.
    assert set(unequal) <= {"fit_rank_a", "fit_rank_b", "chained_rank_b", "led_on_rank_b"}


class Rare:
    """Statistics in which shorter words are rarer, and words are not analysed."""

    def analyze(self, text: str) -> list[str]:
        return text.lower().replace(".", "").split()

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        return 100, {word: min(len(word), 100) for word in words}


def test_texts_are_analysed_in_one_call_with_the_same_result():
    pairs = [(AURORA, BRENNAN), (AURORA, CHEESE), (BRENNAN, AURORA)]
    together = AtOnce(Rare())

    assert np.array_equal(pair_features(QUESTION, pairs, together), pair_features(QUESTION, pairs, Rare()))
    assert len(together.calls) == 1


texts = st.text(max_size=30)


@given(question=texts, passages=st.lists(st.tuples(texts, st.none() | texts), min_size=2, max_size=4))
def test_any_text_gives_finite_numbers(question: str, passages: list[tuple[str, str | None]]):
    pool = [
        Document(id=str(n), content=content, meta={} if title is None else {"title": title})
        for n, (content, title) in enumerate(passages)
    ]

    rows = pair_features(question, [(pool[0], other) for other in pool[1:]])

    assert rows.shape == (len(pool) - 1, len(FEATURES))
    assert pair_features(question, []).shape == (0, len(FEATURES))
    assert np.isfinite(rows).all()
