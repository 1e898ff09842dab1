"""A table of cases shows every row that fails, and passes if none does."""

import pytest

from tests.for_each import for_each


def test_table_shows_every_wrong_row_and_hides_no_missing_error():
    @for_each("number, root", (4, 2), (9, 4), pytest.param(1, 2, id="one"))
    def check(number: int, root: int) -> None:
        assert root**2 == number

    @for_each("number", 1)
    def refused(number: int) -> None:
        with pytest.raises(ValueError, match="no"):
            int(number)

    with pytest.raises(BaseExceptionGroup, match="2 of 3 rows") as shown:
        check()
    assert [error.__notes__ for error in shown.value.exceptions] == [["in the row 9, 4"], ["in the row one"]]
    with pytest.raises(BaseExceptionGroup, match="1 of 1 rows"):
        refused()
    with pytest.raises(AssertionError, match="without a row"):
        for_each("number")
