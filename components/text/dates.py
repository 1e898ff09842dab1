"""The dates in a text, each as the days that it may mean."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date

# The names of the months in English and in German.
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
_NAME = "|".join(_MONTHS)
_YEAR = r"(?:1\d{3}|20\d\d)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
# The four forms are "2026-03-04", "4. 3. 2026", "4 March 2026" or "March 4, 2026" with a month's name, whose day may be
# absent, and a year alone, "2026". Dates with slashes are not read, because 3/4/2026 may mean 3 April or 4 March.
_DATE = re.compile(
    rf"""
    (?<! [\w/.,$€£] )
    (?: (?P<iso> {_YEAR}-\d\d-\d\d ) (?!\d)
      | \d{{1,2}} \. [ ]? \d{{1,2}} \. [ ]? {_YEAR} (?!\d)
      | (?: {_DAY} \.? \s (?: of\s )? (?= [a-zä]+ \.? ,? \s {_YEAR} ) )?
        (?P<month> {_NAME} ) \b \.? ,? \s (?: {_DAY} ,? \s )? {_YEAR} \b
      | (?P<number> {_YEAR} ) (?! [\w%°] | [.,:/]\d | -\D )
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class WrittenDate:
    """A date as it stands in a text. "March 1950" may mean any day of this month, and "1950" any day of this year."""

    first: date
    last: date
    begin: int  # the index of its first character in the text
    end: int
    is_number: bool = False  # four digits alone, which may be something else than a year


def find_dates(text: str) -> list[WrittenDate]:
    """Find the dates of a text, in English, in German or in digits. Days that no calendar has are left out."""
    dates = []
    for match in _DATE.finditer(text):
        numbers = [int(digits) for digits in re.findall(r"\d+", match[0])]
        # The month and the day, as far as the text has them.
        year, *month_and_day = numbers if match["iso"] else reversed(numbers)
        if match["month"]:
            month_and_day.insert(0, _month_number(match["month"]))
        try:
            first, last = _days(year, *month_and_day)
        except ValueError:
            continue
        begin, end = match.span()
        dates.append(WrittenDate(first, last, begin, end, match["number"] is not None))
    return dates


def _month_number(name: str) -> int:
    return next(number for number, form in enumerate(_MONTHS, start=1) if re.fullmatch(form, name, re.IGNORECASE))


def _days(year: int, month: int | None = None, day: int | None = None) -> tuple[date, date]:
    """Return the first and the last day that a date may mean; raises ValueError if no calendar has it."""
    if day is not None:
        only = date(year, month or 1, day)
        return only, only
    last_month = month or 12
    _, last_day = monthrange(year, last_month)
    return date(year, month or 1, 1), date(year, last_month, last_day)
