"""How numbers are written."""

import math

from prefrag.evaluation.report.measures import ACC, DASH, TOTAL
from tests.for_each import for_each


@for_each(
    "value, sign, text",
    (12.34, False, "12.3"),
    (12.34, True, "+12.3"),
    (-12.34, True, "\N{MINUS SIGN}12.3"),
    (-0.04, True, "0.0"),
    (0.0, False, "0.0"),
    (None, False, DASH),
    (math.nan, True, DASH),
)
def test_a_value_in_digits(value: float | None, sign: bool, text: str) -> None:
    assert ACC.text(value, sign) == text


def test_a_count_has_two_decimals_and_less_of_it_is_better() -> None:
    assert TOTAL.text(1.5) == "1.50"
    assert (ACC.higher_is_better, TOTAL.higher_is_better) == (True, False)
