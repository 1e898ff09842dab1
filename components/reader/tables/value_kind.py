"""Find out whether the value of a cell is of another kind than the question asks for.

The functions of this module get a question and a :class:`~prefrag.components.reader.tables.row_fit.Fit`: a row with
every word of the question. If the question is "Who delivered the hay?", the value of the row is its cell in the column
"Delivered by". The value may still be no answer. It may be "see above", a tick instead of a name, or the price of
another quantity. Each function checks one such case.
"""

import re

from prefrag.components.reader.tables.amounts import column_cells, read_amount
from prefrag.components.reader.tables.row_fit import Fit
from prefrag.components.reader.tables.table_words import stem_of, words_of

# An error of a program for tables, as the English and the German programs write it. It matches "#N/A", "#REF!" and
# "#WERT!". It does not match the colour "#FF0000".
_ERROR = re.compile(
    r"#(?:N/A|REF!|NAME\?|VALUE!|DIV/0!|NUM!|NULL!|SPILL!|CALC!|FIELD!|BLOCKED!|GETTING_DATA|NV|BEZUG!|WERT!|ZAHL!)",
    re.IGNORECASE,
)
# The beginning of a formula whose result the file lacks. It matches "=B2*2", "=-SUM(" and "='Sheet 2'!A1". It does not
# match the telephone number "=+441632960001", the protected text '="0049"' and "= 5 kg".
_FORMULA = re.compile(r"=[-(]*(?:[A-Za-z$\d\[]|'[^']*'!)")
# Boxes, ticks and crosses, as the range of a character class.
_TICKS = r"\u2610-\u2612\u2713-\u2718"
# Signs that are a value although they are no letters or digits: stars, ticks and plus signs. It matches "\u2713",
# "\u2605\u2605\u2605" and "+". It does not match "?" and "---".
_SIGNS = re.compile(rf"[\u2605\u2606{_TICKS}+]+")
# A cell that answers only a question for yes or no. It matches "yes", "x" and "\u2713".
_YES_OR_NO = re.compile(rf"yes|no|y|n|x|true|false|[{_TICKS}]", re.IGNORECASE)
# A question that yes or no does not answer. It matches "Who paid?" and "How much is it?". It does not match "What is
# the rating?", because stars may answer it.
_ASKS_THING = re.compile(r"\W*(?:who|whom|when|where|how)\b", re.IGNORECASE)
# A cell that only points to another place, or leaves its value open. The alternatives are:
# - "see above", "as before", "same page 4": a reference to another place
# - "ditto", "unknown", "n/a", "tbc": a word or a short form that stands for no value
# - "to be confirmed", "not yet known": a value that will follow
# - "Friday?": a value with a question mark
_LEAVES_OPEN = re.compile(
    r"(?:see|cf\.?|as|like|same(?: as)?) (?:above|below|before|notes?|list|table|page|row|line|p\.)\b.*"
    r"|ditto|idem|unknown|n/?a|tb[acd]|to be [a-z]+|not yet\b.*|.*\?",
    re.IGNORECASE,
)
# The name of a column for whether or when something was done: a participle, perhaps with "on", "at" or "in". It matches
# "Delivered" and "Checked on". It does not match "Delivered by", which says who did it.
_DONE = re.compile(r"[a-z]+ed(?: (?:on|at|in))?\W*", re.IGNORECASE)
# A cell that is no answer to "who": it says that there is nobody, that this is open, or that there are several people.
# It matches "nobody", "vacant" and "various".
_NOBODY = re.compile(r"nobody|no ?one|none|vacant|open|late|various|several|niemand|offen|unbesetzt", re.IGNORECASE)
# A time, in English or German. The alternatives are:
# - "19:05", "9.30", "7h15": an hour with minutes
# - "6 am", "8 o'clock", "9 Uhr": an hour
# - "0930": an hour with minutes, in four digits
# - "10 - 12": from one hour to another
# - "week 12", "KW 7": a week of the year
# - "October", "Tue": a month or a day of the week in English, also shortened
# - "Oktober", "Mittwoch": the same in German, where it begins otherwise
# - "3/8", "24.10": a day of a month in digits
_TIME = re.compile(
    r"\d[:.h]\d\d"
    r"|\d ?(?:am|pm|a\.m\.|p\.m\.|o['\u2019]clock|h|uhr)\b"
    r"|\b(?:[01]\d|2[0-3])[0-5]\d\b"
    r"|\d ?[-\u2013] ?\d"
    r"|\b(?:week|kw|woche)\.? ?\d"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b"
    r"|\b(?:m\u00e4r|mai|okt|dez|dienst|mitt|donners|frei|sams|sonn)[a-z]*\b"
    r"|\d\d?[./-]\d\d?\b",
    re.IGNORECASE,
)
# A question for a price. It matches "price of mash" and "How much is mash?".
_ASKS_PRICE = re.compile(
    r"\b(?:how much|prices?|costs?|fees?|rents?|hire|charges?|rates?|preis|kosten|miete|geb\u00fchr)\b", re.IGNORECASE
)
# A price in words, in English or German. It matches "free", "free for members" and "included".
_PRICE_IN_WORDS = re.compile(r"free\b.*|gratis|included|nothing|none|kostenlos|frei|inklusive", re.IGNORECASE)
# The name of a column of services, which cost money themselves. It matches "Treatment" and "Repairs".
_SERVICE = re.compile(
    r"\W*(?:treatment|service|repair|work|procedure|operation|surgery|therapy|behandlung|leistung|reparatur)s?\W*",
    re.IGNORECASE,
)
# A question for an amount of money or another quantity. It matches "And how much was it?".
_HOW_MUCH = re.compile(r"\W*(?:and )?how much\b", re.IGNORECASE)
# A number directly before a unit. A word with a capital behind a number may be a month or a street. So a unit may begin
# with a capital only if neither a small letter nor three more capitals follow it. It matches "15 kg", "15kg" and "15
# KG". It does not match "5 October", "5 OCTOBER" and "12 Bakery Street".
_QUANTITY = re.compile(r"(?<![\w.,])(?P<number>\d+(?:[.,]\d+)*)\s?(?![A-Z](?:[a-z]|[A-Z]{3}))(?P<unit>[^\W\d_]+)")
# The numbers that make no difference before a unit: "1 kg" is "a kg".
_ONE = frozenset(("1", "1.0", "1,0"))


