"""Whether an answer given as stated is right in the world in which it was given."""

from typing import Any

from prefrag.evaluation.prove.questions import Question, propose
from prefrag.evaluation.prove.sentences import Sentences
from prefrag.evaluation.prove.verdict import judge_answer
from tests.evaluation.prove.folder import passages
from tests.for_each import for_each

TEXT = "Series production starts on 1 June 2026 in Ellerby."
YEAR = "The Merrow Bridge was built in 1931 next to the harbour."
LOOMS = "The Ropewalk Fire destroyed five looms of the mill."
NAME = "The Pellhaven Hall was opened by Henrike Vold."


def question_of(text: str) -> Question:
    return next(propose(Sentences(passages(Notes=text)).all[0]))


def stated(answer: str, sentence: str = "") -> dict[str, Any]:
    return {"certainty": "stated", "answered": True, "answer": answer, "evidence": [{"sentence": sentence}]}


@for_each(
    "text, world, answer, verdict",
    (TEXT, "as it is", "1 June 2026", "right"),
    (TEXT, "as it is", "June 2026", "right"),
    (TEXT, "as it is", "It starts on 1 June 2026.", "right"),
    (TEXT, "as it is", "June", "part"),
    (TEXT, "as it is", "2 June 2026", "wrong"),
    (TEXT, "as it is", "1 June 2025", "wrong"),
    (TEXT, "changed", "5 June 2023", "right"),
    (TEXT, "changed", "1 June 2026", "wrong"),
    (TEXT, "changed", "9 May 2020", "wrong"),
    (TEXT, "without", "9 May 2020", "wrong"),
    (TEXT, "second turn", "9 May 2020", "wrong"),
    (TEXT, "without", "1 June 2026", "wrong"),
    (NAME, "as it is", "Vold", "right"),
    (NAME, "as it is", "Dr Henrike Vold opened the Pellhaven Hall.", "right"),
    (NAME, "as it is", "Henrike Vold's brother Sven Oake", "wrong"),
    (NAME, "as it is", "Sven Oake, not Henrike Vold", "wrong"),
    (NAME, "as it is", "Henrike Vold and Tom Hale", "wrong"),
    (NAME, "as it is", "It wasn't Henrike Vold.", "wrong"),
    (YEAR, "as it is", "It was built in 1931 next to the harbour.", "right"),
    (YEAR, "as it is", "The year is 1931.", "right"),
    (YEAR, "as it is", "not in 1931", "wrong"),
    (YEAR, "as it is", "before 1931", "wrong"),
    (YEAR, "as it is", "1931 or 1932", "wrong"),
    (YEAR, "changed", "1931, later given as 5 June 2023", "wrong"),
    (LOOMS, "as it is", "5 looms", "right"),
    (LOOMS, "as it is", "The fire destroyed five looms.", "right"),
    (LOOMS, "as it is", "five hundred", "wrong"),
    (LOOMS, "as it is", "5 million", "wrong"),
    (LOOMS, "as it is", "five and a half", "wrong"),
    (LOOMS, "as it is", "more than five", "wrong"),
    (NAME, "as it is", "Sven Oake", "wrong"),
)
def test_an_answer_is_compared_with_the_value_of_its_world(text: str, world: str, answer: str, verdict: str):
    assert judge_answer(question_of(text), world, "5 June 2023", stated(answer)) == verdict


@for_each(
    "world, sentence, verdict",
    ("without", "The fair of 1 June 2026 was in Ellerby.", "unseen"),
    ("second turn", "The fair of 1 June 2026 was in Ellerby.", "unseen"),
    ("changed", "The fair of 1 June 2026 was in Ellerby.", "unseen"),
    ("denied", "The fair of 1 June 2026 was in Ellerby.", "unseen"),
    ("without", "The fair was in Ellerby.", "wrong"),
    ("without", "", "wrong"),
    ("second turn", "The fair was in Ellerby.", "wrong"),
    ("changed", "Series production starts on 5 June 2023 in Ellerby.", "wrong"),
    ("denied", "The fair was in Ellerby.", "wrong"),
    ("denied", "Series production does not start on 1 June 2026 in Ellerby.", "wrong"),
)
def test_an_old_value_is_excused_only_by_evidence_that_has_it(world: str, sentence: str, verdict: str):
    assert judge_answer(question_of(TEXT), world, "5 June 2023", stated("1 June 2026", sentence)) == verdict


def test_answer_that_is_not_stated_is_withheld_whatever_it_says():
    for result in ({"certainty": "probably", "answered": True, "answer": "2020"}, {"certainty": "not_found"}):
        assert judge_answer(question_of(TEXT), "without", "", result) == "withheld"
