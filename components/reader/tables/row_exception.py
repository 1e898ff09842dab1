"""Find out whether a row says something else for the case that the question names.

A row such as "Hotel; Limit: £85 a night; Remark: £120 in London" has every word of "hotel limit in London". But for
London the remark has its own value.
"""

import re

from prefrag.components.reader.tables.row_fit import Fit
from prefrag.components.reader.tables.row_subject import naming_column
from prefrag.components.reader.tables.table_words import Word, words_of

# A word that excepts what stands behind it, up to the next comma. Its group is what is excepted. It matches "except on
# courses" and "not at weekends".
_EXCEPTED = re.compile(
    r"\b(?:except|excluding|not|no(?!\.? ?\d)|never|without|unless)\b(?P<rest>[^,;.]*)", re.IGNORECASE
)
# A case that a value is for; its group is the case. It matches "in London" and "on Fridays".
_CASE = re.compile(r"\b(?:in|on|at|for|from|during|if|with|to)\b(?P<rest>[^,;.]*)", re.IGNORECASE)
# The forms of values that a remark may set for a case. Each matches "£120", "9.30 pm" and "45 %" in turn.
_FORMS = (
    re.compile(r"[$\u00a3\u20ac]\s?\d|\d\s?(?:[$\u00a3\u20ac]|(?:EUR|GBP|USD|CHF|p|pence|pounds?|euros?)\b)"),
    re.compile(r"\d(?::|\.)\d\d\b(?!\.)|\b\d{1,2}\s?(?:am|pm|noon)\b", re.IGNORECASE),
    re.compile(r"\d\s?(?:%|per ?cent\b)", re.IGNORECASE),
)


def is_said_otherwise(question: str, fit: Fit) -> bool:
    """Check whether another cell has its own value, or an exception, for a word of the question.

    :param question: The question.
    :param fit: The row.
    :returns: Whether such a cell, which does not name the row, holds the word beside an exception, or beside a value of
        the same form as the answer.
    """
    subject = naming_column(fit.table)
    for word, columns in fit.telling.items():
        if word.is_number or word.days or len(columns) != 1:
            continue
        [column] = columns
        cell = fit.other_cells.get(column, "")
        if column == subject:
            continue
        is_case = any(words_of(match["rest"]).hold(word) for match in _CASE.finditer(cell))
        if _is_excepted(question, cell, word) or (is_case and _has_own_value(cell, fit.value)):
            return True
    return False


def _is_excepted(question: str, cell: str, word: Word) -> bool:
    """Check whether a cell excepts a word that the question does not except itself."""
    if _EXCEPTED.search(question):
        return False
    return any(words_of(match["rest"]).hold(word) for match in _EXCEPTED.finditer(cell))


def _has_own_value(cell: str, value: str) -> bool:
    """Check whether a cell has a value of the same form as the answer: a price, a time, a share or a date."""
    if any(form.search(cell) and form.search(value) for form in _FORMS):
        return True
    return bool(words_of(cell).days and words_of(value).days)
