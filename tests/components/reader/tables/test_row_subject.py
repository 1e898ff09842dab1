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
    # The right column is no role of a person.
    ("Author | Book | Year\nJane Austen | Emma | 1815", "year of Emma", True),
    ("City | Hotel | Phone\nBerlin | Adlon | 11", "phone of the Adlon", True),
    ("Country | Capital | Population\nPeru | Lima | 10", "population of Lima", True),
    ("Month | Event | Place\nMay | Summer Fair | Barn\nJune | Ball | Hall", "place of the Summer Fair", True),
    ("Category | Article | Price\nFeed | Mash | 18.75", "price of Mash", True),
    ("Kategorie | Artikel | Preis\nFutter | Mash | 18,75", "Preis of Mash", True),
    ("Tag | Kurs | Lehrer\nMontag | Yoga | Ola Brun\nDienstag | Chor | Una Falk", "Kurs of Ola Brun", True),
    ("Vorname | Nachname | Telefon\nUte | Roe | 11", "Telefon of Roe", True),
    ("Anrede | Nachname | Vorname | Telefon\nFrau | Roe | Ute | 11", "Telefon of Ute Roe", True),
    ("Child | Contact | Phone\nMia Berg | Karl Stein | 11", "phone of Karl Stein", True),
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


@for_each("first, second", ("04/08/2026", "28/08/2026"), ("4.8.26", "28.8.26"), ("3 August", "28 August"))
def test_a_date_may_have_any_form(first: str, second: str) -> None:
    table = passage(f"Date | Counterparty | Balance\n{first} | Ann Low | 19842.15\n{second} | Bo Lind | 12.00")

    assert not is_stated("What is the balance of Ann Low?", table)


def test_the_place_of_a_dated_event_is_stated() -> None:
    table = passage("Date | Event | Place\n3 August | Jumble sale | Hall\n5 August | Fair | Barn")

    assert is_stated("What is the place of the jumble sale?", table)

    visits = passage(
        "Date | Horse | Reason | Vet\n3 August | Falcon | colic | Dr. Abel\n5 August | Ember | cough | Dr. Horn"
    )
    assert is_stated("Who was the vet for Falcon's colic?", visits)
    assert not is_stated("Who was the vet of Falcon?", visits)


@for_each(
    "table, question",
    ("Date | Event | Place\n3 August | Summer Fair | Hall\n5 August | Ball | Barn", "place of the Summer Fair"),
    ("Date | Time | Film | Hall\n3 August | 19:00 | Jaws | 2\n5 August | 19:00 | Alien | 3", "hall of Jaws"),
    ("Date | Home | Guest | Score\n3 August | Tarn | Brae | 2:0", "score of Tarn - Brae"),
    ("Date of birth | Name | Phone\n3 August 1990 | Ann Low | 12", "phone of Ann Low"),
    ("Datum | Termin | Ort\n3 August | Sommerfest | Halle\n5 August | Ball | Hof", "Ort of the Sommerfest"),
)
def test_a_column_may_name_a_dated_event(table: str, question: str) -> None:
    assert is_stated(f"What is the {question}?", passage(table))


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
    ("Garden Chairs", "phone of a garden chair", True),
    ("Peters Bakery", "phone of Peter's Bakery", True),
    ("Peter's Bakery", "phone of Peters Bakery", True),
    ("McDonalds", "phone of McDonald's", True),
    ("Hotel Adlon", "phone of the Adlon Hotel", True),
    ("DUPONT Jean", "phone of Jean Dupont", True),
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


@for_each(
    "table, question",
    ("Member | Role | Phone\nIda Roe | Treasurer | 12\nBo Lind | | 13", "phone of the treasurer"),
    ("Item | Price\nApple | 4\nPear | 5\n | 9", "price of the pear"),
    ("Item | Note | Price\nApple | red | 300\nPear | ripe | 30\n | Total | 335", "price of the pear"),
)
def test_another_name_and_a_total_below_belong_to_no_row(table: str, question: str) -> None:
    assert is_stated(f"What is the {question}?", passage(table))
