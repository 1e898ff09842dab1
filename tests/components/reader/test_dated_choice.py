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


@for_each(
    "answer, is_it",
    ("Kestrel Lamp", True),
    ("the film Kestrel Lamp", True),
    ("The Merlin Hour", False),
    ("Kestrel Lamp, long before The Merlin Hour", None),
    ("1931", None),
    ("", None),
)
def test_an_answer_is_the_thing_only_if_it_names_it_alone(answer: str, is_it: bool | None) -> None:
    choice = choose_by_date("Which film came out first, Kestrel Lamp or The Merlin Hour?", PASSAGES)

    assert choice is not None
    assert choice.is_answer(answer) is is_it


def test_deciding_date_can_be_shown_days_count_and_ties_do_not() -> None:
    choice = choose_by_date("Who died first, Ada Voss or Otto Lind?", PASSAGES)
    assert choice is not None
    assert PASSAGES[choice.dated][1][choice.begin :].startswith("1 May 1950")

    for first, second, name in (("2 May 1900", "1 May 1900", "B Reed"), ("1900", "1900", None)):
        passages = [("A Reed", f"A Reed (born {first}) sang."), ("B Reed", f"B Reed (born {second}) sang.")]
        choice = choose_by_date("Who was born first, A Reed or B Reed?", passages)
        assert (choice.name if choice else None) == name


