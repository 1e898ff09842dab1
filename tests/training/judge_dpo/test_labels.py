"""Gold verdicts by gold passages, and the analysis that is closest to them."""

import pytest

from prefrag.evaluation.question import Question
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
async def test_a_search_is_worth_keeping_where_it_found_a_gold_passage_that_had_not_been_shown(new, status: bool):
    reached = state(observed_step(ALPHA), search_step("beta", found(*new)))

    gold = await LABELS.label(None, reached)  # type: ignore[arg-type]

    assert gold is not None
    assert gold.status is status is LABELS.status(reached)


async def test_the_gold_sentences_are_those_found_or_else_those_still_missing():
    for new in (BETA, OTHER):
        gold = await LABELS.label(None, state(observed_step(ALPHA), search_step("beta", found(new))))  # type: ignore[arg-type]
        assert gold is not None
        assert gold.references == ("beta Beta is a yard.", "beta It won the prize in 1974.")


async def test_where_nothing_is_missing_the_question_stands_for_them():
    gold = await LABELS.label(None, state(observed_step(ALPHA, BETA), search_step("x", found(OTHER))))  # type: ignore[arg-type]

    assert gold is not None
    assert (gold.status, gold.references) == (False, (QUESTION,))


async def test_a_question_without_gold_passages_has_no_label():
    assert await LABELS.label(None, state(search_step("x", found(OTHER)), question="Another?")) is None  # type: ignore[arg-type]


def test_the_nearest_analysis_shares_most_words_with_one_sentence():
    analyses = ["The yard is known.", "It is new that the prize was won in 1974.", "Nothing."]

    assert find_nearest(("Beta is a yard.", "It won the prize in 1974."), analyses) == 1
