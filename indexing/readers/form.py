"""Find out whether a block of cells is a form, and read its labels with their values.

A form has a label before each value, in two, four or six columns, as here::

    Customer  Castle Green  Date   3 May 2026
    Engineer  Tomasz        Order  4711

A table of the same size has its labels in its first row. A table that is read as a form loses the names of its columns.
A form that is read as a table says what is not so: "Customer: Engineer; Castle Green: Tomasz". So :func:`read_form`
asks for evidence. It takes none from the words, and only this from the cells:

1. The labels end in a colon, or each cell has its own label and value ("Date: 3 May").
2. The file marks the labels, by bold letters or a filled background, and not the first value.
3. The values below each other are of kinds that no column mixes, such as a date, a number and an address.
4. In two columns, the first value is a day, an address or a sentence, as values below it are. So it is no name of a
   column.
5. In two columns, the first value is a day, a time of day or a long number, and all values below it are words.
6. Each row has the same label twice.

Boxes of sentences are read here, too. They have neither labels nor names of columns.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from prefrag.components.text.dates import find_dates

# In a form of two columns, a label alone in its row has no value. In a wider one, it is a text between the pairs.
_NARROW = 2
# A row of a form has at most this many labels.
_MOST_LABELS = 3
# A label has at most this many characters.
_LONGEST_LABEL = 80
# A label inside the cell of its value has at most this many characters.
_LONGEST_OWN_LABEL = 40
# At least this share of the labels ends in a colon, and of the cells has an own label or is a sentence.
_MOST_CELLS = 0.75
# With more rows than this, a mixture of values is no evidence.
_MOST_MIXED_ROWS = 40
# With more rows than this, a day above words is no evidence.
_MOST_FACTS = 12
# A column of a table has values of one kind in at least this share of its cells, and in at least so many cells.
_OF_ONE_KIND = 0.75
_LEAST_OF_ONE_KIND = 2
# A sentence has at least this many words and a stop at its end. A longer text counts as one without a stop.
_LEAST_SENTENCE = 4
_LONG_TEXT = 80
# A phone number has at least this many digits.
_LEAST_PHONE = 6
# Matches a cell with its own label, as "Date: 3 May" or "Signature:". Groups 1 and 2 are the label and the value.
_OWN_LABEL = re.compile(rf"([^:]{{1,{_LONGEST_OWN_LABEL}}}):(?:\s+(\S.*))?")
# Matches a further label inside the value of a cell, as in "Green Engineer: Tomasz".
_FURTHER_LABEL = re.compile(r"[^\W\d]:\s")
# Matches a number or an amount, such as "4711", "9:30", "12.50 EUR" and "-3 %".
_NUMBER = re.compile(
    r"(?:[\u20ac$\u00a3]|[A-Z]{3}\s)?\s*[-+(]?\d[\d\s.,:]*[)%\u20ac$\u00a3]?(?:\s[%\u20ac$\u00a3]|\s[A-Z]{3})?"
)
# Matches a number with a short unit, such as "50 GB" and "5 users".
_QUANTITY = re.compile(r"\d+(?:[.,]\d+)*\s?[^\W\d_]{1,6}")
# Matches a year, which may be a number or a date.
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
# Matches a time of day, such as "19:30" and "9 am".
_CLOCK = re.compile(r"\d{1,2}:\d\d(?:\s?(?:[ap]\.?m\.?|Uhr|h))?|\d{1,2}\s?(?:[ap]\.?m\.?|Uhr)", re.IGNORECASE)
# Matches a number that is so long that it counts nothing, such as that of an order.
_LONG_NUMBER = re.compile(r"\d{5,}")
# Matches a day in digits with slashes.
_SLASHED_DAY = re.compile(r"\d{1,2}/\d{1,2}/(?:\d\d|\d{4})")
# Matches a phone number, such as "0471 220 11" and "+44 (0)1539 7220".
_PHONE = re.compile(r"[+(]{0,2}0[\d\s()/.-]+|\+[\d\s()/.-]+")
# Matches an e-mail address or the address of a page.
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+\.[a-z]+|(?:https?://|www\.)\S+", re.IGNORECASE)
# Matches the end of a sentence. A question mark does not match, because a label may be a question.
_STOP = re.compile(r"[.!][\"')\]]*$")

# The kinds of values. Words have none.
_DAY, _AMOUNT, _CONTACT, _SENTENCE = "day", "amount", "contact", "sentence"


class FormCell(NamedTuple):
    """A cell of a block that may be a form. A merged cell is one cell.

    :param text: The text, or "".
    :param marks: The numbers of the ways in which the file marks the cell as a name, such as bold letters.
    """

    text: str
    marks: frozenset[int]


class Pair(NamedTuple):
    """A label with its value. A text without a label has the label "". A label without a value has the value ""."""

    label: str
    value: str


# A row of a form: the cells of its labels, each with the cell of its value.
_Row = list[tuple[FormCell, FormCell]]


def read_form(rows: Sequence[Sequence[FormCell]]) -> list[Pair]:
    """Read the labels and values of a form, or the texts of a block of sentences.

    For example, the rows ``["Customer:", "Castle Green"]`` and ``["Engineer:", "Tomasz"]`` give the pairs ("Customer",
    "Castle Green") and ("Engineer", "Tomasz").

    :param rows: The cells of a block, row by row, without its title and without empty columns.
    :returns: The pairs, in the order of reading. Empty if the block is no form, or if that is unclear.
    """
    rows = [row for row in rows if any(cell.text for cell in row)]
    if len(rows) < 2:
        return []
    if _are_all(rows, _has_own_label):
        return [_own_pair(cell.text) for row in rows for cell in row if cell.text]
    if _are_all(rows, _is_prose):
        return [Pair("", cell.text) for row in rows for cell in row if cell.text]

    labelled = [_labelled(row) for row in rows]
    # A row without pairs is a text over the whole width, which stands between the pairs.
    rows_with_pairs = [row for row in labelled if row]
    may_be_form = all(row is not None for row in labelled) and bool(labelled[0]) and len(rows_with_pairs) > 1
    if not may_be_form or not _has_evidence(rows_with_pairs):
        return []
    return _pairs(rows, labelled)


def _are_all(rows: Sequence[Sequence[FormCell]], is_alike: Callable[[str], bool]) -> bool:
    """Check whether all cells of the first row, and most of all cells, are alike. A row must have several cells.

    :param rows: The cells. Empty cells do not count.
    :param is_alike: Checks the text of a cell, for example whether it has its own label.
    """
    texts_of_rows = [[cell.text for cell in row if cell.text] for row in rows]
    all_texts = [text for texts in texts_of_rows for text in texts]
    n_alike = sum(map(is_alike, all_texts))
    has_columns = max(map(len, texts_of_rows)) > 1
    return has_columns and all(map(is_alike, texts_of_rows[0])) and n_alike >= _MOST_CELLS * len(all_texts)


def _has_own_label(text: str) -> bool:
    """Check whether a cell has its own label, as "Date: 3 May"."""
    own = _OWN_LABEL.fullmatch(text)
    return own is not None and _is_label(own[1])


def _own_pair(text: str) -> Pair:
    """Divide a cell into its label and its value. A cell with several labels stays whole, because none is sure."""
    own = _OWN_LABEL.fullmatch(text)
    if own is None or not _is_label(own[1]):
        return Pair("", text)
    label, value = own[1].strip(), own[2] or ""
    return Pair("", text) if _FURTHER_LABEL.search(value) else Pair(label, value)


def _is_label(text: str) -> bool:
    """Check whether a text may be a label: short, with letters, and neither a value nor a sentence."""
    is_short = len(text) <= _LONGEST_LABEL
    is_value = bool(_kind_of(text)) or _QUANTITY.fullmatch(text) is not None
    return is_short and any(map(str.isalpha, text)) and not is_value


def _is_prose(text: str) -> bool:
    """Check whether a cell is a sentence, or so long that it is no name of a column."""
    return len(text) > _LONG_TEXT or _kind_of(text) == _SENTENCE


def _labelled(row: Sequence[FormCell]) -> _Row | None:
    """Return the labels of a row with their values.

    :param row: The cells.
    :returns: The pairs of cells. Empty for a text over the whole width; None if the row cannot be a row of a form.
    """
    if len(row) == 1:
        return []
    if len(row) % 2 or len(row) > 2 * _MOST_LABELS:
        return None
    pairs = list(zip(row[::2], row[1::2], strict=True))
    labels = [label.text for label, _ in pairs if label.text]
    return pairs if all(map(_is_label, labels)) else None


def _has_evidence(rows: Sequence[_Row]) -> bool:
    """Check whether rows of labels and values are a form and no table with names of columns."""
    labels = [label for row in rows for label, _ in row if label.text]
    first_row = rows[0]
    first_label, _ = first_row[0]
    first_values = [value for _, value in first_row]
    if not first_label.text:
        return False

    n_colons = sum(label.text.endswith(":") for label in labels)
    has_colons = first_label.text.endswith(":") and not any(value.text.endswith(":") for value in first_values)
    if has_colons and n_colons >= _MOST_CELLS * len(labels):
        return True

    has_twins = all(_has_equal_labels(row) for row in rows)
    # The ways in which all labels are marked, and those in which any of the first values is.
    marks_of_labels = frozenset.intersection(*(label.marks for label in labels))
    marks_of_values = frozenset[int]().union(*(value.marks for value in first_values))
    has_marked_labels = len(marks_of_labels - marks_of_values) > 0
    return has_twins or has_marked_labels or _has_mixed_values(rows)


def _has_equal_labels(row: _Row) -> bool:
    """Check whether a row has the same label twice, as the two sides of a contract have."""
    labels = [label.text.lower() for label, _ in row if label.text]
    return len(set(labels)) < len(labels)


def _has_mixed_values(rows: Sequence[_Row]) -> bool:
    """Check whether the values below each other are of kinds that no column of a table mixes.

    All rows must have the same columns, and no label may occur twice in its column. No column may be one of a table.
    """
    width = max(map(len, rows))
    columns = [_pairs_at(place, rows) for place in range(width)]
    for column in columns:
        labels = {label.text.lower() for label, _ in column} - {""}
        if len(labels) < len(column):
            return False
    kinds_of_columns = []
    for column in columns:
        values = [value.text for _, value in column if _is_value(value.text)]
        kinds_of_columns.append([_kind_of(value) for value in values])
    if any(map(_is_column_of_table, kinds_of_columns)):
        return False
    # Without names of columns, the rows of a wider table also begin with a name and a day or a phone number.
    is_narrow = width == 1
    texts = [value.text for _, value in columns[0] if value.text]
    if is_narrow and texts and _are_facts(texts):
        return True
    return any(_mixes(kinds, len(rows), is_narrow) for kinds in kinds_of_columns)


def _pairs_at(place: int, rows: Sequence[_Row]) -> _Row:
    """Return the pairs at a place of each row, without empty pairs."""
    pairs = [row[place] for row in rows if place < len(row)]
    return [(label, value) for label, value in pairs if label.text or value.text]


def _is_value(text: str) -> bool:
    """Check whether a cell has a value of its own, and not a word that may stand in any column, such as "none"."""
    return bool(_kind_of(text)) or text[:1].isupper()


def _is_column_of_table(kinds: Sequence[str]) -> bool:
    """Check whether nearly all values below the first are of one kind that the first value is not of.

    :param kinds: The kind of each value of a column.
    """
    below = Counter(kinds[1:])
    least = max(_LEAST_OF_ONE_KIND, _OF_ONE_KIND * below.total())
    return any(number >= least for kind, number in below.items() if kind and kind != kinds[0])


def _mixes(kinds: Sequence[str], n_rows: int, is_narrow: bool) -> bool:
    """Check whether values are of kinds that no column of a table has below its name.

    :param kinds: The kind of each value of a column.
    :param n_rows: The number of rows.
    :param is_narrow: Whether each row has a single pair. Then the first value tells by its kind that it is no name.
    """
    if not kinds:
        return False
    first, *below = kinds
    # Without a name above them, numbers are read as a table without names.
    if is_narrow and first not in ("", _AMOUNT) and first in below:
        return True
    # Sentences stand among all kinds of values, in a column of remarks.
    mixed = {*kinds} - {"", _SENTENCE}
    return len(mixed) > 1 and n_rows <= _MOST_MIXED_ROWS


def _are_facts(values: Sequence[str]) -> bool:
    """Check whether the first value is one that hardly names a column, and all values below it are different words.

    An example is the head of minutes: "3 May 2026" above "Boathouse" and "Una, Arne". Numbers below a day may be those
    of that day, and a word that stands there twice, such as "Present", may be one of few values of a column.

    :param values: The values of a block of two columns.
    """
    first, *below = values
    is_fact = _is_day(first) or any(kind.fullmatch(first) for kind in (_CLOCK, _LONG_NUMBER))
    are_words = all(_is_value(value) and _kind_of(value) not in (_DAY, _AMOUNT) for value in below)
    return is_fact and are_words and len(set(below)) == len(below) and 0 < len(below) < _MOST_FACTS


def _kind_of(text: str) -> str:
    """Return the kind of a value: a day, a number, an address or a sentence. Words and years have none."""
    if _ADDRESS.fullmatch(text):
        return _CONTACT
    if _is_day(text):
        return _DAY
    if _PHONE.fullmatch(text) and sum(map(str.isdigit, text)) >= _LEAST_PHONE:
        return _CONTACT
    if _NUMBER.fullmatch(text):
        return "" if _YEAR.fullmatch(text) else _AMOUNT
    is_sentence = len(text.split()) >= _LEAST_SENTENCE and _STOP.search(text) is not None
    return _SENTENCE if is_sentence else ""


def _is_day(text: str) -> bool:
    """Check whether a text is a day, such as "3 May 2026", "3 May" or "Monday, 3.5.2026"."""
    if len(text) > _LONGEST_OWN_LABEL:
        return False
    if _SLASHED_DAY.fullmatch(text):
        return True
    # A day may have no year.
    for dated_text in (text, f"{text} 2000"):
        for date in find_dates(dated_text):
            words_around = re.findall(r"[^\W\d_]+", dated_text[: date.begin] + dated_text[date.end :])
            # A word may be the day of the week. A date with two ends is a month or a year.
            is_single_day = date.first == date.last
            if is_single_day and len(words_around) <= 1:
                return True
    return False


def _pairs(rows: Sequence[Sequence[FormCell]], labelled: Sequence[_Row | None]) -> list[Pair]:
    """Return the pairs of a form, and the texts between them.

    A value without a label goes on with the value above it, as the second line of an address does.

    :param rows: The cells.
    :param labelled: The labels and values of each row.
    """
    pairs: list[Pair] = []
    # The number of the pair that was read last, by its place in the row.
    last: dict[int, int] = {}
    for cells, row in zip(rows, labelled, strict=True):
        texts = [cell.text for cell in cells if cell.text]
        is_text_between = len(texts) == 1 and len(cells) != _NARROW and bool(cells[0].text)
        if is_text_between:
            pairs.append(Pair("", texts[0]))
            continue
        for place, (label, value) in enumerate(row or ()):
            if label.text:
                last[place] = len(pairs)
                pairs.append(Pair(label.text.removesuffix(":").strip(), value.text))
            elif value.text and place in last:
                number = last[place]
                above = pairs[number]
                pairs[number] = Pair(above.label, ", ".join(filter(None, (above.value, value.text))))
            elif value.text:
                pairs.append(Pair("", value.text))
    return pairs
