"""Find the date of a document: the date that it states, or else the date in its file name."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS)
_YEAR = r"(?P<y>(?:19|20)\d\d)"
# Dates with slashes are not read, because 3/4/2026 may mean 3 April or 4 March.
_WRITTEN = (
    rf"{_YEAR}-(?P<m>\d\d)-(?P<d>\d\d)",
    rf"(?P<d>\d{{1,2}})\. ?(?P<m>\d{{1,2}})\. ?{_YEAR}",
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.? (?P<n>{_MONTH})\.?,? {_YEAR}",
    rf"(?P<n>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}",
)
# Match a line that holds only a date and up to three words before it, such as "Stand:", "Cork," or "Last updated on".
_LINES = tuple(re.compile(rf"(?:[^\W\d]+[:,.]? ){{0,3}}{each}\.?", re.IGNORECASE) for each in _WRITTEN)
_IN_FILE_NAMES = (
    re.compile(rf"(?<!\d){_YEAR}(?P<s>[-_.]?)(?P<m>\d\d)(?P=s)(?P<d>\d\d)(?!\d)"),
    re.compile(rf"(?<!\d)(?P<d>\d\d)[-_.](?P<m>\d\d)[-_.]{_YEAR}(?!\d)"),
    re.compile(rf"(?<!\d){_YEAR}[-_](?P<m>\d\d)(?!\d)"),
)
_FIRST_LINES, _LONGEST = 12, 80
IN_DOCUMENT, IN_NAME = "document", "name"


def find_date(meta: Mapping[str, Any], text: str, name: str) -> dict[str, str]:
    """Find the date when a document was written. Look first in the document, and then in its file name.

    Returns `date`, such as 2026-03-04, and `date_in`, which says where the date was found: `document` or `name`. The
    date in a file name may have no day, as in 2026-03. Returns an empty dictionary if no date is found.
    """
    stated = " ".join(str(meta.get("date") or "").split())
    if found := _parse(_LINES, stated[:_LONGEST]) or _parse(_LINES, stated[:10]):
        return {"date": found, "date_in": IN_DOCUMENT}
    for line in text[: _FIRST_LINES * _LONGEST].splitlines()[:_FIRST_LINES]:
        if len(line) <= _LONGEST and (found := _parse(_LINES, line.strip())):
            return {"date": found, "date_in": IN_DOCUMENT}
    for pattern in _IN_FILE_NAMES:
        for match in pattern.finditer(name):
            if found := _to_iso(match):
                return {"date": found, "date_in": IN_NAME}
    return {}


def _parse(patterns: tuple[re.Pattern[str], ...], text: str) -> str:
    return next((found for each in patterns if (match := each.fullmatch(text)) and (found := _to_iso(match))), "")


def _to_iso(match: re.Match[str]) -> str:
    parts = match.groupdict()
    name = parts.get("n")
    month = _MONTHS.index(next(each for each in _MONTHS if each.startswith(name.lower()[:3]))) + 1 if name else 0
    try:
        found = date(int(parts["y"]), month or int(parts["m"]), int(parts.get("d") or 1)).isoformat()
    except ValueError:
        return ""
    return found if parts.get("d") else found[:7]
