"""The datasets' own scores.

The expected values were worked out with the evaluation scripts in the repositories of HotpotQA (hotpot_evaluate_v1.py),
2WikiMultiHopQA (2wikimultihop_evaluate_v1.1.py), MuSiQue (metrics/answer.py) and BioASQ (EvaluatorTask1b.java).
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.evaluation.metrics.answers import answer_scores, f1
from prefrag.evaluation.metrics.official import (
    authors_scores,
    bioasq,
    bioasq_macro_f1,
    hotpotqa,
    musique,
    official_scores,
    squad,
    two_wiki,
)
from prefrag.evaluation.question import Question
from tests.for_each import for_each

WORDS = [
    *("a", "The", "an", "yes", "no", "noanswer", "Norway", "U.S.", "1,000", "paris", "paris,"),
    *("東京", "é", "...", "—"),
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
GOLDS = st.lists(TEXTS, min_size=1, max_size=3)


@pytest.fixture(scope="module")
def official() -> Any:
    return pytest.importorskip("transformers.data.metrics.squad_metrics", reason="needs transformers before 5")


@pytest.fixture(scope="module")
def sklearn() -> Any:
    return pytest.importorskip("sklearn.metrics", reason="needs scikit-learn")


class TestHotpotQa:
    @for_each(
        "answer, gold, exact, score, precision, recall",
        ("The Eiffel Tower", "Eiffel Tower", 1, 1, 1, 1),
        ("Eiffel Tower in Paris", "the Eiffel Tower", 0, 2 / 3, 1 / 2, 1),
        ("Barack Obama", "President Barack Hussein Obama", 0, 2 / 3, 1, 1 / 2),
        ("Yes!", "yes", 1, 1, 1, 1),
        ("Yes, they are", "yes", 0, 0, 0, 0),
        ("yes", "yes, they are", 0, 0, 0, 0),
        ("no", "yes", 0, 0, 0, 0),
        ("No answer", "noanswer", 0, 0, 0, 0),
        ("no-answer", "noanswer", 1, 1, 1, 1),
        ("noanswer given", "noanswer", 0, 0, 0, 0),
        ("1,000", "1000", 1, 1, 1, 1),
        ("\u22125", "5", 0, 0, 0, 0),
        ("-5", "5", 1, 1, 1, 1),
        ("東京 都", "東京", 0, 2 / 3, 1 / 2, 1),
        ("Beyoncé", "Beyonce", 0, 0, 0, 0),
        ("", "Paris", 0, 0, 0, 0),
        # Normalisation leaves nothing on either side: an exact match with an F1 of 0.
        ("", "A", 1, 0, 0, 0),
    )
    def test_is_squad_but_yes_no_and_noanswer_are_all_or_nothing(
        self, answer: str, gold: str, exact: float, score: float, precision: float, recall: float
    ):
        expected = {"em": exact, "f1": score, "precision": precision, "recall": recall}

        assert hotpotqa(answer, gold) == pytest.approx(expected)

    def test_knows_the_first_answer_alone(self):
        question = Question("1", "Where?", ("Kristiania", "Oslo"), dataset="hotpotqa")

        assert official_scores(question, "Oslo")["official_em"] == 0


class TestTwoWiki:
    def test_takes_each_score_from_its_best_alias(self):
        """Yes and no are scored as by HotpotQA."""

        # Against "Duke": precision 1/3, recall 1, F1 1/2. Against "Duke Y Z W V": precision 2/3, recall 2/5, F1 1/2.
        scores = two_wiki("Duke Y Q", ["Duke", "Duke Y Z W V", "the man"])

        assert scores == pytest.approx({"em": 0, "f1": 0.5, "precision": 2 / 3, "recall": 1})

        assert two_wiki("yes it is", ["yes"])["f1"] == 0
        assert two_wiki("Yes.", ["no", "yes"])["f1"] == 1


class TestMusique:
    @for_each(
        "answer, golds, exact, score",
        ("Norway", ["Norway", "NO", "no"], 1, 1),
        ("no way", ["Norway", "no"], 0, 2 / 3),
        ("yes they are", ["yes"], 0, 0.5),
        ("the Politburo", ["Politburo"], 1, 1),
        ("", ["Politburo"], 0, 0),
        ("the", ["A"], 1, 1),
        ("", ["A", "Politburo"], 1, 1),
        ("Politburo", ["A"], 0, 0),
    )
    def test_is_squad_of_the_best_alias_with_agreement_on_no_words(
        self, answer: str, golds: list[str], exact: float, score: float
    ):
        assert musique(answer, golds) == pytest.approx({"em": exact, "f1": score})


class TestSquad:
    def test_gives_no_f1_where_no_word_is_left_to_share(self):
        assert squad("the", ["A"]) == {"em": 1, "f1": 0}
        assert squad("York York", ["York", "Leeds"]) == pytest.approx({"em": 0, "f1": 2 / 3})

    @given(answer=TEXTS, golds=GOLDS)
    def test_equals_the_copy_of_the_official_script_in_transformers(self, official: Any, answer: str, golds: list[str]):
        # That copy is of SQuAD 2.0. If no words are left, its F1 is 1, as are ours and MuSiQue's.
        exact = max(official.compute_exact(gold, answer) for gold in golds)
        score = max(official.compute_f1(gold, answer) for gold in golds)

        assert squad(answer, golds)["em"] == exact
        assert musique(answer, golds) == {"em": exact, "f1": score}
        assert f1(answer, golds) == score


class TestBioasq:
    @for_each("answer, gold, right", ("Yes, it is", "yes", 1), ("No", "yes", 0), ("yes and no", "no", 0), ("", "no", 0))
    def test_accuracy_reads_the_word_out_of_the_answer(self, answer: str, gold: str, right: float):
        assert bioasq(answer, gold) == {"accuracy": right}

    def test_macro_f1_counts_wrong_answers_against_both_labels(self):
        """A label without questions counts as zero."""

        # 3 of 4 yes and 1 of 2 no are right, so 2 are wrong. F1 of yes is 6 / (6 + 2), of no 2 / (2 + 2).
        run = [("yes", 1.0)] * 3 + [("yes", 0.0), ("no", 1.0), ("no", 0.0)]

        assert bioasq_macro_f1(run) == pytest.approx(
            {"official_f1_yes": 0.75, "official_f1_no": 0.5, "official_macro_f1": 0.625}
        )

        assert bioasq_macro_f1([("yes", 1.0)])["official_macro_f1"] == 0.5
        assert bioasq_macro_f1([("no", 0.0)])["official_macro_f1"] == 0
        assert bioasq_macro_f1([]) == {}

    @given(pairs=st.lists(st.tuples(*[st.sampled_from(["yes", "no"])] * 2), min_size=1, max_size=20))
    def test_macro_f1_equals_scikit_learn_where_all_is_readable(self, sklearn: Any, pairs: list[tuple[str, str]]):
        golds, answers = [gold for gold, _ in pairs], [answer for _, answer in pairs]
        ours = bioasq_macro_f1([(gold, bioasq(answer, gold)["accuracy"]) for gold, answer in pairs])

        theirs = sklearn.f1_score(golds, answers, labels=["yes", "no"], average="macro", zero_division=0)

        assert ours["official_macro_f1"] == pytest.approx(theirs)


@for_each(
    "dataset, answers, names",
    ("hotpotqa", ("yes",), {"em", "f1", "precision", "recall"}),
    ("2wikimultihopqa", ("Oslo",), {"em", "f1", "precision", "recall"}),
    ("musique", ("Oslo",), {"em", "f1"}),
    ("bioasq", ("yes",), {"accuracy"}),
    ("bioasq", ("BRCA1",), set()),
    ("mine", ("Oslo",), {"em", "f1"}),
)
def test_every_dataset_has_the_scores_of_its_own_script(dataset: str, answers: tuple[str, ...], names: set[str]):
    scores = official_scores(Question("1", "?", answers, dataset=dataset), answers[0])

    assert scores == {f"official_{name}": 1.0 for name in names}


@given(TEXTS, GOLDS, st.sampled_from(["hotpotqa", "2wikimultihopqa", "musique", ""]))
def test_official_scores_keep_their_bounds_and_never_exceed_ours(answer: str, golds: list[str], dataset: str):
    scores = official_scores(Question("1", "?", tuple(golds), dataset=dataset), answer)

    assert all(0 <= value <= 1 for value in scores.values())
    assert scores["official_f1"] <= f1(answer, golds)


def test_yes_no_answer_shares_its_word_unlike_in_hotpotqa():
    question = Question("1", "Are they?", ("yes",), dataset="hotpotqa")

    assert authors_scores(question, "Yes, they are") == pytest.approx(
        {"authors_acc": 1, "authors_em": 0, "authors_f1": 0.5}
    )
    assert official_scores(question, "Yes, they are")["official_f1"] == 0


@for_each(
    "answer, gold, theirs, ours",
    ("Yes", "yes", 1, 1),
    ("yes and no", "no", 1, 0),
    ("Norway", "no", 0, 0),
    ("NO.", "no", 1, 1),
    ("", "no", 0, 0),
)
def test_bioasq_answer_with_both_words_is_right_for_the_authors(answer: str, gold: str, theirs: float, ours: float):
    """It is wrong with us."""

    question = Question("1", "Does it?", (gold,), dataset="bioasq")

    assert authors_scores(question, answer) == {"authors_acc": theirs}
    assert answer_scores(question, answer)["acc"] == ours


def test_authors_acc_is_ours_elsewhere_but_not_f1_without_words():
    """Where normalisation leaves no words, their F1 is zero. | Where normalisation leaves no words."""

    question = Question("1", "Where?", ("no",), dataset="musique")

    assert authors_scores(question, "Norway")["authors_acc"] == answer_scores(question, "Norway")["acc"] == 1

    question = Question("1", "Which vitamin?", ("A",))

    assert authors_scores(question, "A") == {"authors_acc": 1, "authors_em": 1, "authors_f1": 0}
    assert answer_scores(question, "A")["f1"] == 1
