"""Rows about another subject than the question."""

from tests.components.reader.tables.table_passages import is_stated, passage, text_of
from tests.for_each import for_each

CONTACTS = "Child | Phone | Contact\nMia Berg | 11 | Anna Berg"


@for_each(
    "table, question, stated",
    (CONTACTS, "What is Anna Berg's phone number?", False),
    (CONTACTS, "What is Mia Berg's phone number?", True),
    (CONTACTS, "phone of the contact Anna Berg", False),
    ("Horse | Born | Owner\nEmber | 2013 | Sunniva Dahl", "When was Sunniva Dahl born?", False),
    ("Horse | Born | Owner\nEmber | 2013 | Sunniva Dahl", "When was Ember born?", True),
    ("Boat | Length | Skipper\nTern | 12 m | Kai Moor\nSkua | 9 m | Ida Roe", "length of Kai Moor", False),
    # A property may tell the subject.
    ("Member | Role | Phone\nIda Roe | Treasurer | 12\nBo Lind | Chair | 13", "phone of the treasurer", True),
    # A column of codes names no rows, nor does one of weekdays.
    ("Ticket | Rack | Item\nTK-043 | 3 | General saddle", "Which rack has the general saddle?", True),
    ("Day | Course | Teacher\nMonday | Yoga | Ola Brun\nTuesday | Drums | Una Falk", "teacher of yoga", True),
    # A column "Name" names the rows wherever it stands.
    ("Role | Name | Phone\nChair | Nora Field | 300\nCook | Paul West | 120", "phone of Paul West", True),
)
def test_a_property_of_the_subject_is_not_that_of_another_column(table: str, question: str, stated: bool) -> None:
    assert is_stated(question, passage(table)) == stated


@for_each(
    "question, stated",
    ("What is the balance of Ann Low?", False),
    ("What is the balance of Ann Low on 3 August 2026?", True),
    ("What is the date of Ann Low?", True),
)
def test_a_dated_row_is_about_an_event(question: str, stated: bool) -> None:
    table = passage("Date | Counterparty | Balance\n2026-08-03 | Ann Low | 19842.15\n2026-08-04 | Bo Lind | 12.00")

    assert is_stated(question, table) == stated


def test_the_place_of_a_dated_event_is_stated() -> None:
    table = passage("Date | Event | Place\n3 August | Jumble sale | Hall\n5 August | Fair | Barn")

    assert is_stated("What is the place of the jumble sale?", table)

    visits = passage(
        "Date | Horse | Reason | Vet\n3 August | Falcon | colic | Dr. Abel\n5 August | Ember | cough | Dr. Horn"
    )
    assert is_stated("Who was the vet for Falcon's colic?", visits)
    assert not is_stated("Who was the vet of Falcon?", visits)


@for_each(
    "name, question, stated",
    ("Jacob Peters", "phone of Peter Jacobs", False),
    ("Jacob Peters", "phone of Jacob Peters", True),
    ("Jacob Peters", "Jacob Peters's phone", True),
    ("Peters, Jacob", "phone of Jacob Peters", True),
    ("Eva Peter", "phone of Eva Peters", False),
    ("Eva Peter", "phone of eva peters", False),
    ("Ann Roberts", "phone of Ann Robert", False),
    ("Anna-Maria Berg", "phone of Anna Berg", False),
    ("Anna-Maria Berg", "phone of Anna-Maria Berg", True),
    ("Thomas Martin", "phone of Martin Thomas", False),
    ("Frank James", "phone of james frank", False),
    # A common noun may be in the plural.
    ("Oak board", "phone of oak boards", True),
    ("Eastby against Hollmar", "phone of Hollmar against Eastby", False),
    ("Eastby against Hollmar", "phone of Eastby against Hollmar", True),
)
def test_a_name_has_its_ending_and_its_order(name: str, question: str, stated: bool) -> None:
    assert is_stated(question, passage(f"Name | Phone\n{name} | 4417\nIda Roe | 12")) == stated


def test_the_sides_of_a_match_have_an_order_over_two_columns() -> None:
    table = passage("Home | Guest | Score\nTarn | Brae | 2:0\nUlby | Tarn | 1:1")

    assert not is_stated("score of Brae - Tarn", table)
    assert is_stated("score of Tarn - Brae", table)


@for_each("below", "", '"', "ditto", "do.")
def test_the_row_below_may_belong_to_the_same_day(below: str) -> None:
    table = passage(f"Day | Course | Room\nMonday | Yoga | Hall\n{below} | Drums | Attic\nTuesday | Chess | Mill")

    assert not is_stated("What is the room on Monday?", table)
    assert is_stated("What is the room of the drums?", table)
    assert is_stated("What is the room on Tuesday?", table)
    assert text_of("Which courses are on Monday?", table) is None
