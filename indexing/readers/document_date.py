"""Find the date of a document: the date that it states, or else the date in its file name."""

import re
from collections.abc import Mapping
from datetime import date

from prefrag.components.text.dates import find_dates
from prefrag.components.text.sentences import ends_with_stop

# The words that may stand between the beginning of a line and the date of the document. A date after other words, as in
# "Valid until 3 May 2026", is about something else.
_DATED = re.compile(
    r"(?:(?:(?:last|zuletzt|date|datum)\s)?(?:date|datum|dated|stand|as\s(?:of|at)|version|edition|ausgabe|fassung|issued"
    r"|published|ver\u00f6ffentlicht|written|posted|created|erstellt|updated|aktualisiert|modified|changed|ge\u00e4ndert"
    r"|revised|revision|minutes|protokoll|report|bericht)(?:\s(?:on|of|am|vom))?[:,.]?\s)?"
    # The place where a letter was written, the day of the week, or what the document is.
    r"(?:(?:(?-i:[A-Z\u00c4\u00d6\u00dc])[\w'-]+\s?){1,3},\s(?:den\s)?|(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mittwoch"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag),?\s|(?:minutes|protokoll|report|bericht)\b[^,]*,\s)?",
    re.IGNORECASE,
)
# What stands before and behind the date in a title, as in "Will of Ada, 3 May 2026" or "Rules (as of 3 May 2026)".
_BEFORE = re.compile(
    r"(?:^|,\s|[(\[]|\s[-\u2013\u2014]\s|\d\s(?:of|vom)\s|\b(?:as\s(?:of|at)|dated|stand"
    r"|(?:version|edition|revision|fassung|ausgabe)(?:\s(?:of|vom))?)[:,]?\s(?:den\s)?)$",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"$|[,)\]]|\s[-\u2013\u2014]\s")
# In a title that has one of these words, the date may be another day than that of the document.
_ANOTHER_DAY = re.compile(
    r"\b(?:next|n\u00e4chst\w+|until|till|bis|due|deadline|valid|g\u00fcltig|expir\w+|born|birth|geboren|your|ihre?)\b",
    re.IGNORECASE,
)
_YEAR, _MONTH, _DAY = r"(?P<y>(?:19|20)\d\d)", r"(?P<m>\d\d)", r"(?P<d>\d\d)"
# Above 12, it can only be a day: 03-04-2026 may mean 3 April or 4 March.
_SURELY_DAY = r"(?P<d>1[3-9]|[23]\d)"
_IN_FILE_NAMES = (
    re.compile(rf"(?<!\d){_YEAR}(?P<s>[-_.]?){_MONTH}(?P=s){_DAY}(?!\d)"),
    re.compile(rf"(?<!\d){_DAY}\.{_MONTH}\.{_YEAR}(?!\d)"),
    re.compile(rf"(?<!\d){_SURELY_DAY}[-_]{_MONTH}[-_]{_YEAR}(?!\d)"),
    re.compile(rf"(?<!\d){_MONTH}[-_]{_SURELY_DAY}[-_]{_YEAR}(?!\d)"),
    re.compile(rf"(?<!\d){_YEAR}[-_]{_MONTH}(?![-_.]?\d|\s\d{{3}})"),
)
# A year alone in a file name. Beside other digits, as in "2010-11", it may be a part of a span or of a number.
_YEAR_IN_NAME = re.compile(rf"(?<![^\W_])(?<!\d[-_.]){_YEAR}(?![^\W_]|[-_.]\d)")
# Such a year is that of an event, as in "flood of 1995", unless it is that of the report or of the minutes.
_EVENT_BEFORE = re.compile(
    r"(?<![^\W_])(?:of|in|from|since|von|im|aus|seit|de|du|en|depuis)(?:[\W_]+the)?[\W_]+$", re.IGNORECASE
)
_WRITING_BEFORE = re.compile(
    r"(?:version|edition|ausgabe|fassung|minutes|protokoll|report|bericht|proc\u00e8s-verbal|rapport)[\W_]+\w+[\W_]+$",
    re.IGNORECASE,
)
_EARLIEST = date(1900, 1, 1)
# The date is looked for in so many lines at the beginning of a document, of so many characters each.
_FIRST_LINES = 12
_LONGEST = 80
_LONGEST_TITLE = 120
IN_DOCUMENT, IN_NAME = "document", "name"


