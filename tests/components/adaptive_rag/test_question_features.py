"""The features of a question's text."""

import time

from prefrag.components.adaptive_rag.question_features import FEATURES, question_features
from tests.for_each import for_each


def features(question: str) -> dict[str, float]:
    return dict(zip(FEATURES, question_features(question), strict=True))


def test_each_feature_has_a_name_of_its_own():
    assert len(set(FEATURES)) == len(FEATURES) == len(question_features("Who built alpha?"))


def test_names_begin_after_the_first_word_and_hold_small_words():
    values = features("Where was the director of The House of the Dead born?")

    assert (values["names"], values["words_in_names"], values["longest_name"]) == (1, 5, 5)


@for_each(
    "question, feature, value",
    ("Who is the mother of the director of Alpha?", "relations", 2),
    ("Who is the mother of the director of Alpha?", "of", 2),
    ("Who is Alpha's father?", "possessives", 1),
    ("Who directed the film that won in 1974?", "relatives", 1),
    ("Who directed the film that won in 1974?", "years", 1),
    ("Are Alpha and Beta in the same country?", "comparisons", 1),
    ("Are Alpha and Beta in the same country?", "form_yes_no", 1),
    ("Are Alpha and Beta in the same country?", "first_are", 1),
    ("Alpha was built by whom?", "first_other", 1),
    ("Where was Alpha built?", "passives", 0),
    ("By whom was Alpha first sailed (once)?", "passives", 0),
    ("The ship was sailed by whom (once)?", "passives", 1),
    ("The ship was sailed by whom (once)?", "parentheses", 1),
)
def test_counts_what_a_question_of_several_steps_is_made_of(question: str, feature: str, value: float):
    assert features(question)[feature] == value


def test_marks_that_nothing_closes_take_no_time():
    started = time.process_time()
    question_features("\u201c" * 30_000)

    assert time.process_time() - started < 5


@for_each("question", "", "?", "船は?", "a" * 4_000, "A " * 2_000, '"' * 4_000)
def test_any_text_has_features(question: str):
    assert len(question_features(question)) == len(FEATURES)