@for_each(
    "question",
    "When was the first film released, Kestrel Lamp or The Merlin Hour?",
    "In which year was the older of Ada Voss or Otto Lind born?",
    "Which firm made the film that was released first, Kestrel Lamp or The Merlin Hour?",
    "Who directed the film that came out first, Kestrel Lamp or The Merlin Hour?",
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


def earlier(verb: str, first: str, second: str) -> str | None:
    """Ask which of two halls came earlier. "It" in the texts stands for their names."""
    texts = [
        (name, text.replace("It ", f"{name} ", 1)) for name, text in (("Alpha Hall", first), ("Beta Hall", second))
    ]
    choice = choose_by_date(f"Which hall was {verb} first, Alpha Hall or Beta Hall?", texts)
    return choice.name if choice else None


@for_each(
    "verb, first, second, name",
    # Which is earlier by the calendar.
    ("built", "It was built in 1940.", "It was built in 1950.", "Alpha Hall"),
    ("built", "It was built in 1950.", "It was built in 1940.", "Beta Hall"),
    ("built", "It was built in March 1950.", "It was built in April 1950.", "Alpha Hall"),
    ("built", "It was built in March 1950.", "It was built on 2 April 1950.", "Alpha Hall"),
    ("opened", "It was opened on 1950-12-30.", "It was opened on 1 July 1950.", "Beta Hall"),
    ("opened", "It was opened on 30.12.1950.", "It was opened on 1 July 1950.", "Beta Hall"),
    ("opened", "It was opened on the 3rd of May 1950.", "It was opened on May 4th, 1950.", "Alpha Hall"),
    ("opened", "It was opened on 3 Sept 1950.", "It was opened on 2 Oct. 1950.", "Alpha Hall"),
    ("founded", "It was founded in 1949.", "It was founded on 12 March 1950.", "Alpha Hall"),
    # Which may be either by the calendar.
    ("founded", "It was founded in 1950.", "It was founded on 12 March 1950.", None),
    ("founded", "It was founded on 12 November 1950.", "It was founded in 1950.", None),
    ("founded", "It was founded in March 1950.", "It was founded on 12 March 1950.", None),
    ("founded", "It was founded in 1950.", "It was founded in 1950.", None),
    ("built", "It was built between 1887 and 1889.", "It was built in 1888.", None),
    ("built", "It was built from 1887 to 1889.", "It was built in 1889.", None),
    ("built", "It was built 1887\u20131889.", "It was built in 1888.", None),
    ("opened", "It was opened on 03/04/1950.", "It was opened in 1940.", None),
    ("opened", "It was opened on 31 February 1950.", "It was opened in 1940.", None),
    # Numbers that are no years.
    ("built", "It is 1500 metres long and was built in 1990.", "It was built in 1950.", "Beta Hall"),
    ("built", "It cost 1200 pounds; it was built in 1990.", "It was built in 1950.", "Beta Hall"),
    ("built", "It was built for \u00a31200 in 1990.", "It was built in 1950.", "Beta Hall"),
    ("built", "It was built with 1500 seats in 1990.", "It was built in 1950.", "Beta Hall"),
    ("built", "It was built in 1500 days.", "It was built in 1950.", None),
    ("built", "In 1940, the mill was lost when the hall was built.", "It was built in 1950.", None),
    ("built", "It was built by 1950.", "It was built in 1960.", None),
    ("built", "It was built by 1200 men.", "It was built in 1950.", None),
    ("opened", "It was opened for 1066 guests.", "It was opened in 1950.", None),
    ("opened", "It was opened from 1500 to 1600 metres.", "It was opened in 1950.", None),
    ("opened", "It was opened with room 1204.", "It was opened in 1950.", None),
    ("built", "It was built in 1,950 days.", "It was built in 1940.", None),
    ("built", "It was built in 1500-tonne blocks.", "It was built in 1950.", None),
    ("built", "It was built in 1200 BC.", "It was built in 1950.", None),
    # Dates of something else.
    ("opened", "It replaced a hall of 1890. It was opened in 1990.", "It was opened in 1950.", "Beta Hall"),
    ("opened", "It was opened to replace a hall of 1890.", "It was opened in 1950.", None),
    ("opened", "It was built in 1890 and opened in 1990.", "It was opened in 1950.", "Beta Hall"),
    ("built", "It was built in 1890 and opened in 1990.", "It was built in 1950.", "Alpha Hall"),
    ("built", "It was opened in 1990.", "It was built in 1950.", None),
    ("built", "It was rebuilt in 1890.", "It was built in 1950.", None),
    ("opened", "It was re-opened in 1890.", "It was opened in 1950.", None),
    ("renovated", "It was built in 1890 and renovated in 1990.", "It was renovated in 1950.", "Beta Hall"),
    ("renovated", "It was built in 1890.", "It was renovated in 1950.", None),
    ("built", "It replaced a hall built in 1800.", "It was built in 1950.", None),
    ("built", "It replaced a hall, which was built in 1800.", "It was built in 1950.", None),
    ("built", "It replaced the Old Mill. The Old Mill was built in 1800.", "It was built in 1950.", None),
    ("built", "It was built where a mill burnt down in 1800.", "It was built in 1950.", None),
    ("built", "It was built near a mill demolished in 1800.", "It was built in 1950.", None),
    ("built", "It was built after 1800.", "It was built in 1950.", None),
    ("built", "It was built before 12 March 1950.", "It was built in 1940.", None),
    ("built", "It was not built in 1930.", "It was built in 1950.", None),
    ("built", "It was to be built in 1930.", "It was built in 1950.", None),
    ("opened", "It will be opened in 2020.", "It was opened in 1950.", None),
    ("built", "It was built in 1931. The inn was built in 1800.", "It was built in 1850.", None),
    ("built", "It was built. A mill stood there in 1800.", "It was built in 1950.", None),
    # Other places of the date.
    ("founded", "It, founded 1940, is a hall.", "It was founded in 1950.", "Alpha Hall"),
    ("founded", "It (founded in 1940) is a hall.", "It was founded in 1950.", "Alpha Hall"),
    ("founded", "It was established in 1940.", "It was founded in 1950.", "Alpha Hall"),
    ("founded", "It (1940\u20131946) was a club.", "It was founded in 1950.", "Alpha Hall"),
    ("built", "It was first built in early 1940 by Ann Lee.", "It was built in the year 1950.", "Alpha Hall"),
    ("built", "It was built in Sund, Norway, in 1940 under Ann Lee.", "It was built in 1950.", "Alpha Hall"),
    ("closed", "It closed in 1940.", "It closed on 3 May 1950.", "Alpha Hall"),
    ("built", "It was built in 1940. It was built in March 1940.", "It was built in May 1940.", "Alpha Hall"),
)
def test_a_date_counts_only_with_the_verb_of_the_question(verb: str, first: str, second: str, name: str | None) -> None:
    assert earlier(verb, first, second) == name


@for_each(
    "question, first, second, name",
    ("Who is older", "(born 1960) is a painter.", "was born on 1 July 1961.", "Ann Lee"),
    ("Who is older", "was born on 1960-12-30.", "was born on 1 July 1960.", "Bob Ray"),
    ("Who is older", "(born 1960) is a painter.", "was born on 1 July 1960.", None),
    ("Who is older", "(12 May 1960 \u2013 3 June 2001) was a painter.", "(born 1950) sang.", "Bob Ray"),
    ("Who is older", "(1890\u20131971) was a painter.", "(1880\u20131900) sang.", "Bob Ray"),
    ("Who is older", "lived with her son. Her son Tom was born in 1990.", "was born in 1960.", None),
    ("Who died first", "(1890\u20131971) was a painter.", "(1880\u20131975) sang.", "Ann Lee"),
    ("Who died first", "was born in 1890. She died in 1971.", "was born in 1900. He died in 1960.", "Bob Ray"),
    ("Who died first", "painted until her death in 1971.", "was killed in 1960.", "Bob Ray"),
    ("Who died first", "was born in 1890.", "was born in 1900. He died in 1960.", None),
    ("Who sank first", "was built in 1890.", "was built in 1900.", None),
    ("Which came out later", "is a 1960 film.", "is a 1970 film.", "Bob Ray"),
    ("Which came out first", "is a 1960 film.", "is a film released in 1950.", "Bob Ray"),
    ("Which came out first", "is a 1960 page novel.", "is a 1970 novel.", None),
    ("Which was released first", "is a 1960 film released on 4 May 1961.", "is a 1961 film.", None),
)
def test_a_life_or_a_work_has_its_own_dates(question: str, first: str, second: str, name: str | None) -> None:
    passages = [("Ann Lee", f"Ann Lee {first}"), ("Bob Ray", f"Bob Ray {second}")]
    choice = choose_by_date(f"{question}, Ann Lee or Bob Ray?", passages)
    assert (choice.name if choice else None) == name
