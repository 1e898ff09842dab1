"""Write the rows of a table as text, each with the names of its columns, and pack them into passages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from prefrag.indexing.passage_splitting import (
    ENOUGH_WORDS,
    MOST_CHARACTERS,
    MOST_WORDS,
    split_into_passages,
)
from prefrag.indexing.report import CannotRead

_SEPARATORS = ",;\t|"
_NUMBER = re.compile(r"[\s\d.,:/%+\-\u20ac$\u00a3()]*")
_LONGEST_NAME = 80
# A file can have each of its values name one text of megabytes, or stand behind a long name.
_MOST_TEXT = 100_000_000


def read_csv(text: str) -> list[str]:
    """Read a text of values between commas, semicolons, tabulators or bars."""
    # Lines end as in files, not at the other separators that Unicode has.
    lines = io.StringIO(text, newline=None)
    first = re.sub(r'"[^"]*"', "", next(filter(str.strip, lines), ""))
    lines.seek(0)
    separator = max(_SEPARATORS, key=first.count)
    try:
        return list(write_rows(csv.reader(lines, delimiter=separator)))
    except csv.Error:
        # Such as a quotation mark that is never closed, which makes one value of the rest of the file.
        return [line for line in map(_one_line, text.splitlines()) if line]


def write_rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write every row as `name: value; name: value`; without the names where the first row holds none."""
    return limit_text(_write_rows(rows))


def limit_text(lines: Iterable[str]) -> Iterator[str]:
    """Pass lines on as long as they are no more text than is read."""
    room = _MOST_TEXT
    for line in lines:
        room -= len(line)
        if room < 0:
            raise CannotRead("it holds more text than is read: split it")
        yield line


def _write_rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    names: list[str] | None = None
    for number, row in enumerate(filter(any, ([_one_line(value) for value in row] for row in rows))):
        if number == 0 and _are_names(row):
            names = row
            continue
        yield "; ".join(
            f"{names[column]}: {value}" if names and column < len(names) else value
            for column, value in enumerate(row)
            if value
        )
        if number == 0:
            names = []
    if names and number == 0:
        yield "; ".join(names)


def pack_rows(text: str) -> list[str]:
    """Put whole rows together to passages; only a row longer than a passage is split."""
    passages: list[str] = []
    current, words = "", 0
    for line in text.splitlines(keepends=True):
        line_words = len(line.split())
        too_long = words + line_words > MOST_WORDS or len(current) + len(line) > MOST_CHARACTERS
        if current and (too_long or words >= ENOUGH_WORDS or not line.strip()):
            passages.append(current)
            current, words = "", 0
        if line_words > MOST_WORDS or len(line) > MOST_CHARACTERS:
            passages += split_into_passages(line)
            continue
        current += line
        words += line_words
    return [*passages, current] if current else passages


def _are_names(row: Sequence[str]) -> bool:
    """Check whether a first row names the columns: each once, short, and none a number or date."""
    row = [value for value in row if value]
    return (
        len(row) > 1
        and len({value.lower() for value in row}) == len(row)
        and all(len(value) <= _LONGEST_NAME and not _NUMBER.fullmatch(value) for value in row)
    )


def _one_line(value: str) -> str:
    return " ".join(value.split())
