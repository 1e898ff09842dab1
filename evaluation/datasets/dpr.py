"""The Wikipedia of DPR as published: ``psgs_w100.tsv`` or ``psgs_w100.tsv.gz``, 21 million passages of 100 words.

A table with the columns ``id``, ``text`` and ``title``, separated by tabs and quoted as in CSV. Other corpora in this
format can be read too, such as the 24 million passages of newer Wikipedia dumps.
"""

import csv
import io
from collections.abc import Iterator

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile
from prefrag.evaluation.datasets.passage import passage

COLUMNS = ["id", "text", "title"]


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages."""
    return file.convert_records(_rows(file), _passage, "line")


def _rows(file: DatasetFile) -> Iterator[tuple[int, list[str]]]:
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
    if len(row) != len(COLUMNS):
        raise ValueError(f"expected {len(COLUMNS)} columns, not {len(row)}")
    number, text, title = row
    yield passage(number, title, text)
