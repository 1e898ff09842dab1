"""An answer that the text states for another time than the question asks about."""

from prefrag.components.reader.another_question import ignores_negation, is_of_another_name, is_of_another_time
from tests.for_each import for_each

KITTENS = "In the first week feed every two hours, in the second every three, from the fourth week every six."


def said(question: str, sentence: str, answer: str) -> bool:
    return is_of_another_time(question, sentence, begin := sentence.index(answer), begin + len(answer))


@for_each(
    "question, sentence, answer",
    ("How often are they fed in the second week?", KITTENS, "every two hours"),
    ("How many visitors came in 2024?", "In 2025 it had 6,140 visitors, more than in 2024.", "6,140"),
    ("How many came in October?", "In September 3,415 came; in October it was closed.", "3,415"),
    ("Who designed the original boathouse?", "The present boathouse was designed by Ada Voss.", "Ada Voss"),
    ("Who sold the former crane?", "The current crane was sold to them by Ada Voss.", "Ada Voss"),
    ("Who led it in the first half of the 20th century?", "In the second half of the 20th century Ada did.", "Ada"),
    ("Who is the chair, please?", "Its first chair was Ada Voss, until 1971.", "Ada Voss"),
    ("Who is the insurer?", "The previous insurer was Ada Voss, until 2022.", "Ada Voss"),
    ("Who leads it on Mondays?", "Ada Voss leads it on Tuesdays, and on Mondays it is closed.", "Ada Voss"),
)
def test_the_clause_names_another_time_of_the_same_kind(question: str, sentence: str, answer: str):
    assert said(question, sentence, answer)


@for_each(
    "question, sentence, answer",
    ("How often are they fed in the 2nd week?", KITTENS, "three"),
    ("How often are they fed in the second week?", "Kittens are fed every three hours.", "every three hours"),
    ("What was founded before 1930?", "The yard was founded in 1912.", "1912"),
    ("Who led The Last Outpost (1951 Film)?", "Ada Voss led it from 1949.", "Ada Voss"),
    ("Who is the chair?", "Ada Voss is the first woman in the chair.", "Ada Voss"),
    ("Who was the chair?", "Its first chair was Ada Voss.", "Ada Voss"),
    ("Who is the present warden?", "The current warden is Ada Voss.", "Ada Voss"),
    ("Who sold the old crane?", "Ada Voss of New Holm sold the old crane, which the new one replaced.", "Ada Voss"),
    ("How old is the hall?", "The new hall is 40 years old.", "40"),
    ("Which new yard did she found?", "At 30 years old she founded Voss and Sons.", "Voss and Sons"),
    ("What is next to the hall?", "An old crane stands beside the hall.", "crane"),
    ("What is the last name of who was present at the sale?", "The former owner Ada Voss came to it.", "Voss"),
    ("May it be kept in July?", "It may be kept by Ada Voss in July.", "Ada Voss"),
)
def test_answer_of_the_asked_time_or_of_none_fits_the_question(question: str, sentence: str, answer: str):
    assert not said(question, sentence, answer)


@for_each(
    "question, said",
    ("Who never signed the lease?", "The lease was signed by Ada Voss."),
    ("What doesn\u2019t the policy cover?", "Cover: The policy also covers storm damage."),
)
def test_a_sentence_affirms_what_the_question_denies(question: str, said: str):
    assert ignores_negation(question, said)


@for_each(
    "question, said",
    ("Who signed the lease?", "The lease was signed by Ada Voss."),
    ("What is not covered?", "Not covered: Flood."),
    ("When is the office not open?", "There is nobody in the office on Mondays."),
    ("The pump does not start, what now?", "If it won't start, press the green button."),
    ("What helps if the pump does not start?", "Pump trouble: Press the green button."),
)
def test_negation_is_not_ignored_by_denials_or_plain_questions(question: str, said: str):
    assert not ignores_negation(question, said)


def named(question: str, sentence: str, answer: str) -> bool:
    return is_of_another_name(question, sentence, begin := sentence.index(answer), begin + len(answer))


OFFERS = "The hull from Brook Marine costs 4,120 pounds, the one from Quill Boats 3,890 pounds without paint."


@for_each(
    "question, sentence, answer",
    ("What does the hull from Quill Boats cost?", OFFERS, "4,120 pounds"),
    ("hull from quill boats", OFFERS, "4,120"),
    ("How many members has Ostermoor?", "Ostermoor has 31 members, while Pellhaven has 54.", "54"),
)
def test_a_figure_is_of_another_name_that_its_clause_has(question: str, sentence: str, answer: str):
    assert named(question, sentence, answer)


@for_each(
    "question, sentence, answer",
    ("What does the hull from Quill Boats cost?", OFFERS, "3,890 pounds"),
    ("What does the hull from Brook Marine cost?", OFFERS, "4,120 pounds"),
    ("What does the hull cost?", OFFERS, "4,120 pounds"),
    ("Who sold the hull for 4,120 pounds?", OFFERS, "Brook Marine"),
    ("How old is Ada Quill?", "Ada Quill, who led Pellhaven for years, is 31.", "31"),
    (
        "When did the Calibration Hall of Pellhaven open?",
        "The Calibration Hall opened in May 1966, 20 years after Pellhaven got its harbour.",
        "1966",
    ),
    ("What is the fee for Quill?", "The fee was 40 pounds on Monday, which Quill paid in 2 parts.", "40 pounds"),
    ("When did Quill Boats open?", "It opened in Pellhaven in 1966, and Quill Boats bought it.", "1966"),
)
def test_a_figure_is_of_the_name_that_is_asked_or_of_none(question: str, sentence: str, answer: str):
    assert not named(question, sentence, answer)


TURNOVER = "Turnover was 2.9 million in 2023 and rose to 3.1 million in 2024."


@for_each(
    "question, answer, sentence, is_other",
    ("What was turnover in 2024?", "2.9 million", TURNOVER, True),
    ("What was turnover in 2024?", "3.1 million", TURNOVER, False),
    ("What was turnover in 2023?", "2.9 million", TURNOVER, False),
    ("What was turnover in 2023?", "3.1 million", TURNOVER, True),
    ("How many members were there in 2025?", "210", "It had 210 members in 2024 and lost some in 2025.", True),
    ("What did the roof cost in 2024?", "40 euros", "It was built in 1990 and cost 40 euros in 2024.", False),
    ("How many came in 2020?", "300", "In 2019 and 2020 some 300 people came.", False),
    ("When is it open on Monday?", "8 to 10", "It is open from 8 to 10 on Mondays and Tuesdays.", False),
    ("When is it open on Friday?", "8 to 10", "It is open from 8 to 10 on Mondays and from 9 to 12 on Fridays.", True),
    ("When does it open on Monday?", "9", "On Mondays and Fridays it opens at 9.", False),
    ("When is it open on Tuesday?", "8 to 10", "It is open from 8 to 10 on Mondays and Tuesdays.", False),
    ("What was the fee in 2024?", "2 euros", "The fee was 2 euros in 2023 and 2024.", False),
    ("What was the fee in 2019?", "5 euros", "Between 2019 and 2021 the fee was 5 euros.", False),
    ("How many has the first floor?", "12", "The first floor and the second floor have 12 rooms each.", False),
    ("Who resigned in 2024?", "Ada Roke", "Ada Roke joined in 2019 and resigned in 2024.", False),
)
def test_an_amount_belongs_to_the_time_in_its_part(question: str, answer: str, sentence: str, is_other: bool):
    begin = sentence.index(answer)

    assert is_of_another_time(question, sentence, begin, begin + len(answer)) is is_other