def is_value(question: str, value: str) -> bool:
    """Check whether a cell has a value that the question may ask for.

    A cell has no value in these cases:

    - It has only signs, such as "?" or "---". Ticks, stars and plus signs are an exception.
    - It is the error of a program, such as "#N/A".
    - It is a formula, such as "=B2*2". A CSV file has no results of formulas.
    - It is "yes", "no", a tick or the like, and the question begins with "who", "when", "where" or "how".

    :param question: The question.
    :param value: The text of the cell.
    :returns: Whether the cell has a value.
    """
    value = value.strip()
    is_sign = _SIGNS.fullmatch(value) is not None
    has_letter_or_digit = any(map(str.isalnum, value))
    is_empty = not is_sign and not has_letter_or_digit
    if is_empty or _ERROR.fullmatch(value) or _FORMULA.match(value):
        return False

    answers_only_yes_or_no = is_sign or _YES_OR_NO.fullmatch(value) is not None
    asks_thing = _ASKS_THING.match(question) is not None
    return not (answers_only_yes_or_no and asks_thing)


def is_uncomputed(text: str, place: int) -> bool:
    """Check whether a place of a passage is in a cell with a formula or an error.

    For example, ``is_uncomputed("item: Tar; sum: =B2*2", 17)`` returns ``True``.

    :param text: The text of the passage, in which rows are written as labels with values.
    :param place: The index of a character.
    :returns: Whether the value behind the label begins with a formula or an error.
    """
    begin_of_line = text.rfind("\n", 0, place) + 1
    begin_of_cell = text.rfind(": ", begin_of_line, place)
    if begin_of_cell < 0:
        return False
    cell = text[begin_of_cell + len(": ") :]
    return (_FORMULA.match(cell) or _ERROR.match(cell)) is not None


