"""A thing with another number or letter than the question."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "question, answer, text, twin",
    (
        "What is stall 3 bedded with?",
        "straw",
        "Stall 17 is free. The stall is bedded with straw.",
        "Stall 3 is free. The stall is bedded with straw.",
    ),
    (
        "What is the rent of flat B?",
        "850 euros",
        "Flat A is let. The rent of the flat is 850 euros.",
        "Flat B is let. The rent of the flat is 850 euros.",
    ),
    (
        "What is the rent of flat B?",
        "850 euros",
        "The rent of flat A is 850 euros.",
        "The rent of flats A and B is 850 euros.",
    ),
    (
        "How high is mast 5?",
        "12 metres",
        "Mast 5 is old. Mast 6 is new. The mast is 12 metres high.",
        "Mast 6 is new. Mast 5 is old. The mast is 12 metres high.",
    ),
    (
        "Who sleeps in room 1?",
        "Kai Noll",
        "Room 2 was painted. Kai Noll sleeps there.",
        "Rooms 1 to 3 were painted. Kai Noll sleeps there.",
    ),
)
def test_another_number_or_letter_is_doubtful_and_its_twin_not(question, answer, text, twin):
    assert doubt(question, text, answer) == "other thing"
    assert doubt(question, twin, answer) == ""


def test_a_text_without_numbers_raises_no_doubt():
    assert doubt("What is stall 3 bedded with?", "The stall is bedded with straw.", "straw") == ""
