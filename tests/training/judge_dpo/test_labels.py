"""Gold verdicts by gold passages, and the analysis that is closest to them."""

from typing import Any

import pytest
from haystack import Document

from prefrag.evaluation.question import Question
from prefrag.training.judge_dpo.candidates import Gold
from prefrag.training.judge_dpo.labels import GoldPassages, find_nearest
from tests.components.samples import QUESTION, document, found, observed_step, search_step, state

ALPHA = document("alpha", content="The Alpha was built in 1900. Its colour is red.")
BETA = document("beta", content="Beta is a yard. It won the prize in 1974.")
OTHER = document("other", content="Nothing of interest.")
LABELS = GoldPassages(
    [Question("q", QUESTION, ("1974",), supporting_ids=("alpha", "beta"))], {"alpha": ALPHA, "beta": BETA}
)


@pytest.mark.parametrize(
    ("new", "status"),
    [((BETA, OTHER), True), ((OTHER,), False), ((ALPHA,), False)],
    ids=["a gold passage that is new", "none", "one that has been shown"],
)
async def test_a_search_with_an_unseen_gold_passage_is_kept(new, status: bool):
    reached = state(observed_step(ALPHA), search_step("beta", found(*new)))

    gold = await LABELS.label(None, reached)  # type: ignore[arg-type]

    assert gold is not None
    assert gold.status is status is LABELS.status(reached)


async def test_gold_sentences_are_found_or_else_missing_ones():
    async def label(new: Document, *shown: Document, **changes: Any) -> Gold | None:
        reached = state(observed_step(*shown), search_step("beta", found(new)), **changes)
        return await LABELS.label(None, reached)  # type: ignore[arg-type]

    sentences = ("beta Beta is a yard.", "beta It won the prize in 1974.")
    assert await label(BETA, ALPHA) == Gold(True, sentences)
    assert await label(OTHER, ALPHA) == Gold(False, sentences)
    assert await label(OTHER, ALPHA, BETA) == Gold(False, (QUESTION,))
    assert await label(OTHER, question="Another?") is None, "it has no gold passages"


def test_the_nearest_analysis_shares_most_words_with_a_sentence():
    analyses = ["The yard is known.", "It is new that the prize was won in 1974.", "Nothing."]

    assert find_nearest(("Beta is a yard.", "It won the prize in 1974."), analyses) == 1
