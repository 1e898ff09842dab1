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
    ("Who checked batch #77?", "Rita Moor", "Batch #78 was checked by Rita Moor.", "Rita Moor checked batch #77."),
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


@for_each(
    "question, answer, text",
    ("Is the piano in room 12 or room 14?", "room 14", "The piano stands in room 14."),
    ("Is the piano in room 12, or in the room 14?", "room 14", "The piano stands in room 14."),
    ("Which is heated, flat B, flat C or flat D?", "Flat D", "Flat D is heated by gas."),
    ("Do the tills run on Windows 10 or 11?", "Windows 11", "The tills run on Windows 11."),
    ("Who cleans hall A or B?", "Ada Roke", "Ada Roke cleans hall B."),
)
def test_numbers_to_choose_from_need_only_one_in_the_text(question: str, answer: str, text: str):
    assert doubt(question, text, answer) == ""


def test_a_text_with_none_of_the_offered_numbers_is_doubted():
    text = "The piano of room 16 was tuned by Ada Roke."
    assert doubt("Who tuned the piano of room 12 or room 14?", text, "Ada Roke") == "other thing"


def test_a_text_without_numbers_raises_no_doubt():
    assert doubt("What is stall 3 bedded with?", "The stall is bedded with straw.", "straw") == ""


@for_each(
    "question, answer, text, heading",
    (
        "What is the deposit under section 4?",
        "200 euros",
        "The deposit is 200 euros. It is returned under section 7.",
        "Section 4 Deposit",
    ),
    (
        "What is the deposit under section 4?",
        "200 euros",
        "The deposit is 200 euros and is returned under section 7.",
        "Section 4 Deposit",
    ),
    (
        "What is the deposit under section 4?",
        "200 euros",
        "Section 4 Deposit\nThe deposit is 200 euros. It is returned under section 7.",
        "",
    ),
    ("What is the fee in article 5?", "12 euros", "The fee is 12 euros. See article 9 for fines.", "Article 5"),
    (
        "What is the fee in article 5?",
        "12 euros",
        "See article 9 for fines. The fee of this article is 12 euros.",
        "Article 5",
    ),
    (
        "How many screws are needed in step 3?",
        "four",
        "Four screws are needed, so take four. Then go to step 4.",
        "Step 3",
    ),
    ("How many screws are needed in step 3?", "four", "Take four screws. Then go to step 4.", ""),
    ("Who sleeps in room 12?", "Kai Noll", "She moved from room 3. Kai Noll sleeps in the room.", "Room 12"),
    ("Who sleeps in room 12?", "Kai Noll", "He moved from room 3. Kai Noll sleeps there.", ""),
    (
        "How many people died in World War 2?",
        "60 million",
        "World War 1 ended in 1918. About 60 million people died.",
        "",
    ),
)
def test_a_number_of_a_reference_or_later_sentence_is_no_topic(question, answer, text, heading):
    assert doubt(question, text, answer, heading=heading) == ""
