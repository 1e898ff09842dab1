"""An answer that holds only for a case, a later time, another office or another person."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "question, answer, text, twin",
    (
        "Who is the chair?",
        "Ann Low",
        "From 1 January 2999 the chair is Ann Low.",
        "From 1 May 2019 the chair is Ann Low.",
    ),
    ("Who is the chair?", "Ann Low", "The chair is Ann Low from May 2999.", "Since May 2019 the chair is Ann Low."),
    ("Who is the chair?", "Ann Low", "As of 2099 the chair is Ann Low.", "As of 2019 the chair is Ann Low."),
    ("Who is the chair?", "Ann Low", "From 1 May the chair is Ann Low.", "From 9 to 17 the chair is Ann Low."),
    (
        "What is the entry fee?",
        "12 euros",
        "For members the entry fee is 12 euros.",
        "At the gate the entry fee is 12 euros.",
    ),
    (
        "What is the camp's fee?",
        "200 euros",
        "With a sibling, the fee is 200 euros.",
        "This year, the fee is 200 euros.",
    ),
    ("What is the entry fee?", "12 euros", "The entry fee is 12 euros for members.", "The entry fee is 12 euros."),
    (
        "What does the tent cost?",
        "120 euros",
        "The tent costs 120 euros in May and 180 euros in June.",
        "The tent costs 120 euros in May and has 18 poles.",
    ),
    (
        "When does the shop open?",
        "9.30",
        "The shop opens at 9.30 in winter and at 8.00 in summer.",
        "The shop opens at 9.30 and closes at 18.00.",
    ),
    (
        "How much does the castle cost?",
        "180 euros",
        "The castle costs 180 euros less than the tent.",
        "The castle costs 180 euros, less than the tent.",
    ),
    ("Who is the treasurer?", "Bo Lind", "The assistant treasurer is Bo Lind.", "The new treasurer is Bo Lind."),
)
def test_what_holds_only_for_a_case_is_doubtful(question, answer, text, twin):
    assert doubt(question, text, answer) == "restricted"
    assert doubt(question, twin, answer) == ""


@for_each(
    "question, answer, text",
    ("What is the entry fee for members?", "12 euros", "For members the entry fee is 12 euros."),
    ("What does the tent cost in May?", "120 euros", "The tent costs 120 euros in May and 180 euros in June."),
    ("How much less than the tent does it cost?", "180 euros", "The castle costs 180 euros less than the tent."),
    ("Who is the assistant treasurer?", "Bo Lind", "The assistant treasurer is Bo Lind."),
    ("When was the hall built?", "1920", "The hall was built in 1920 for the choir."),
    ("Who is the chair from May 2999?", "Ann Low", "From May 2999 the chair is Ann Low."),
)
def test_a_case_that_the_question_names_raises_no_doubt(question, answer, text):
    assert doubt(question, text, answer) == ""


@for_each(
    "text, twin",
    ("The phone number of Ann Low's mother is 4417.", "Ann Low's phone number is 4417."),
    ("The phone number of the mother of Ann Low is 4417.", "The new phone number of Ann Low is 4417."),
    ("Dear Ann,\nmy phone number is 4417.\nBo", "Dear Bo,\nmy phone number is 4417.\nAnn Low"),
)
def test_what_another_person_has_is_doubtful(text, twin):
    question = "What is the phone number of Ann Low?"
    assert doubt(question, text, "4417") == "other person"
    assert doubt(question, twin, "4417") == ""
