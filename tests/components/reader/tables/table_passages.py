"""Passages with tables, and the answers from their rows."""

from typing import Any

from haystack import Document

from prefrag.components.reader.tables.row_answer import answer_from_rows
from prefrag.components.text.table_rows import Row, Table, write_tables


def passage(text: str, title: str = "", number: int = 1, *, missing: int = 0, **meta: Any) -> Document:
    """Make a passage of a table, whose cells are divided by bars. Of `missing` rows the passage knows nothing."""
    columns, *rows = [tuple(cell.strip() for cell in line.split("|")) for line in text.strip().split("\n")]
    table = Table(number, title, columns, [Row("", cells) for cells in rows])
    own = list(range(len(rows)))
    table.rows += [Row("", ("x" * 100,) * len(columns))] * missing
    content = "\n".join(table.write(table.rows[place]) for place in own)
    return Document(content=content, meta={"title": "file", **write_tables([(table, place) for place in own]), **meta})


INVOICES = """Invoice | Customer | Items | Total | Status
12 | Quay Bakery | 17 | 240 | paid
14 | Mill Cafe | 3 | 95.50 | open
21 | Reed School | 5 | 410 | open
"""


STAFF = "Name | Department | Phone\nAda Stone | Office | 11\nBob Bell | Yard | 12\nCleo Bell | Yard | 13"


def text_of(question: str, *documents: Document) -> str | None:
    found = answer_from_rows(question, documents)
    return None if found is None else found.text


def is_stated(question: str, *documents: Document) -> bool:
    """Check whether the rows state an answer, so that it is more than probable."""
    found = answer_from_rows(question, documents)
    return found is not None and found.is_sure
