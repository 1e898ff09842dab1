from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.state.answer_composer import compose
from prefrag.evaluation.metrics import score
from prefrag.evaluation.question import Question
from tests.components.samples import answer_step, document, observed_step, state
from tests.for_each import for_each

OSLO = Question("1", "Where?", ("Oslo",), supporting_ids=("alpha", "beta"), dataset="musique")
ANSWERS = {"acc", "acc_word", "em", "f1", "authors_acc", "authors_em", "authors_f1", "official_em", "official_f1"}
CERTAIN = {"answered", "right_of_given", "fair_of_given", "guess_em"}
WITHHELD = {"answered", "guess_em", "evidence_held", "evidence_gold"}
FOUND = {"recall", "recall_all", "recall_capped", "precision", "recall_at_3", "recall_at_5", "recall_at_7"}


def result(answer: Any = "Oslo", *ids: str, **more: Any) -> dict[str, Any]:
    return {"answer": answer, "documents": [{"id": key} for key in ids], **more}


def test_right_answer_is_scored_without_its_citation_marks():
    assert score(OSLO, result("Oslo", "alpha", "beta")) == dict.fromkeys(ANSWERS | CERTAIN | FOUND, 1.0)

    composed = compose(state(observed_step(document("alpha")), answer_step("Oslo [1]")))

    scores = score(OSLO, composed)

    assert (scores["em"], scores["recall"], scores["precision"]) == (1, 0.5, 1)


@for_each("failed", {}, result(""), result("  ", "alpha", "beta"), result(None, "alpha"))
def test_a_run_without_an_answer_scores_nothing_in_everything(failed: dict[str, Any]):
    assert score(OSLO, failed) == dict.fromkeys(ANSWERS | WITHHELD | FOUND, 0.0)


def test_not_found_answer_is_wrong_even_with_the_gold_words():
    question = Question("1", "Is it?", ("no",), supporting_ids=("alpha",), dataset="hotpotqa")

    scores = score(question, result("The sources do not hold the answer.", "alpha", not_found=True))

    assert (scores["acc"], scores["authors_acc"], scores["recall"]) == (0, 0, 1)


def test_missing_gold_has_no_score_and_an_empty_answer_scores_0():
    """An answer of which normalisation leaves nothing is still one."""

    assert set(score(Question("1", "?", ("Oslo",), dataset="musique"), result())) == ANSWERS | CERTAIN
    assert set(score(Question("1", "?", (), supporting_ids=("alpha",)), result())) == FOUND
    vitamin = Question("1", "Which vitamin?", ("A",), dataset="musique")
    assert [score(vitamin, result(answer))["official_em"] for answer in ("", "A")] == [0, 1]


@given(
    st.text(max_size=12),
    st.lists(st.sampled_from(["yes", "no", "A", "Oslo", "1,000"]), min_size=1, max_size=3),
    st.lists(st.sampled_from("abc"), max_size=4),
    st.sampled_from(["", "hotpotqa", "2wikimultihopqa", "musique", "bioasq"]),
)
def test_scores_are_between_0_and_1_also_of_a_failed_run(answer: str, golds: list[str], ids: list[str], dataset: str):
    """It has the same scores but for what the run gave."""

    question = Question("1", "?", tuple(golds), supporting_ids=("a",), dataset=dataset)

    scores = score(question, result(answer, *ids))

    assert all(0 <= value <= 1 for value in scores.values())
    assert set(scores) - CERTAIN - WITHHELD == set(score(question, {})) - CERTAIN - WITHHELD
