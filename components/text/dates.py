"""Find the dates in a text.

A date need not be one day: "March 1950" may mean any day of March. Each date is therefore returned as a range of days,
from the first to the last day that the date may mean. The reader and the indexing compare dates by these ranges.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date

# The English names of the months.
ENGLISH_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
# One pattern for each month, from January to December. It matches the English and the German name, long or short.
# For example, the tenth pattern matches "October", "Oktober", "oct" and "Okt".
_MONTHS = (
    "jan(?:uar|uary)?",
    "feb(?:ruar|ruary)?",
    "mar(?:ch)?|märz",
    "apr(?:il)?",
    "may|mai",
    "june?|juni",
    "july?|juli",
    "aug(?:ust)?",
    "sept?(?:ember)?",
    "o[ck]t(?:ober)?",
    "nov(?:ember)?",
    "de[cz](?:ember)?",
)
# The same in French, Spanish, Italian and Dutch, without the names above. They are read only between a day and a year,
# because "Mars 2020" may also be the name of something.
_MORE_MONTHS = (
    "janvier|enero|gennaio|januari",
    "f[e\u00e9]vrier|febrero|febbraio|februari",
    "mars|marzo|maart",
    "avril|abril|aprile",
    "mayo|maggio|mei",
    "juin|junio|giugno",
    "juillet|julio|luglio",
    "ao[u\u00fb]t|agosto|augustus",
    "sept(?:embre|iembre)|settembre",
    "o[ct]tobre|octubre",
    "nov(?:embre|iembre)",
    "d[e\u00e9]cembre|diciembre|dicembre",
)
# Matches the name of any month.
_MONTH_NAME = "|".join(_MONTHS)
_MORE_MONTH_NAME = "|".join(_MORE_MONTHS)
# Matches a year from 1000 to 2099, such as "1950".
_YEAR = r"(?:1\d{3}|20\d\d)"
# Matches the number of a day, with an English ending or without, such as "4" and "4th".
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
# Matches a date in one of five forms. There is one line of the pattern (for the fourth form, two lines) for each:
# - group `iso`: year, month and day with hyphens, such as "2026-03-04"
# - day, month and year with full stops, such as "4. 3. 2026" and "4.3.2026"
# - group `more`: the day, a month in another language, and the year, such as "1er mars 2026" and "4 de mayo de 2026"
# - group `month`: the name of a month and a year, with or without the day before or after the name. Examples are
#   "4 March 2026", "4th of March, 2026", "March 4, 2026", "3. März 2026" and "March 2026".
# - group `number`: a year alone, such as "2026"
# The first line keeps a date from beginning inside a longer word or number, as in "v1950" or "$1950".
# A year alone does not match if what follows shows that it is another number, as in "1950%" or "1950.5".
# Dates with slashes do not match, because 3/4/2026 may mean 3 April or 4 March.
_DATE = re.compile(
    rf"""
    (?<! [\w/.,$€£] )
    (?: (?P<iso> {_YEAR}-\d\d-\d\d ) (?!\d)
      | \d{{1,2}} \. [ ]? \d{{1,2}} \. [ ]? {_YEAR} (?!\d)
      | \d{{1,2}} (?: er | [\u00ba\u00b0] )? \s (?: de\s )? (?P<more> {_MORE_MONTH_NAME} ) \s (?: del?\s )? {_YEAR} \b
      | (?: {_DAY} \.? \s (?: of\s )? (?= [a-zä]+ \.? ,? \s {_YEAR} ) )?
        (?P<month> {_MONTH_NAME} ) \b \.? ,? \s (?: {_DAY} ,? \s )? {_YEAR} \b
      | (?P<number> {_YEAR} ) (?! [\w%°] | [.,:/]\d | -\D )
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class WrittenDate:
    """A date as it stands in a text.

    "March 1950" may mean any day of this month, and "1950" any day of this year. If the text names one day, then
    ``first`` and ``last`` are equal.

    :param first: The first day that the date may mean.
    :param last: The last day that the date may mean.
    :param begin: The index of the first character of the date in the text.
    :param end: The index behind the last character of the date in the text.
    :param is_number: Whether the date is four digits alone. These may be something else than a year.
    :param is_foreign: Whether the name of the month is French, Spanish, Italian or Dutch, and neither English nor
        German.
    """

    first: date
    last: date
    begin: int
    end: int
    is_number: bool = False
    is_foreign: bool = False


def find_dates(text: str) -> list[WrittenDate]:
    """Find the dates in a text, which may be in English, in German or in digits.

    Dates with a day are also read in French, Spanish, Italian and Dutch. Days that no calendar has, such as 31 February
    1950, are left out.

    For example, in ``"It opened in March 1950."``, the function finds one date. Its ``first`` day is 1 March 1950, and
    its ``last`` day is 31 March 1950. Its ``begin`` is 13, and its ``end`` is 23.

    :param text: The text.
    :returns: The dates in the order of the text.
    """
    dates = []
    for match in _DATE.finditer(text):
        numbers = [int(digits) for digits in re.findall(r"\d+", match.group())]
        if not match["iso"]:
            # The year comes last, as in "20.5.1890".
            numbers.reverse()
        # The list `month_and_day` gets the month and the day in this order. The text may lack one of them, or both.
        year, *month_and_day = numbers
        name = match["month"] or match["more"]
        if name:
            month_and_day.insert(0, _month_number(name))

        try:
            first, last = _days(year, *month_and_day)
        except ValueError:
            continue
        is_number, is_foreign = match["number"] is not None, match["more"] is not None
        dates.append(
            WrittenDate(first, last, begin=match.start(), end=match.end(), is_number=is_number, is_foreign=is_foreign)
        )
    return dates


def _month_number(name: str) -> int:
    """Return the number of a month, from 1 to 12. For example, ``_month_number("Oktober")`` returns ``10``."""
    forms = zip(_MONTHS, _MORE_MONTHS, strict=True)
    numbers = (n for n, form in enumerate(forms, start=1) if re.fullmatch("|".join(form), name, re.IGNORECASE))
    return next(numbers)


def _days(year: int, month: int | None = None, day: int | None = None) -> tuple[date, date]:
    """Return the first and the last day that a date may mean.

    For example, ``_days(1950, 2)`` returns ``(date(1950, 2, 1), date(1950, 2, 28))``.

    :param year: The year.
    :param month: The month, or None if the date has only a year.
    :param day: The day of the month, or None if the date has no day.
    :returns: The first and the last day. They are equal if the day is given.
    :raises ValueError: When no calendar has this date.
    """
    if day is not None:
        single_day = date(year, month or 1, day)
        return single_day, single_day

    last_month = month or 12
    _, last_day = monthrange(year, last_month)
    return date(year, month or 1, 1), date(year, last_month, last_day)
