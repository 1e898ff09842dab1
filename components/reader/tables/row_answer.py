"""Answer a question from the rows of a table: with a cell, a count, a list or a sum.

This is a rule and not a model: every word of the question must be found in the row, in the names of columns or above
the table, so that no value of another row is given. If two rows fit, or a word fits none, there is no answer.
"""

import re
from collections.abc import Sequence

from haystack import Document

from prefrag.components.reader.question_form import asks_how_to, asks_yes_no
from prefrag.components.reader.tables.cell_answer import answer_with_cell, find_fits
from prefrag.components.reader.tables.row_summary import answer_with_rows
from prefrag.components.reader.tables.table_excerpt import RowAnswer, read_excerpts
from prefrag.components.reader.tables.table_words import question_words

_MOST_WORDS = 30
# "Whose manager is Bo?" asks for the other end of what a column tells.
_REVERSED = re.compile(r"\b(?:whose|whom|wessen)\b|\bof\W*$", re.IGNORECASE)


def answer_from_rows(question: str, documents: Sequence[Document]) -> RowAnswer | None:
    """Answer a question from the rows of one table.

    :param question: The question.
    :param documents: The passages that were found.
    :returns: The answer; None if no row, or more than one, fits the question, or if it asks for something else.
    """
    words = question_words(question)
    if asks_yes_no(question) or asks_how_to(question) or not 0 < len(words) <= _MOST_WORDS:
        return None
    # A number or a date behind "by" or "from" is the end of a range.
    ends_range = any(word.relation and word.is_number for word in words)
    if ends_range or _REVERSED.search(question):
        return None
    tables = [table for table in read_excerpts(documents) if table.columns]
    return answer_with_cell(question, words, tables, documents) or answer_with_rows(question, words, tables, documents)


def row_limits(question: str, sentences: Sequence[str], documents: Sequence[Document], probable: float) -> list[float]:
    """Limit the probabilities of answers that another rule may have read from rows.

    :param question: The question.
    :param sentences: The sentence of each answer.
    :param documents: The passages that were found.
    :param probable: The least probability of an answer whose sentence is shown as its likely place.
    :returns: For each answer 1 if its sentence stands in no row; ``probable`` if only one row holds every word of the
        question, and the sentence is in it; else less than ``probable``.
    """
    tables = read_excerpts(documents)
    lines = [line.text for table in tables for line in table.lines.values()]
    words = question_words(question) if lines else []
    words = words if len(words) <= _MOST_WORDS else []
    fits = [fit.line.text for table in tables for fit in find_fits(words, table)]

    def limit(sentence: str) -> float:
        if not any(sentence in line for line in lines):
            return 1.0
        is_only_fit = len(fits) == 1 and sentence in fits[0]
        return probable if is_only_fit else 0.99 * probable

    return [limit(sentence) for sentence in sentences]
