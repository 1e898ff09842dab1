"""Find out whether a row of a table contains the words of a question but may not state the answer.

The rules are those of :mod:`prefrag.components.reader.doubts`, for rows instead of sentences. A doubt only ever makes
an answer less sure.
"""

from collections.abc import Callable

from prefrag.components.reader.tables.row_fit import Fit
from prefrag.components.reader.tables.row_retraction import is_taken_back_by_row, is_taken_back_by_title, is_without
from prefrag.components.reader.tables.row_subject import (
    goes_on_below,
    is_in_other_order,
    is_of_dated_event,
    is_of_other_name,
    is_of_other_subject,
)
from prefrag.components.reader.tables.value_kind import is_for_other_quantity, is_of_part, is_other_kind

# The function that checks for each doubt.
_FORMS: dict[str, Callable[[str, Fit], bool]] = {
    "other subject": is_of_other_subject,
    "event": is_of_dated_event,
    "other name": is_of_other_name,
    "other order": is_in_other_order,
    "rows below": goes_on_below,
    "taken back": is_taken_back_by_row,
    "title": is_taken_back_by_title,
    "without": is_without,
    "other kind": is_other_kind,
    "other quantity": is_for_other_quantity,
    "part": is_of_part,
}


def find_row_doubt(question: str, fit: Fit) -> str:
    """Find the reason why a row may not state the answer to a question.

    :param question: The question.
    :param fit: The row, with the column that the question names.
    :returns: The doubt, one of the keys of ``_FORMS``; empty if no rule finds a doubt.
    """
    return next((name for name, has_form in _FORMS.items() if has_form(question, fit)), "")
