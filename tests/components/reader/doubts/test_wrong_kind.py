"""An answer that is not of the kind that is asked for."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "form, question, answer, text, own, twin",
    (
        "article",
        "How many of the boats came home?",
        "one",
        "Ada rowed one boat for a day.",
        "one",
        "Only one boat came home.",
    ),
    (
        "article",
        "How many of their gliders were lost?",
        "one",
        "They built one glider in spring.",
        "one",
        "In the storm, one of their gliders was lost.",
    ),
    (
        "house",
        "Which other instrument has a spring?",
        "Varley Instruments",
        "Ada founded Varley Instruments.",
        "Varley Instrument",
        "Another has a spring, too: the Varley Instrument.",
    ),
    (
        "house",
        "Which library lends maps?",
        "Brae Libraries",
        "Maps are lent by Brae Libraries.",
        "Brae Library",
        "Maps are lent by Brae Library.",
    ),
)
def test_answer_of_another_kind_raises_a_doubt(form: str, question: str, answer: str, text: str, own: str, twin: str):
    assert doubt(question, text, answer) == form
    assert doubt(question, twin, own) == ""


@for_each(
    "question, answer, text",
    ("How many boats came home?", "one", "In autumn, one boat came home."),
    ("How many of the donors gave a million?", "one hundred", "About one hundred donors gave a million."),
    ("Which games did Brae host?", "Winter Games", "Brae hosted the Winter Games."),
    ("Which record company signed Ada?", "Elm Records", "Elm Records signed Ada."),
)
def test_answer_of_the_kind_that_is_asked_for_raises_none(question: str, answer: str, text: str):
    assert doubt(question, text, answer) == ""
