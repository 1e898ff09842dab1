"""Find the date when a document was written.

The file converter calls :func:`find_date` for each file. A date in a text may be about anything, such as a deadline. So
only a date in certain places counts: in the front matter, alone in one of the first lines, in the title, or in the file
name. English and German words are known, and some French, Spanish, Italian and Dutch words for minutes.
"""

import re
from collections.abc import Mapping
from datetime import date

from prefrag.components.text.dates import ENGLISH_MONTHS, WrittenDate, find_dates
from prefrag.components.text.sentences import ends_with_stop

# The pattern of a day of the week with the blank behind it, long or short: "Monday, ", "Tue ", "Dienstag, den " and
# "Di., ".
_WEEKDAY = (
    r"(?:(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|mittwoch"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag|(?:mo|di|mi|do|fr|sa|so)(?=\.)),?\.?,?\s(?:(?:the|de[rmn])\s)?)"
)
# The patterns of words for a change of a document, and for the state in which a date finds it.
_CHANGED = r"(?:updated|aktualisiert|modified|changed|amended|ge\u00e4ndert|revised)"
_STATE = rf"(?:stand|as\s(?:of|at)|(?:last|zuletzt)\s{_CHANGED}|as\s(?:last\s)?{_CHANGED})"
# The pattern of words for the making of a document.
_MADE = r"(?:issued|published|ver\u00f6ffentlicht|written|posted|printed|gedruckt|sent|gesendet|created|erstellt)"
# The pattern of a season, as in "Edition of spring 2026".
_SEASON = r"(?:spring|summer|autumn|fall|winter|fr\u00fchjahr|fr\u00fchling|sommer|herbst)"
# The pattern of a number of a version, such as "edition 3".
_NUMBERED = r"(?:version|edition|revision|rev\.|fassung|ausgabe)"
# The pattern of the names of minutes, and of the words between them and their date. The Italian "verbale" is also a
# German adjective, so that the Italian "del" must follow.
_MINUTES = r"(?:minutes|protokoll|proc[e\u00e8]s-verbal|compte[\s-]rendu|acta|verbale(?=\s(?:[^,:]*\s)?del\s)|notulen)"
_OF_MINUTES = r"(?:on|of|am|vom|du|del|van)"
# The pattern of the kinds of documents that are often named by their date, as in "Circular of 3 May 2026".
_WRITING = (
    rf"(?:{_MINUTES}|report|bericht|memo(?:randum)?|notes|notice|circular|letter|newsletter|rules|statutes"
    r"|rundschreiben|mitteilung|satzung)"
)
# Matches the words that may stand between the beginning of a line and the date of the document. A date behind other
# words, as in "Valid until 3 May 2026", is about something else. Two kinds of words may follow each other:
# - group `label`: a word about the date or the document, as in "Last updated 3 May 2026" or "Published on 3 May 2026",
#   or that a body has agreed to it, as in "Approved by the board on 3 May 2026",
# - the place where a letter was written ("Berlin, "), the day of the week ("Monday, "), or what the document is
#   ("Minutes of the board, ").
_DATED = re.compile(
    r"(?P<label>(?:(?:last|zuletzt|date|datum|print|issue)\s)?(?:date|datum|dated|stand|as\s(?:of|at)|version|edition"
    rf"|ausgabe|fassung|{_MADE}|{_CHANGED}|revision|{_MINUTES}|report|bericht)"
    rf"(?:\s{_OF_MINUTES})?[:,.]?\s"
    # A line of running text may begin with "approved by", but not with a capital.
    r"|(?-i:Approved|Adopted|Agreed|Ratified|Signed|Beschlossen|Genehmigt|Verabschiedet|Angenommen)"
    r"\s(?:by|von|durch)\s[^.,:;()]{2,50}\s(?:on|am)\s)?"
    # The place where a letter was written, the day of the week, or what the document is.
    r"(?:(?:(?-i:[A-Z\u00c4\u00d6\u00dc])[\w'-]+\s?){1,3},\s(?:(?:den|le)\s)?"
    rf"|{_WEEKDAY}|the\s|(?:minutes|protokoll|report|bericht)\b[^,]*,\s)?",
    re.IGNORECASE,
)
# Matches the words before a month or a year that is the date of the document: "Stand: Mai 2026", "Last updated June
# 2026", "Edition 2026", and the place where a letter was written, as in "Kiel, im Mai 2026". A season may stand before
# the year.
_ROUGHLY_DATED = re.compile(
    rf"(?:{_STATE}|{_CHANGED}|edition|ausgabe|fassung)(?:\s(?:of|vom|in|im))?:?\s(?:{_SEASON}\s)?"
    r"|(?-i:[A-Z\u00c4\u00d6\u00dc])[\w'-]+,\sim\s",
    re.IGNORECASE,
)
# Matches a month in digits behind a word for the state of the document, as in "Stand: 03/2026". Elsewhere, such digits
# may be the number of something, as in "Decision 03/2026". "Stand 4/2026" may be the number of a stand at a fair.
_MONTH_IN_DIGITS = re.compile(
    rf"(?P<before>(?:^|[,(\[]\s?|\s[-\u2013\u2014]\s)(?!stand\s\d[./])(?:{_STATE}|{_CHANGED}):?\s)"
    r"(?P<month>0?[1-9]|1[0-2])[./](?P<year>(?:19|20)\d\d)(?![\w./])",
    re.IGNORECASE,
)
# Matches the end of a line with a season, or with a month in digits. A day in another line is a better date.
_VAGUE_END = re.compile(rf"(?<!\.)\s(?:{_SEASON}\s|\d{{1,2}}[./])\d{{4}}\.?$", re.IGNORECASE)
# Matches what may stand behind the date in a line with a label: a time, as in mails ("10:02:11 +0100"), and the writer,
# as in "Posted: 3 May 2026 by Ada".
_BEHIND_LABEL = re.compile(
    r"(?:,?\s\d{1,2}:\d\d(?::\d\d)?(?:\s?(?:uhr|[ap]m|gmt|utc|[+-]\d{4}|\([a-z]+\)))*)?(?:\s(?:by|von)\s[^.,:;]{2,40})?",
    re.IGNORECASE,
)
# Matches a time without a second behind a date. Behind "Date:", it belongs to an event: "Date: 3 May 2026, 19:30".
_TIME_OF_EVENT = re.compile(r",?\s\d{1,2}:\d\d(?:\s?uhr)?\W*", re.IGNORECASE)
_PLAIN_LABEL = re.compile(r"(?:date|datum)\W*", re.IGNORECASE)
# Matches what stands before the date of the document in a title. There is one line of the pattern for each kind:
# - the beginning of the title, a comma, a bracket or a dash: "Will of Ada, 3 May 2026"
# - the making of the document: "Newsletter 14, printed 3 May 2026"
# - a number of the document: "Protocol no. 17 of 3 May 2026"
# - words about the document: "Rules (as of 3 May 2026)", "Version of 3 May 2026", "Statutes as amended on 3 May 2026"
# - the kind of the document, which begins the title: "Circular of 3 May 2026", "Minutes of the meeting on 3 May 2026"
# - a meeting, or the kind of the document, without a preposition: "Team meeting 2026-05-03"
# Does not match in "The meeting of 3 May 2026" and "Copy of a letter of 3 May 2026".
_BEFORE = re.compile(
    rf"""
    (?: ^ | ,\s | [(\[] | \s[-\u2013\u2014]\s
      | [,(\[]\s? {_MADE} \s (?:(?:on|am)\s)?
      | \d\s(?:of|vom)\s
      | \b (?: {_STATE} (?:\s(?:on|am))? | dated | print\sdate | {_NUMBERED} (?:\s(?:of|vom))? ) [:,]?\s (?:den\s)?
      | ^ (?: {_WRITING} \s(?:of|vom|dated|du|del|van) | {_MINUTES}\s[^,:]*\s{_OF_MINUTES} ) \s
      | ^ (?: (?! (?:after|before|for|nach|of|the|to|vor|zur) \b ) [\w-]+\s ){{0,3}}
        (?: meeting | sitzung | {_WRITING} ) ,? \s {_WEEKDAY}?
    ) $
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Matches words before a date that is the date of the document, whatever other dates the title has: "Rules of 3 May
# 2020, last changed on ".
_LAST_CHANGED = re.compile(rf"\b(?:last|zuletzt)\s{_CHANGED}(?:\s(?:on|am))?:?\s$", re.IGNORECASE)
# Matches words about the document before a date. With them, a title may begin with a lower-case letter.
_LABELLED = re.compile(rf"\b{_STATE}:?\s$", re.IGNORECASE)
# Matches the words before a month at the end of a title, as in "Handbook, revision 4 (May 2026)", "Newsletter 12 (May
# 2026)" and "Rules (as of May 2026)".
_BEFORE_MONTH = re.compile(
    rf"\b{_NUMBERED}\s[\w.]{{1,6}},?\s\($|\b(?:{_WRITING}|issue)\s(?:n[or]\.?\s)?\d[\w.]{{0,5}},?\s\($|\b{_STATE}:?\s$",
    re.IGNORECASE,
)
# Matches the words before the date at which a document came into force, behind its name: "Price list valid from ". Does
# not match in a sentence, as in "The prices are valid from ", nor without a name, because a line below it may be about
# one of several things. Group 1 is the name. It has no word of these kinds:
# - a verb or a negation: "The prices are", "Fares no longer"
# - an end: "Contract ended, effective from", "Contract terminated, effective from"
# - a preposition before another document that is in force: "Comments on the act in force since". With a comma, as in
#   "Rules on the use of boats, valid from", the whole is in force.
_IN_FORCE = re.compile(
    r"((?:(?!(?:is|are|was|were|be|been|not|ist|sind|war|waren|wird|werden|nicht)\b"
    r"|(?:no\s(?!\d)|mehr\s(?:in\b|g\u00fcltig)|(?:never|nie|niemals|ended)\b)"
    rf"|(?!{_CHANGED}|{_MADE})(?-i:[a-z]+ed),\seffective\b"
    r"|(?:(?:on|to)\sthe|zum)\b[^,(]*$)[^\s.;!?]+\s){1,6})\(?"
    r"(?:valid|effective|applicable|in\s(?:force|kraft)|g\u00fcltig)\s(?:from|as\s(?:of|from)|since|ab|seit)(?:\sdem)?\s",
    re.IGNORECASE,
)
# Matches what stands behind the date of the document in a title: the end, a comma, a bracket or a dash.
_BEHIND = re.compile(r"$|[,)\]]|\s[-\u2013\u2014]\s")
# Matches what else may stand behind a date with which a title begins: a colon, or a time as machines write it, such as
# "T09:30".
_BEHIND_FIRST = re.compile(r":\s|T\d\d:\d\d")
# Matches the end of the words before the date in "Circular of 3 May 2026 on expenses".
_OF = re.compile(rf"(?:^{_WRITING}|\d)\s(?:of|vom)\s$", re.IGNORECASE)
# Matches what else may stand behind the date in "Circular of 3 May 2026 on expenses".
_ABOUT = re.compile(r"\s(?:on|about|for|to|zu[mr]?|\u00fcber|f\u00fcr|an)\s")
# Matches a word such as "until", "deadline" or "birth". A title with such a word may have the date of another event.
_ANOTHER_DAY = re.compile(
    r"\b(?:next|n\u00e4chst\w+|until|till|bis|due|deadline|valid|g\u00fcltig|expir\w+|born|birth|geboren|your|ihre?)\b",
    re.IGNORECASE,
)
# The patterns of a year from 1900 to 2099, of a month, and of a day. Examples are "2026", "03" and "04".
_YEAR, _MONTH, _DAY = r"(?P<y>(?:19|20)\d\d)", r"(?P<m>\d\d)", r"(?P<d>\d\d)"
# The pattern of a day above 12, which cannot be a month. Without it, 03-04-2026 may mean 3 April or 4 March.
_SURELY_DAY = r"(?P<d>1[3-9]|[23]\d)"
# The forms of a date in a file name. The first form that matches is used.
_IN_FILE_NAMES = (
    # "2026-03-04" or "20260304"
    re.compile(rf"(?<!\d){_YEAR}(?P<s>[-_.]?){_MONTH}(?P=s){_DAY}(?!\d)"),
    # "04.03.2026", which is 4 March
    re.compile(rf"(?<!\d){_DAY}\.{_MONTH}\.{_YEAR}(?!\d)"),
    # "13-04-2026"
    re.compile(rf"(?<!\d){_SURELY_DAY}[-_]{_MONTH}[-_]{_YEAR}(?!\d)"),
    # "04-13-2026"
    re.compile(rf"(?<!\d){_MONTH}[-_]{_SURELY_DAY}[-_]{_YEAR}(?!\d)"),
    # "2026-03", without a day
    re.compile(rf"(?<!\d){_YEAR}[-_]{_MONTH}(?![-_.]?\d|\s\d{{3}})"),
)
# Matches a year in a file name such as "report 2024". Does not match beside other digits, as in "2010-11", because such
# a year may be a part of a span of years or of a number.
_YEAR_IN_NAME = re.compile(rf"(?<![^\W_])(?<!\d[-_.]){_YEAR}(?![^\W_]|[-_.]\d)")
# Matches a word before the year that makes it the year of an event, as in "flood of 1995".
_EVENT_BEFORE = re.compile(
    r"(?<![^\W_])(?:of|in|from|since|von|im|aus|seit|de|du|en|depuis)(?:[\W_]+the)?[\W_]+$", re.IGNORECASE
)
# Matches the words that still make it the year of the document, as in "minutes of 1995".
_WRITING_BEFORE = re.compile(
    r"(?:version|edition|ausgabe|fassung|minutes|protokoll|report|bericht|proc\u00e8s-verbal|rapport)[\W_]+\w+[\W_]+$",
    re.IGNORECASE,
)
# An earlier date is not the date of a document.
_EARLIEST = date(1900, 1, 1)
# The signs that may stand around a heading.
_AROUND = "#*_= \t"
# The date is looked for in this many lines at the beginning of a document.
_FIRST_LINES = 12
# A line with more characters than this does not state the date.
_LONGEST = 80
# A title with more characters than this does not state the date.
_LONGEST_TITLE = 120
# The two values of the metadata field `date_in`, which says where the date was found.
IN_DOCUMENT, IN_NAME = "document", "name"


def find_date(meta: Mapping[str, object], text: str, name: str, title: str = "") -> dict[str, str]:
    """Find the date when a document was written. Look first in the document, and then in its file name.

    For example, ``find_date({}, "", "2026-03 budget")`` returns ``{"date": "2026-03", "date_in": "name"}``.

    :param meta: The front matter of the document. Its field `date` is used.
    :param text: The text of the document, or its beginning.
    :param name: The file name.
    :param title: The title of the document.
    :returns: The metadata fields `date` and `date_in`. `date` is written as 2026-03-04. It may have no day (2026-03) or
        no month (2026). `date_in` is "document" or "name". The dictionary is empty if no date is found.
    """
    beginning = text[: _FIRST_LINES * _LONGEST]
    lines = beginning.splitlines()[:_FIRST_LINES]
    stated = " ".join(str(meta.get("date") or "").split())
    # The front matter may have a time, as in 2026-03-04T12:00:00Z. The first ten characters are the day.
    stated_day = stated[:10]
    vague_date = ""
    for line in (stated, stated_day, *(line.strip() for line in lines if not _is_foreign_date(line))):
        document_date = _read_line(line) if len(line) <= _LONGEST else ""
        if document_date and _VAGUE_END.search(line):
            vague_date = vague_date or document_date
        elif document_date:
            return {"date": document_date, "date_in": IN_DOCUMENT}
    if vague_date:
        return {"date": vague_date, "date_in": IN_DOCUMENT}

    first_line = next(filter(str.strip, lines), "")
    # Several lines that begin with a date are a list of events.
    is_list = sum(map(_begins_with_date, lines)) > 1
    for line in (title, first_line):
        document_date = _read_title(line.strip(_AROUND), is_list=is_list)
        if document_date:
            return {"date": document_date, "date_in": IN_DOCUMENT}

    date_in_name = _read_name(name)
    return {"date": date_in_name, "date_in": IN_NAME} if date_in_name else {}


def _read_name(name: str) -> str:
    """Return the date in a file name, such as "2026-03" for "2026-03 budget"; "" without a date."""
    for pattern in _IN_FILE_NAMES:
        for match in pattern.finditer(name):
            document_date = _to_iso(match)
            if document_date:
                return document_date

    # A year alone counts only if the file name has a single year.
    years = list(_YEAR_IN_NAME.finditer(name))
    if len(years) != 1:
        return ""
    [year] = years
    is_in_future = int(year["y"]) > date.today().year
    if is_in_future or _is_of_event(name[: year.start()]):
        return ""
    return year["y"]


def _is_of_event(before: str) -> bool:
    """Check by the words before a year whether it is the year of an event, as in "flood of 1995"."""
    return _EVENT_BEFORE.search(before) is not None and _WRITING_BEFORE.search(before) is None


def _is_foreign_date(line: str) -> bool:
    """Check whether a line is a date in French, Spanish, Italian or Dutch, without other words.

    The line above may say what this date is about, and its words are not known, as in "Date limite".
    """
    dates = find_dates(line)
    return bool(dates) and dates[0].is_foreign and line.strip().rstrip(".") == line[dates[0].begin : dates[0].end]


def _read_line(line: str) -> str:
    """Return the date in a line that has nothing else, except words such as "Last updated"; "" without a date.

    For example, "Berlin, 3 May 2026" gives "2026-05-03", and "Stand: May 2026" gives "2026-05". A date in the future or
    before 1900 does not count.
    """
    line = _write_out_month(line)
    dates = find_dates(line)
    if not dates or not _may_be_of_document(dates[0]):
        return ""
    written = dates[0]
    behind = line[written.end :]
    ends_line = behind in ("", ".")
    if written.first != written.last:
        is_alone = ends_line and _ROUGHLY_DATED.fullmatch(line, 0, written.begin) is not None
        return _write_date(written) if is_alone else ""

    dated = _DATED.fullmatch(line, 0, written.begin)
    if dated and dated["label"] and _PLAIN_LABEL.fullmatch(dated["label"]) and _TIME_OF_EVENT.fullmatch(behind):
        return ""
    if dated and (ends_line or (dated["label"] and _BEHIND_LABEL.fullmatch(behind))):
        return _write_date(written)
    return ""


def _write_out_month(line: str) -> str:
    """Write a month in digits with its name. For example, "Stand: 03/2026" becomes "Stand: March 2026"."""

    def month_name(match: re.Match[str]) -> str:
        """Return what a match of `_MONTH_IN_DIGITS` becomes."""
        return f"{match['before']}{ENGLISH_MONTHS[int(match['month']) - 1]} {match['year']}"

    return _MONTH_IN_DIGITS.sub(month_name, line)


def _may_be_of_document(written: WrittenDate) -> bool:
    """Check that a date is not before 1900 and not in the future."""
    return _EARLIEST <= written.first <= date.today()


def _write_date(written: WrittenDate) -> str:
    """Return a date as in 2026-03-04, or without the parts that it lacks, as in 2026-03 or 2026."""
    if written.first == written.last:
        return written.first.isoformat()
    return f"{written.first:%Y}" if written.is_number else f"{written.first:%Y-%m}"


def _begins_with_date(line: str) -> bool:
    """Check whether a line begins with a date that is more than a year."""
    dates = find_dates(line.strip(_AROUND))
    return bool(dates) and dates[0].begin == 0 and not dates[0].is_number


def _read_title(line: str, *, is_list: bool) -> str:
    """Return the date in a title, such as "2026-05-03" for "Rules (as of 3 May 2026)"; "" without a date.

    A title with several dates, or a title that is a sentence, gives "". But "last changed 3 May 2026" at the end of a
    title decides, whatever other dates it has.

    :param line: The title.
    :param is_list: Whether several lines begin with a date. In "3 May 1990: It opened", this is the date of an event.
    """
    if len(line) > _LONGEST_TITLE or ends_with_stop(line):
        return ""
    line = _write_out_month(line)
    dates = find_dates(line)
    if not dates:
        return ""

    last = dates[-1]
    ends_title = line[last.end :] in ("", ")")
    before_last = line[: last.begin]
    in_force = None if last.is_number else _IN_FORCE.fullmatch(before_last)
    if _ANOTHER_DAY.search(in_force[1] if in_force else line):
        return ""
    is_rough = last.first != last.last and not last.is_number
    decides = in_force or (_BEFORE_MONTH.search(before_last) if is_rough else _LAST_CHANGED.search(before_last))
    if ends_title and decides and _may_be_of_document(last):
        return _write_date(last)

    days = [span for span in dates if span.first == span.last]
    if len(days) != 1 or not _may_be_of_document(days[0]):
        return ""
    [written] = days
    before, behind = line[: written.begin], line[written.end :]
    if line[:1].islower() and not _LABELLED.search(before):
        return ""
    if not before:
        is_apart = _BEHIND.match(behind) or (not is_list and _BEHIND_FIRST.match(behind))
    else:
        is_apart = _BEFORE.search(before) and (_BEHIND.match(behind) or (_OF.search(before) and _ABOUT.match(behind)))
    return _write_date(written) if is_apart else ""


def _to_iso(match: re.Match[str]) -> str:
    """Return the date that one of `_IN_FILE_NAMES` matched, as in 2026-03-04 or 2026-03.

    Return "" if there is no such day, or if it is in the future.
    """
    digits = match.groupdict()
    year, month = int(digits["y"]), int(digits["m"])
    # The last form has no day. The value 0 stands for it.
    day = int(digits.get("d") or 0)
    try:
        written_day = date(year, month, day or 1)
    except ValueError:
        return ""
    # "Budget 2010-11" may be the budget of November 2010, or of the years 2010 and 2011.
    following_year = year % 100 + 1
    may_be_span = not day and month == following_year
    if may_be_span or written_day > date.today():
        return ""
    return f"{written_day:%Y-%m-%d}" if day else f"{written_day:%Y-%m}"
