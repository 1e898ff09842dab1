"""A list whose later members have neither verb nor noun."""

from prefrag.components.reader.doubts.doubtful_statement import find_doubt
from tests.for_each import for_each

BADGES = "Twenty-five points make a bronze badge, fifty a silver and one hundred a gold."
SEATS = "The hall seats 120, the garden 60."
HOURS = "The shop opens at 9, on Saturdays at 10."


def doubt(question: str, text: str, answer: str) -> str:
    begin = text.index(answer)
    return find_doubt(question, "", text, begin, begin + len(answer))


@for_each(
    "question, text, answer",
    ("How many points for a silver badge?", BADGES, "Twenty-five"),
    ("How many points for a gold badge?", BADGES, "Twenty-five"),
    ("How many points for a bronze badge?", BADGES, "fifty"),
    ("How many does the garden seat?", SEATS, "120"),
    ("When does the shop open on Saturday?", HOURS, "9"),
    ("When is dinner?", "Breakfast is at 8, lunch at 12, dinner at 6.", "8"),
    ("When does the library close on Friday?", "The library closes at 6 pm, on Fridays at 8 pm.", "6 pm"),
    ("What does a child pay?", "Adults pay \u00a312, children \u00a36 and members nothing.", "\u00a312"),
)
def test_number_of_another_member_is_doubted(question: str, text: str, answer: str) -> None:
    assert doubt(question, text, answer) == "other member"


@for_each(
    "question, text, answer",
    ("How many points for a bronze badge?", BADGES, "Twenty-five"),
    ("How many points for a silver badge?", BADGES, "fifty"),
    ("How many does the hall seat?", SEATS, "120"),
    ("When does the shop open?", HOURS, "9"),
    # The other part has a number of its own, but it is no member of the list.
    ("How many cows had she in Brae?", "After 3 years in Brae, she had 42 cows.", "42"),
    ("What year was Bo born?", "Bo Lind (born June 8, 1977) is a singer.", "1977"),
    ("How many members had the club in 2019?", "In 2019, the club had 42 members.", "42"),
)
def test_number_of_the_member_that_is_asked_for_is_not(question: str, text: str, answer: str) -> None:
    assert doubt(question, text, answer) == ""


@for_each(
    "text, answer, reason",
    ("The block is in 2026/27.", "2026", "half"),
    ("The block is in 2026/27.", "27", "half"),
    ("The block is in 2026.", "2026", ""),
    ("The block ends on 31/12/2025.", "2025", ""),
    ("The line has 100/40 Mbit.", "100", ""),
    ("The block is in 2026/27.", "2026/27", ""),
)
def test_half_of_a_number_with_a_slash_is_doubted(text: str, answer: str, reason: str) -> None:
    assert doubt("When is the block?", text, answer) == reason
