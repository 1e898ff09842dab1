"""What is planned, wished or required."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "form, question, answer, text, twin",
    (
        "unrealised",
        "When did the inn open?",
        "2 May 2025",
        "The inn was to open on 2 May 2025.",
        "The inn opened on 2 May 2025.",
    ),
    (
        "unrealised",
        "Who runs the kiosk?",
        "Lou Ames",
        "Lou Ames hopes to run the kiosk.",
        "Lou Ames now runs the kiosk.",
    ),
    (
        "unrealised",
        "Who pays for repairs?",
        "The landlord",
        "The landlord should pay for repairs.",
        "The landlord shall pay for repairs.",
    ),
    (
        "unrealised",
        "When are the panes replaced?",
        "May",
        "The panes were to be replaced in May.",
        "The panes are to be replaced in May.",
    ),
    (
        "unrealised",
        "How often is the filter changed?",
        "every month",
        "The filter should have been changed every month.",
        "The filter should be changed every month.",
    ),
    (
        "unrealised",
        "Who is the mayor of Brae?",
        "Ann Low",
        "The board hopes to make the mayor Ann Low.",
        "Mayor Ann Low said of the visitors that they would leave Brae.",
    ),
    (
        "unrealised",
        "What game opened in 1990?",
        "Raft Two",
        "Raft Two was to open in 1990.",
        "Raft Two opened in 1990 and will return.",
    ),
)
def test_what_is_planned_is_doubtful_and_its_twin_not(form, question, answer, text, twin):
    assert doubt(question, text, answer) == form
    assert doubt(question, twin, answer) == ""


def test_a_modal_verb_of_the_question_is_no_doubt():
    text = "A frost might harm the pears."
    assert doubt("What could a frost harm?", text, "the pears") == ""
    assert doubt("What does a frost harm?", text, "the pears") == "unrealised"


def test_a_purpose_that_is_asked_for_is_no_doubt():
    text = "The aim of the guild was to mend nets."
    assert doubt("What was the aim of the guild?", text, "to mend nets") == ""
