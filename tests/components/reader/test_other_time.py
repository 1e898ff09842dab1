"""An answer that is said of another time than the one that is asked about."""

from prefrag.components.reader.other_time import is_of_another_time
from tests.for_each import for_each

KITTENS = "In the first week feed every two hours, in the second every three, from the fourth week every six."


@for_each(
    "question, sentence, answer, is_other",
    ("How often are they fed in the second week?", KITTENS, "every two hours", True),
    ("How many visitors came in 2024?", "In 2025 it had 6,140 visitors, more than in 2024.", "6,140", True),
    ("How many came in October?", "In September 3,415 came; in October it was closed.", "3,415", True),
    ("Who leads it on Mondays?", "Ada Voss leads it on Tuesdays, and on Mondays it is closed.", "Ada Voss", True),
    ("How often are they fed in the 2nd week?", KITTENS, "three", False),
    ("How often are they fed in the second week?", "Kittens are fed every three hours.", "every three hours", False),
    ("What was founded before 1930?", "The yard was founded in 1912.", "1912", False),
    ("Who led The Last Outpost (1951 Film)?", "Ada Voss led it from 1949.", "Ada Voss", False),
    ("May it be kept in July?", "It may be kept by Ada Voss in July.", "Ada Voss", False),
)
def test_the_clause_names_another_time_of_the_same_kind(question: str, sentence: str, answer: str, is_other: bool):
    begin = sentence.index(answer)
    assert is_of_another_time(question, sentence, begin, begin + len(answer)) is is_other
