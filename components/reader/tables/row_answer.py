"""Answer a question from the rows of a table: with a cell, a count, a list or a sum.

This is a rule and not a model. Every word of the question must be found in the row, in the names of the columns or
above the table. So no value of another row is given. If two rows fit, or if a word is found nowhere, there is no
answer.
"""

import re
from collections.abc import Sequence

from haystack import Document

from prefrag.components.reader.question_form import asks_how_to, asks_yes_no
from prefrag.components.reader.tables.cell_answer import answer_with_cell, find_fits
from prefrag.components.reader.tables.row_summary import answer_with_rows
from prefrag.components.reader.tables.table_excerpt import RowAnswer, read_excerpts
from prefrag.components.reader.tables.table_words import question_words

# Questions with more words than this are not compared with rows.
_MOST_WORDS = 30
# A question for the other side of a column. "Whose manager is Bo?" asks for a name, by the manager in another column.
# It matches "Whose manager is Bo?" and "Who is Bo the manager of?". It does not match "manager of Bo".
_REVERSED = re.compile(r"\b(?:whose|whom|wessen)\b|\bof\W*$", re.IGNORECASE)


def answer_from_rows(question: str, documents: Sequence[Document]) -> RowAnswer | None:
    """Answer a question from the rows of one table.

    :param question: The question.
    :param documents: The passages that were found.
    :returns: The answer. None if no row or several rows fit, or if the question asks for yes or no or for instructions.
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
    """Limit the probabilities of answers that another part of the reader may have read from rows.

    :param question: The question.
    :param sentences: The sentence of each answer.
    :param documents: The passages that were found.
    :param probable: The minimum probability of an answer whose sentence is shown to the user.
    :returns: The maximum probability of each answer. It is 1 if the sentence stands in no row. It is ``probable`` if
        the sentence stands in the only row with every word of the question. For any other row it is a little less.
    """
    tables = read_excerpts(documents)
    lines = [line.text for table in tables for line in table.lines.values()]
    words = question_words(question) if lines else []
    words = words if len(words) <= _MOST_WORDS else []
    fits = [fit.line.text for table in tables for fit in find_fits(question, words, table)]

    def limit(sentence: str) -> float:
        if not any(sentence in line for line in lines):
            return 1.0
        is_only_fit = len(fits) == 1 and sentence in fits[0]
        return probable if is_only_fit else 0.99 * probable

    return [limit(sentence) for sentence in sentences]
