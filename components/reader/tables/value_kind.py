"""Find out whether the value of a cell is of another kind than the question asks for."""

import re
from collections.abc import Mapping

from prefrag.components.reader.tables.amounts import column_cells, read_amount
from prefrag.components.reader.tables.row_fit import Fit
from prefrag.components.reader.tables.table_words import stem_of, words_of

# An error of a program for tables. It matches "#N/A" and "#REF!". It does not match the colour "#FF0000".
_ERROR = re.compile(
    r"#(?:N/A|REF!|NAME\?|VALUE!|DIV/0!|NUM!|NULL!|SPILL!|CALC!|FIELD!|BLOCKED!|GETTING_DATA|NV|BEZUG!|WERT!|ZAHL!)",
    re.IGNORECASE,
)
# Signs that are a value, as a tick and stars are. It matches "\u2713", "\u2605\u2605\u2605" and "+".
_SIGNS = re.compile(r"[\u2605\u2606\u2610-\u2612\u2713-\u2718+]+")
# A cell that answers only a question for yes or no. It matches "yes" and "x".
_YES_OR_NO = re.compile(r"yes|no|y|n|x|true|false|[\u2610-\u2612\u2713-\u2718]", re.IGNORECASE)
# A question that yes or no does not answer.
_ASKS_THING = re.compile(r"\W*(?:who|whom|when|where|how)\b", re.IGNORECASE)
# A cell that only points to another place, or leaves its value open. It matches "see above", "ditto", "tbc" and
# "not yet known".
_OPEN = re.compile(
    r"(?:see|cf\.?|as|like|same(?: as)?) (?:above|below|before|notes?|list|table|page|row|line|p\.)\b.*"
    r"|ditto|idem|unknown|n/?a|tb[acd]|to be [a-z]+|not yet\b.*|.*\?",
    re.IGNORECASE,
)
# The name of a column that says that something was done, and not who did it. It matches "Delivered" and "Checked on".
_DONE = re.compile(r"[a-z]+ed(?: (?:on|at|in))?\W*", re.IGNORECASE)
# A cell that names nobody. It matches "nobody" and "vacant".
_NOBODY = re.compile(r"nobody|no ?one|none|vacant|open|late|various|several|niemand|offen|unbesetzt", re.IGNORECASE)
# A time of the day, a month, a week or a day of the week, in English or German. It matches "19:05", "6 am", "9 Uhr",
# "0930", "10 - 12", "week 12", "24. Oktober" and "Tue 7".
_TIME = re.compile(
    r"\d[:.h]\d\d|\d ?(?:am|pm|a\.m\.|p\.m\.|o['\u2019]clock|h|uhr)\b|\b(?:[01]\d|2[0-3])[0-5]\d\b"
    r"|\d ?[-\u2013] ?\d|\b(?:week|kw|woche)\.? ?\d"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b"
    r"|\b(?:m\u00e4r|mai|okt|dez|dienst|mitt|donners|frei|sams|sonn)[a-z]*\b"
    r"|\d\d?[./-]\d\d?\b",
    re.IGNORECASE,
)
# A question for a price. It matches "price of mash" and "How much is mash?".
_ASKS_PRICE = re.compile(
    r"\b(?:how much|prices?|costs?|fees?|rents?|hire|charges?|rates?|preis|kosten|miete|geb\u00fchr)\b", re.IGNORECASE
)
# A price in words. It matches "free" and "included".
_FREE = re.compile(r"free\b.*|gratis|included|nothing|none|kostenlos|frei|inklusive", re.IGNORECASE)
# The name of a column of what is done for something, and costs money itself. It matches "Treatment".
_SERVICE = re.compile(
    r"\W*(?:treatment|service|repair|work|procedure|operation|surgery|therapy|behandlung|leistung|reparatur)s?\W*",
    re.IGNORECASE,
)
# A question for an amount of money or another quantity.
_HOW_MUCH = re.compile(r"\W*(?:and )?how much\b", re.IGNORECASE)
# A number directly before a unit, in two groups. A word with a capital letter may be a month or a street. It matches
# "15 kg" and "15kg". It does not match "5 October" and "12 Bakery Street".
_NUMBERED = re.compile(r"(?<![\w.,])(\d+(?:[.,]\d+)*)\s?(?![A-Z](?:[a-z]|[A-Z]{3}))([^\W\d_]+)")
# Digits that make no difference before a unit: "1 kg" is a kilogram.
_SINGLE = frozenset(("1", "1.0", "1,0"))


