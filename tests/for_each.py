"""Tests with a table of cases. A single pytest item checks all rows of the table."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.fakes import CALLS


def for_each(names: str, *rows: Any) -> Callable[[Any], Any]:
    """Run a test on each row, and show every row that fails.

    `pytest.mark.parametrize` makes a pytest item of each row, which takes longer than checking most of our rows. All
    rows here share the fixtures of the test, so use this only if no row leaves anything behind.
    """
    columns = names.split(", ")
    table = [ParameterSet.extract_from(row, force_tuple=len(columns) == 1) for row in rows]
    assert table, "a table without a row checks nothing"
    assert not any(row.marks for row in table), "marks of a row would be ignored"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        assert not inspect.iscoroutinefunction(test), "the coroutine would never be awaited"

        @functools.wraps(test)
        def check(*args: Any, **fixtures: Any) -> None:
            faults: list[BaseException] = []
            for row in table:
                CALLS.clear()
                try:
                    test(*args, **dict(zip(columns, row.values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in the row {row.id or ', '.join(map(repr, row.values))}"[:500])
                    faults.append(error)
            if faults:
                raise BaseExceptionGroup(f"{len(faults)} of {len(table)} rows are wrong", faults)

        others = [
            parameter for parameter in inspect.signature(test).parameters.values() if parameter.name not in columns
        ]
        check.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
        return check

    return decorate
