from prefrag.components.text.counted import counted
from tests.for_each import for_each


@for_each(
    "number, noun, expected",
    (0, "passage", "0 passages"),
    (1, "passage", "1 passage"),
    (1_200, "search", "1,200 searches"),
)
def test_a_number_has_its_noun_in_the_singular_or_the_plural(number: int, noun: str, expected: str):
    assert counted(number, noun) == expected