def is_value(question: str, value: str) -> bool:
    """Check whether a cell has a value at all.

    A cell of signs, such as "?" or "---", has none. Nor has an error, such as "#N/A". A cell "yes", a tick and stars
    are no value for "Who?", "When?", "Where?" and "How?".

    :param question: The question.
    :param value: The text of the cell.
    :returns: Whether the cell has a value.
    """
    value = value.strip()
    is_sign = _SIGNS.fullmatch(value) is not None
    has_text = any(map(str.isalnum, value))
    if _ERROR.fullmatch(value) or not (is_sign or has_text):
        return False
    is_yes_or_no = is_sign or _YES_OR_NO.fullmatch(value) is not None
    return not is_yes_or_no or _ASKS_THING.match(question) is None


def is_other_kind(question: str, fit: Fit) -> bool:
    """Check whether the value is of another kind than the question asks for.

    Examples are "see above" for a price, "late" for "Who delivered it?", and "3" for "When were the vaccinations?".

    :param question: The question.
    :param fit: The row.
    :returns: Whether the value may be no answer.
    """
    value, asked = fit.value.strip(), question.strip().lower()
    if _OPEN.fullmatch(value):
        return True
    names_nobody = _NOBODY.fullmatch(value) or _DONE.fullmatch(fit.column_name)
    if asked.startswith("who") and names_nobody:
        return True
    has_time = words_of(value).days or _TIME.search(value)
    if asked.startswith("when") and not has_time:
        return True
    # Among prices, a text such as "on request" is no price.
    if not _ASKS_PRICE.search(question) or _FREE.fullmatch(value):
        return False
    others = [cell for cell in _other_values(fit) if cell]
    has_digit = any(map(str.isdigit, value))
    return bool(others) and not has_digit and all(map(_is_number, others))


def _is_number(cell: str) -> bool:
    """Check whether a cell is a number, with or without a unit, or a number of several parts as of a telephone."""
    return read_amount(cell) is not None or not any(map(str.isalpha, cell))


def _other_values(fit: Fit) -> list[str]:
    """List the cells of the other rows in the column that the question names."""
    lines = [line for line in fit.table.lines.values() if line is not fit.line]
    return [] if fit.column is None else column_cells(lines, fit.column)


def is_for_other_quantity(question: str, fit: Fit) -> bool:
    """Check whether the value is for another quantity than the question names.

    An example is "price of a kg of mash" for a row with the unit "15 kg".

    :param question: The question.
    :param fit: The row.
    :returns: Whether a cell or a column has the unit with a number that the question lacks.
    """
    # A number alone is no unit. A unit that stands in the name of the row's subject is told by the question too.
    units = {word.stem for word in fit.places if not word.is_number}
    for text in (fit.column_name, *fit.other_cells.values()):
        numbered: Mapping[str, str] = {stem_of(match[2]): match[1] for match in _NUMBERED.finditer(text)}
        for unit, number in numbered.items():
            if unit in units and number not in _SINGLE and number not in fit.stems:
                return True
    return False


def is_of_part(question: str, fit: Fit) -> bool:
    """Check whether an amount belongs to a thing between the row's subject and the amount.

    An example is "How much did Ember cost?" for the row "Ember, Vaccination, 57.10" of the columns "Horse, Treatment,
    Cost".

    :param question: The question.
    :param fit: The row.
    :returns: Whether a service that the question lacks stands between them.
    """
    if fit.column is None or not _HOW_MUCH.match(question) or read_amount(fit.value) is None:
        return False
    telling_columns = [column for places in fit.telling.values() for column in places]
    # The last column left of the amount that tells which row is meant.
    nearest = max((column for column in telling_columns if column < fit.column), default=fit.column)
    between = [column for column in fit.other_cells if nearest < column < fit.column]
    return any(_SERVICE.fullmatch(fit.table.columns[column]) for column in between)
