"""A number that counts all, where the question asks for a part of them."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "question, answer, text, twin",
    (
        "How many extinguishers are in the store?",
        "seven",
        "There are seven extinguishers: two in the barn, one in the store.",
        "There are seven extinguishers in the store: two red ones, five blue ones.",
    ),
    (
        "How many chairs are in the attic?",
        "30",
        "There are 30 chairs, 12 of them in the attic.",
        "There are 30 chairs in the attic, 12 of them broken.",
    ),
    (
        "How many beds are on the first floor?",
        "20",
        "The house has 20 beds (8 on the first floor, 12 on the second floor).",
        "The house has 20 beds on the first floor (8 singles, 6 doubles).",
    ),
    (
        "How many votes did Mona get?",
        "51",
        "In all 51 votes were cast: Mona got 20, Rolf got 31.",
        "Mona got 51 votes: 20 by letter, 31 at the table.",
    ),
    (
        "How many boats lie in the north harbour?",
        "three",
        "The club has three boats: one lies in the north harbour and two lie in the south harbour.",
        "The club has three boats in the north harbour: one is red and two are green.",
    ),
)
def test_a_total_of_parts_is_doubtful_and_its_twin_not(question, answer, text, twin):
    assert doubt(question, text, answer) == "total"
    assert doubt(question, twin, answer) == ""


@for_each(
    "question, answer, text",
    ("How many points did Bo score in May?", "20", "Bo scored 20 points, 5 goals and 30 fouls in May."),
    ("How many chairs are in the attic?", "12", "There are 30 chairs, 12 of them in the attic."),
    ("What is in the attic?", "30 chairs", "There are 30 chairs, 12 of them in the attic."),
)
def test_a_number_of_other_things_is_no_total(question, answer, text):
    assert doubt(question, text, answer) == ""


@for_each(
    "question, answer, text",
    ("How many people live in the village?", "800", "The village has 800 inhabitants, and 300 live in the old part."),
    ("How many students attend the school?", "800", "The school has 800 students, of whom 300 attend part time."),
    ("How many students attend?", "800", "The school has 800 students, of whom 300 attend part time."),
    ("How many people work for the firm?", "120", "The firm employs 120 people, 30 of them work in Brae."),
    ("How many people died in the fire?", "12", "The fire killed 12 people, and 3 died in hospital."),
    ("How many islands belong to the group?", "12", "The group has 12 islands, of which 5 belong to Toft."),
)
def test_a_total_that_is_asked_for_raises_no_doubt(question, answer, text):
    assert doubt(question, text, answer) == ""


@for_each(
    "answer, text",
    ("\u017feven", "There are \u017feven bins: two in the yard."),
    ("7", "There are 7 bins: \u017fix in the yard."),
    ("s\u0131x", "There are s\u0131x bins: f\u0131ve in the yard."),
)
def test_a_number_with_an_unusual_letter_is_read(answer, text):
    assert doubt("How many bins are in the yard?", text, answer) in ("total", "")