def find_date(meta: Mapping[str, object], text: str, name: str, title: str = "") -> dict[str, str]:
    """Find the date when a document was written. Look first in the document, and then in its file name.

    Returns `date`, such as 2026-03-04, and `date_in`, which says where the date was found: `document` or `name`. The
    date in a file name may have no day, as in 2026-03, or no month. Returns an empty dictionary if no date is found.
    """
    stated = " ".join(str(meta.get("date") or "").split())
    lines = text[: _FIRST_LINES * _LONGEST].splitlines()[:_FIRST_LINES]
    # The first ten characters of a stated date are the day, as in 2026-03-04T12:00:00Z.
    for line in (stated, stated[:10], *map(str.strip, lines)):
        document_date = _read_line(line) if len(line) <= _LONGEST else ""
        if document_date:
            return {"date": document_date, "date_in": IN_DOCUMENT}
    first_line = next(filter(str.strip, lines), "")
    for line in (title, first_line):
        document_date = _read_title(line.strip("#*_= \t"))
        if document_date:
            return {"date": document_date, "date_in": IN_DOCUMENT}
    for pattern in _IN_FILE_NAMES:
        for match in pattern.finditer(name):
            document_date = _to_iso(match)
            if document_date:
                return {"date": document_date, "date_in": IN_NAME}
    years = list(_YEAR_IN_NAME.finditer(name))
    if len(years) != 1:
        return {}
    [year] = years
    if int(year["y"]) > date.today().year or _is_of_event(name[: year.start()]):
        return {}
    return {"date": year["y"], "date_in": IN_NAME}


def _is_of_event(before: str) -> bool:
    return _EVENT_BEFORE.search(before) is not None and _WRITING_BEFORE.search(before) is None


def _read_line(line: str) -> str:
    """Read the date in a line that has nothing else, except words such as "Last updated". Returns "" without one."""
    for written in find_dates(line)[:1]:
        is_alone = _DATED.fullmatch(line, 0, written.begin) and line[written.end :] in ("", ".")
        if is_alone and written.first == written.last and _EARLIEST <= written.first <= date.today():
            return written.first.isoformat()
    return ""


def _read_title(line: str) -> str:
    """Read the date in a title. A line with several dates, or that is a sentence, is not read."""
    if len(line) > _LONGEST_TITLE or ends_with_stop(line):
        return ""
    if line[:1].islower() or _ANOTHER_DAY.search(line):
        return ""
    days = [span for span in find_dates(line) if span.first == span.last]
    if len(days) != 1:
        return ""
    [written] = days
    if not _EARLIEST <= written.first <= date.today():
        return ""
    is_apart = _BEFORE.search(line[: written.begin]) and _BEHIND.match(line[written.end :])
    return written.first.isoformat() if is_apart else ""


def _to_iso(match: re.Match[str]) -> str:
    """Return the date of a file name, as in 2026-03-04 or 2026-03. Returns "" if it is none, or in the future."""
    year, month, day = (int(match.groupdict().get(part) or 0) for part in "ymd")
    try:
        written_day = date(year, month, day or 1)
    except ValueError:
        return ""
    # "Budget 2010-11" may be of November 2010, or of the years 2010 and 2011.
    may_be_span = not day and month == year % 100 + 1
    if may_be_span or written_day > date.today():
        return ""
    return f"{written_day:%Y-%m-%d}" if day else f"{written_day:%Y-%m}"
