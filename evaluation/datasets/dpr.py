"""Read the Wikipedia of DPR as published: ``psgs_w100.tsv`` or ``psgs_w100.tsv.gz``.

The file has 21 million passages of 100 words. It is a table with the columns ``id``, ``text`` and ``title``. The
columns are separated by tabs and quoted as in CSV. Other corpora in this format can be read too, such as the 24 million
passages of newer Wikipedia dumps.
"""

import csv
import io
from collections.abc import Iterator

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile
from prefrag.evaluation.datasets.passage import passage

# The first line of the file must name exactly these columns.
COLUMNS = ["id", "text", "title"]


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages.

    :param file: The file of the corpus.
    :returns: An iterator over the passages.
    :raises ValueError: If the columns are others, or a row is invalid.
    """
    return file.convert_records(_rows(file), _passage, "line")


def _rows(file: DatasetFile) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the values of each row after the first.

    The number is that of the row's last line in the file.
    """
    with file.open() as stream:
        rows = csv.reader(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), delimiter="\t")
        number = 1
        try:
            columns = next(rows, None)
            if columns != COLUMNS:
                raise ValueError(f"expected the columns {', '.join(COLUMNS)}, not {columns}")
            for row in rows:
                number = rows.line_num
                yield number, row
        except (csv.Error, ValueError) as error:
            raise file.error("line", rows.line_num or number, str(error)) from error


def _passage(row: list[str]) -> Iterator[Document]:
    """Yield the passage of a row."""
    if len(row) != len(COLUMNS):
        raise ValueError(f"expected {len(COLUMNS)} columns, not {len(row)}")
    number, text, title = row
    yield passage(number, title, text)
