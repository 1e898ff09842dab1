"""An answer that is only one of two."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "question, answer, text, twin",
    ("Who is the new trainer?", "Ann Low", "The new trainer is either Ann Low or Bo Lind.", "The trainer is Ann Low."),
    ("Who is the new trainer?", "Bo Lind", "The new trainer is Ann Low or Bo Lind.", "The new trainer is Bo Lind."),
    ("How many seats are there?", "7", "There are 7 or 8 seats.", "There are 7 seats or more."),
    ("What is the price of the calf?", "700", "The price of the calf is 700 or 800 euros.", "The price is 700 euros."),
)
def test_one_of_two_is_doubtful_and_its_twin_not(question, answer, text, twin):
    assert doubt(question, text, answer) == "alternative"
    assert doubt(question, twin, answer) == ""


@for_each(
    "question, answer, text",
    ("Is it Ann Low or Bo Lind?", "Ann Low or Bo Lind", "It is Ann Low or Bo Lind."),
    ("What is the river called?", "the Huang He or Yellow River", "It is called the Huang He or Yellow River."),
    ("How do I pay?", "in cash or with a card", "Pay in cash or with a card."),
)
def test_a_question_that_two_may_answer_raises_no_doubt(question, answer, text):
    assert doubt(question, text, answer) == ""


def test_both_of_two_are_not_the_one_that_is_asked_for():
    text = "The new trainer is either Ann Low or Bo Lind."
    assert doubt("Who is the new trainer?", text, "Ann Low or Bo Lind") == "alternative"


@for_each(
    "question, answer, text",
    ("How many eggs does the robin lay?", "4 or 5", "The robin lays 4 or 5 eggs."),
    ("How many players has a team?", "five or six", "A team has five or six players."),
    ("How long does charging take?", "two or three hours", "Charging takes two or three hours."),
    ("Who can sign the contract?", "Ann Low", "The contract can be signed by Ann Low or Bo Lind."),
    ("Who can sign the contract?", "Ann Low or Bo Lind", "The contract can be signed by Ann Low or Bo Lind."),
    ("When is the bin emptied?", "Monday or Tuesday", "The bin is emptied on Monday or Tuesday."),
)
def test_both_values_are_a_whole_answer(question, answer, text):
    assert doubt(question, text, answer) == ""
