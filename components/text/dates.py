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
# Dates with slashes are not read, because 3/4/2026 may mean 3 April or 4 March.
_DATE = re.compile(
    rf"(?<![\w/.,$€£])(?:(?P<iso>{_YEAR}-\d\d-\d\d)(?!\d)|\d{{1,2}}\. ?\d{{1,2}}\. ?{_YEAR}(?!\d)"
    rf"|(?:{_DAY}\.?\s(?:of\s)?(?=[a-zä]+\.?,?\s{_YEAR}))?(?P<month>{_NAME})\b\.?,?\s(?:{_DAY},?\s)?{_YEAR}\b"
    rf"|(?P<number>{_YEAR})(?![\w%°]|[.,:/]\d|-\D))",
    re.IGNORECASE,
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
        year, *rest = numbers if match["iso"] else reversed(numbers)
        name = match["month"]
        if name:
            rest.insert(0, next(n for n, form in enumerate(_MONTHS, 1) if re.fullmatch(form, name, re.IGNORECASE)))
        try:
            first = date(year, *(*rest, 1, 1)[:2])
            # The last day of the month, or of the year.
            month = rest[0] if rest else 12
            last = first if len(rest) > 1 else date(year, month, monthrange(year, month)[1])
        except ValueError:
            continue
        dates.append(WrittenDate(first, last, *match.span(), match["number"] is not None))
    return dates
