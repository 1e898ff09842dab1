"""Choosing which of two things is earlier or later, by the dates in their passages."""

from prefrag.components.reader.dated_choice import choose_by_date
from tests.for_each import for_each

KESTREL = ("Kestrel Lamp (film)", "Kestrel Lamp is a 1931 silent film directed by Ada Voss.")
MERLIN = ("The Merlin Hour", "The Merlin Hour is a drama film, directed by Otto Lind and released on 4 May 1938.")
ADA = ("Ada Voss", "Ada Voss (3 March 1890 \u2013 2 June 1971) was a director.")
OTTO = ("Otto Lind", "Otto Lind (born 9 April 1884 in Sund) was a director. He died in Brae on 1 May 1950.")
PASSAGES = [KESTREL, MERLIN, ADA, OTTO]


@for_each(
    "question, name",
    ("Which film came out first, Kestrel Lamp or The Merlin Hour?", "Kestrel Lamp"),
    ("Which film was released more recently, Kestrel Lamp (Film) or The Merlin Hour?", "The Merlin Hour"),
    ("Who is older, Ada Voss or Otto Lind?", "Otto Lind"),
    ("Who was born later, Otto Lind or Ada Voss?", "Ada Voss"),
    ("Was Ada Voss or Otto Lind born first?", "Otto Lind"),
    ("Who died first, Ada Voss or Otto Lind?", "Otto Lind"),
    ("Which film has the director who died later, Kestrel Lamp or The Merlin Hour?", "Kestrel Lamp"),
    ("Which film has the director who is younger, The Merlin Hour or Kestrel Lamp?", "Kestrel Lamp"),
)
def test_the_dates_decide(question: str, name: str) -> None:
    choice = choose_by_date(question, PASSAGES)
    assert choice is not None
    assert choice.name == name


def test_the_date_that_decided_can_be_shown_a_day_decides_within_a_year_and_equal_dates_nothing() -> None:
    choice = choose_by_date("Who died first, Ada Voss or Otto Lind?", PASSAGES)
    assert choice is not None
    assert PASSAGES[choice.dated][1][choice.begin :].startswith("1 May 1950")

    for first, second, name in (("2 May 1900", "1 May 1900", "B Reed"), ("1900", "1900", None)):
        passages = [("A Reed", f"A Reed (born {first}) sang."), ("B Reed", f"B Reed (born {second}) sang.")]
        choice = choose_by_date("Who was born first, A Reed or B Reed?", passages)
        assert (choice.name if choice else None) == name


@for_each(
    "question",
    "Which film is longer, Kestrel Lamp or The Merlin Hour?",
    "Which film came out first, Kestrel Lamp or The Heron?",
    "Which film was not released first, Kestrel Lamp or The Merlin Hour?",
    "Which film didn\u2019t come out first, Kestrel Lamp or The Merlin Hour?",
    "Who directed Kestrel Lamp?",
    "Which lasted longer, the film by Ada Voss or the film by Otto Lind?",
    "",
)
def test_without_two_dated_things_nothing_is_chosen(question: str) -> None:
    assert choose_by_date(question, PASSAGES) is None