def is_other_kind(question: str, fit: Fit) -> bool:
    """Check whether the value is of another kind than the question asks for.

    Three examples:

    - "see above" for a price
    - "late" for "Who delivered it?", because "late" is no person
    - "3" for "When were the vaccinations?", because "3" is their number and no time

    :param question: The question.
    :param fit: The row.
    :returns: Whether the value may be no answer.
    """
    value = fit.value.strip()
    if _LEAVES_OPEN.fullmatch(value):
        return True

    asked = question.strip().lower()
    if asked.startswith("who") and _tells_nobody(value, fit.column_name):
        return True
    if asked.startswith("when") and not _tells_time(value):
        return True
    return _ASKS_PRICE.search(question) is not None and _is_no_price(value, fit)


def _tells_nobody(value: str, column_name: str) -> bool:
    """Check whether a cell names nobody.

    Either the cell says so, as "vacant" does, or its column is one such as "Delivered", which has no names.
    """
    return _NOBODY.fullmatch(value) is not None or _DONE.fullmatch(column_name) is not None


def _tells_time(value: str) -> bool:
    """Check whether a cell has a date or a time. For example, ``_tells_time("from 9 Uhr")`` returns ``True``."""
    has_date = bool(words_of(value).days)
    return has_date or _TIME.search(value) is not None


def _is_no_price(value: str, fit: Fit) -> bool:
    """Check whether a text such as "on request" stands among prices, in a column of numbers."""
    has_digit = any(map(str.isdigit, value))
    if has_digit or _PRICE_IN_WORDS.fullmatch(value):
        return False
    other_prices = [cell for cell in _cells_of_other_rows(fit) if cell]
    return bool(other_prices) and all(map(_is_number, other_prices))


def _cells_of_other_rows(fit: Fit) -> list[str]:
    """List the cells of the other rows in the column that the question names; empty if it names none."""
    if fit.column is None:
        return []
    other_lines = [line for line in fit.table.lines.values() if line is not fit.line]
    return column_cells(other_lines, fit.column)


def _is_number(cell: str) -> bool:
    """Check whether a cell is a number, with or without a unit. A text without letters, "0471 220-11", is one too."""
    has_letter = any(map(str.isalpha, cell))
    return read_amount(cell) is not None or not has_letter


def is_for_other_quantity(question: str, fit: Fit) -> bool:
    """Check whether the value is for another quantity than the question names.

    An example is "price of a kg of mash" for a row with the unit "15 kg": the price is that of 15 kg.

    :param question: The question.
    :param fit: The row.
    :returns: Whether the name of the column or another cell has a unit that stands in the question too, but before it a
        number that does not stand in the question.
    """
    # A unit is any word of the question with a number before it in the table.
    words_of_question = {word.stem for word in fit.places if not word.is_number}
    for text in (fit.column_name, *fit.other_cells.values()):
        for unit, number in _numbers_of_units(text).items():
            is_asked_unit = unit in words_of_question
            is_asked_number = number in _ONE or number in fit.stems
            if is_asked_unit and not is_asked_number:
                return True
    return False


def _numbers_of_units(text: str) -> dict[str, str]:
    """Return for each unit in a text its number. If a unit stands there twice, its last number counts.

    For example, ``_numbers_of_units("Sack 15 kg")`` returns ``{"kg": "15"}``.
    """
    return {stem_of(quantity["unit"]): quantity["number"] for quantity in _QUANTITY.finditer(text)}


def is_of_part(question: str, fit: Fit) -> bool:
    """Check whether an amount is the cost of a service, while the question asks for all that something cost.

    An example is "How much did Ember cost?" for the row "Ember, Vaccination, 57.10" of the columns "Horse, Treatment,
    Cost". Between the horse and the cost stands the treatment, so 57.10 is the cost of the vaccination.

    :param question: The question.
    :param fit: The row.
    :returns: Whether a column of services stands between the amount and the nearest column left of it that has a word
        of the question.
    """
    if fit.column is None or not _HOW_MUCH.match(question) or read_amount(fit.value) is None:
        return False

    # The columns left of the amount whose cells in this row have a word of the question.
    columns_of_words = {column for columns in fit.telling.values() for column in columns}
    columns_left = [column for column in columns_of_words if column < fit.column]
    if not columns_left:
        return False
    nearest = max(columns_left)
    columns_between = [column for column in fit.other_cells if nearest < column < fit.column]
    return any(_SERVICE.fullmatch(fit.table.columns[column]) for column in columns_between)
