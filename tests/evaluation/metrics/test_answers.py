"""Our own scores of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.evaluation.metrics.answers import acc, acc_word, answer_scores, em, f1, fair, normalise, overlap, yes_no
from prefrag.evaluation.question import Question
from tests.for_each import for_each

# Words that normalisation, case and word boundaries treat differently.
TEXTS = st.one_of(
    st.text(max_size=20),
    st.lists(
        st.sampled_from(
            ["a", "The", "no", "Yes", "Norway", "U.S.", "1,000", "3.5", "東京", "İ", "ß", "\u017f", "é", "—", "paris"]
        ),
        max_size=5,
    ).map(" ".join),
)
GOLDS = st.lists(TEXTS, min_size=1, max_size=3).map(tuple)
DATASETS = st.sampled_from(["", "hotpotqa", "2wikimultihopqa", "musique", "bioasq"])


def question(*answers: str, dataset: str = "") -> Question:
    return Question(id="1", question="Which?", answers=answers, dataset=dataset)


@for_each(
    "text, normalised",
    ("The Beatles", "beatles"),
    ("  an  apple a\tday ", "apple day"),
    ("U.S. Route 66", "us route 66"),
    ("1,000.50", "100050"),
    ("rock-n-roll", "rocknroll"),
    ("the-end", "theend"),
    ("Théâtre", "théâtre"),
    ("“Quoted”", "“quoted”"),
    ("a—b", "—b"),
    ("東京、日本", "東京、日本"),
    ("A", ""),
    ("The, a... an!", ""),
    ("", ""),
)
def test_normalisation_drops_case_articles_and_ascii_punctuation(text: str, normalised: str):
    assert normalise(text) == normalised


class TestAcc:
    @for_each(
        "answer, gold, anywhere, as_a_word",
        ("Paris", "Paris", 1, 1),
        ("It is paris, France.", "Paris", 1, 1),
        ("Parisian", "Paris", 1, 0),
        ("Norway", "no", 1, 0),
        ("I do not know", "no", 1, 0),
        ("No, it is not.", "no", 1, 1),
        ("In the U.S., of course", "U.S.", 1, 1),
        ("born in 1984", "84", 1, 0),
        ("Par is", "Paris", 0, 0),
        ("1000", "1,000", 0, 0),
        ("C++11", "C++", 1, 0),
        ("東京都です", "東京", 1, 0),
        ("東京", "東京", 1, 1),
        ("(Zürich)", "ZÜRICH", 1, 1),
        ("a.b", "a+b", 0, 0),
        ("", "Paris", 0, 0),
        ("Paris", " ", 0, 0),
    )
    def test_is_a_substring_and_acc_word_is_not_inside_a_longer_word(
        self, answer: str, gold: str, anywhere: float, as_a_word: float
    ):
        assert acc(answer, [gold]) == anywhere
        assert acc_word(answer, [gold]) == as_a_word

    def test_takes_any_alias_also_of_two_letters_within_a_word(self):
        """But for its bounds, an alias of two letters would count nearly everything as right; acc_word looks at them."""

        assert acc("the capital, Oslo", ["Kristiania", "Oslo"]) == 1
        assert acc_word("the capital, Oslo", ["Kristiania", "Oslo"]) == 1

        norway = ["Norway", "NO", "NOR", "no"]

        assert acc("unknown", norway) == 1
        assert acc_word("unknown", norway) == 0


class TestF1AndEm:
    @for_each(
        "answer, golds, exact, score",
        ("Paris", ["Paris"], 1, 1),
        ("the PARIS!", ["Paris"], 1, 1),
        # Shared: barack, obama. Precision 2/3, recall 2/2.
        ("President Barack Obama", ["Barack Obama"], 0, 0.8),
        # Precision 2/4, recall 2/3.
        ("he was in Paris France", ["Paris, Texas, France"], 0, 2 * 0.4 * (2 / 3) / (0.4 + 2 / 3)),
        # A repeated word counts as often as both sides have it: shared 1, precision 1/2, recall 1.
        ("York York", ["York"], 0, 2 / 3),
        ("London", ["Paris"], 0, 0),
        ("1,000", ["1000"], 1, 1),
        ("3.5", ["35"], 1, 1),
        ("東京", ["東京"], 1, 1),
        ("東京 都", ["東京"], 0, 2 / 3),
        ("東京都", ["東京"], 0, 0),
        ("Oslo", ["Kristiania", "Oslo, Norway", "oslo"], 1, 1),
        ("Oslo city", ["Kristiania", "Oslo Norway"], 0, 0.5),
        ("", ["Paris"], 0, 0),
        ("an A", ["A"], 1, 1),
        ("yes", ["yes, they are"], 0, 0.5),
    )
    def test_are_those_of_the_best_alias_after_normalisation(
        self, answer: str, golds: list[str], exact: float, score: float
    ):
        assert em(answer, golds) == exact
        assert f1(answer, golds) == pytest.approx(score)

    @given(TEXTS, GOLDS, TEXTS)
    def test_exact_match_has_an_f1_of_1_and_aliases_make_none_worse(
        self, answer: str, golds: tuple[str, ...], alias: str
    ):
        """No score leaves its bounds."""

        assert em(answer, golds) in (0, 1)
        assert 0 <= f1(answer, golds) <= 1
        assert em(answer, golds) <= f1(answer, golds)
        for score in (acc, acc_word, em, f1):
            assert score(answer, (*golds, alias)) >= score(answer, golds)

    @given(TEXTS, TEXTS)
    def test_f1_is_symmetric_and_precision_is_recall_the_other_way(self, left: str, right: str):
        (score, precision, recall), (back, back_precision, back_recall) = overlap(left, right), overlap(right, left)

        assert score == pytest.approx(back)
        assert (precision, recall) == (back_recall, back_precision)


class TestYesNo:
    @for_each(
        "answer, read",
        ("Yes", "yes"),
        ("**Yes**.", "yes"),
        ("no", "no"),
        ("No, it does not cause it.", "no"),
        ("Yes and no", None),
        ("Norway", None),
        ("yesterday", None),
        ("It is unknown", None),
        ("", None),
    )
    def test_is_the_one_of_the_two_words_that_the_answer_holds(self, answer: str, read: str | None):
        assert yes_no(answer) == read

    @for_each("answer, gold, right", ("Yes.", "yes", 1), ("No", "yes", 0), ("yes or no", "yes", 0), ("Norway", "no", 0))
    def test_decides_acc_for_bioasq_and_acc_word_alone_elsewhere(self, answer: str, gold: str, right: float):
        """For BioASQ, an answer with both words is wrong."""

        scores = answer_scores(question(gold, dataset="bioasq"), answer)
        assert (scores["acc"], scores["acc_word"]) == (right, right)
        scores = answer_scores(question("no", dataset="hotpotqa"), "Yes and no: both are in Norway")
        assert (scores["acc"], scores["acc_word"]) == (1, 0)


@given(TEXTS, GOLDS, DATASETS)
def test_all_scores_keep_their_bounds_and_acc_word_implies_acc(answer: str, golds: tuple[str, ...], dataset: str):
    scores = answer_scores(question(*golds, dataset=dataset), answer)

    assert set(scores) == {"acc", "acc_word", "em", "f1"}
    assert all(0 <= value <= 1 for value in scores.values())
    assert scores["acc_word"] <= scores["acc"]


@for_each(
    "answer, gold, is_fair",
    ("Germany", "in Germany", True),
    ("Two", "2", True),
    ("two cases", "2 cases", True),
    ("Ann", "Ann Low", True),
    ("Ann", "Ann Maria Low", False),
    ("Ann Low of Selby", "Ann Low", False),
    ("low", "Ann Lowell", False),
    ("", "Ann", False),
)
def test_answer_is_fair_as_half_a_right_one_or_nearly_the_same(answer: str, gold: str, is_fair: bool):
    """Nearly the same: it differs by a preposition or a number."""

    assert fair(answer, [gold]) == is_fair
