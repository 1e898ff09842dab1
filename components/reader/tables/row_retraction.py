"""Find out whether a table takes back what its cell says.

A cell may be taken back by another cell of its row ("cancelled"), by the name of its column ("Former phone") or by a
title above the table ("Dates not confirmed"). The words for this are a closed list. A negation counts only in a column
of remarks.
"""

import re
from datetime import date
from functools import lru_cache

from prefrag.components.reader.doubts.doubtful_statement import find_doubt
from prefrag.components.reader.doubts.statement import WITHDRAWN
from prefrag.components.reader.tables.amounts import column_cells
from prefrag.components.reader.tables.row_fit import Fit
from prefrag.components.reader.tables.table_words import words_of

# What takes a row back in any column. It matches "cancelled" and "called off".
_WITHDRAWN = rf"(?:{WITHDRAWN}|called off|deleted|invalid|obsolete|resigned|dissolved|overthrown)"
# What takes a row back in a column of remarks only. In a column of hours, "closed" is a value. It matches "sold".
_ENDED_BY_REMARK = (
    r"(?:closed|sold|replaced|moved|lost|stolen|broken|dead|deceased|gone|left|former|previous|old|wrong|false"
    r"|incorrect|mistaken|uncertain|unconfirmed|provisional|tentative|preliminary)"
)
# What may stand in a cell before a word of `_WITHDRAWN` or `_ENDED_BY_REMARK`. It matches "has been ".
_BEFORE = r"\W*(?:(?:has|have|had|is|are|was|were|been|now|already|since) )*"
# Words that may follow a word of `_WITHDRAWN` or `_ENDED_BY_REMARK`: prepositions, particles, conjunctions, articles
# and possessives. It matches "to", "off" and "the".
_NEXT_WORD = (
    r"(?:by|on|in|at|to|from|for|since|until|till|as|out|off|away|down|back|up|and|or|because|due"
    r"|the|an?|his|her|its|our|their)"
)
# What may stand in a cell behind a word of `_WITHDRAWN` or `_ENDED_BY_REMARK`:
# - "cancelled!": the end of the cell, perhaps with signs
# - "cancelled, see below": a comma, semicolon, full stop or bracket
# - "postponed to spring", "sold 3 May": a blank before one of `_NEXT_WORD` or a digit
_BEHIND = rf"(?:\W*$|[,;.(]| (?={_NEXT_WORD}\b|\d))"
# A cell in any column that takes its row back; the group is the word. It matches "postponed to spring".
_TAKEN_BACK = re.compile(rf"{_BEFORE}(?P<done>{_WITHDRAWN}){_BEHIND}", re.IGNORECASE)
# A cell in a column of remarks that takes its row back; the group is the word. It matches "has left the club".
_ENDED = re.compile(rf"{_BEFORE}(?P<done>{_WITHDRAWN}|{_ENDED_BY_REMARK}){_BEHIND}", re.IGNORECASE)
# The name of a column of remarks. It matches "Note", "Remarks" and "Status". A column without a name is one too.
_REMARKS = re.compile(
    r"\W*(?:(?:notes?|remarks?|comments?|status|state|info|information|details?|hints?|bemerkung(?:en)?|hinweise?"
    r"|notiz(?:en)?|kommentare?|anmerkung(?:en)?|zustand|stand)\b.*)?",
    re.IGNORECASE,
)
# A title that takes its table back. The word for this is the group `first` or `last`:
# - "Cancelled events", "Provisional (May)": the word first, then at most two words and a bracket
# - "Events cancelled": one to three words, then the word last
_TITLE = re.compile(
    rf"\W*(?P<first>{_WITHDRAWN}|provisional|tentative|preliminary|unconfirmed)(?: [^\W_]+){{0,2}}\W*(?:\(.*\))?$"
    rf"|(?:[^\W_]+ ){{1,3}}(?P<last>{_WITHDRAWN})[.!]?$",
    re.IGNORECASE,
)
# Words that say that a table or a column is about an earlier, a wrong or a planned state; the groups are the words for
# it. It matches "Old price list", "Former members" and "Proposed dates". It does not match "Old Mill price list" and
# "Used cars".
_OF_OTHER_TIME = re.compile(
    r"\b(?:(?P<before>former|previous|past|old|draft|wrong|false|incorrect) (?:prices?|costs?|fees?|rates?|rents?|hire"
    r"|salar(?:y|ies)|tariffs?|dates?|times?|timetables?|schedules?|lists?|versions?|phones?|telephones?|numbers?"
    r"|mobiles?|e-?mails?|address(?:es)?|amounts?|values?|members?|staff|crews?|teams?|boards?|committees?|employees?"
    r"|tenants?|owners?|customers?|contacts?|trainers?|teachers?|captains?)"
    r"|(?P<guess>estimated|proposed) (?:prices?|costs?|fees?|rates?|rents?|hire|dates?|amounts?))\b",
    re.IGNORECASE,
)
# A title that denies its table. It matches "Dates not confirmed", "Prices no longer valid" and "(to be confirmed)".
_DENYING_TITLE = re.compile(
    r"\b(?:not|no longer)(?: yet)? (?:confirmed|valid|final|certain|current|correct|right|true|up to date|approved)\b"
    r"|\bto be (?:confirmed|announced|decided)\b|\b(?:tbc|tba|tbd)\b",
    re.IGNORECASE,
)
# The end of a time. It matches "until 2024".
_UNTIL = re.compile(r"\buntil\b(.*)", re.IGNORECASE)
# The maximum number of words of a remark. A longer text describes something, and its "not" may be about anything.
_LONGEST_REMARK = 15
# The minimum number of words of a remark that takes its row back as a whole sentence, such as "This is wrong". A
# shorter remark mostly describes its row, as "purebred" does.
_LEAST_WORDS_OF_SENTENCE = 3
# A remark that takes nothing back. It matches "no sugar", "no pets" and "if possible".
_WISH = re.compile(r"no (?!longer\b|more\b|valid\b)[^\W_]+(?: [^\W_]+)?\W*|if possible\W*", re.IGNORECASE)
# A word in lower case, or a short form such as "TBC". A text without one, such as a year or a name, is no remark. It
# matches "call" and "TBC". It does not match "2024" and "Ann Low".
_REMARK_WORD = re.compile(r"\b(?:[a-z]+|TB[ACD])\b")
# A cell is usual if more than this share of the rows has it. It is a guess: most events of a list take place.
_USUAL = 2 / 3
# A cell is usual only in a table of at least this many rows. In a smaller one, all of them may be cancelled.
_LEAST_ROWS = 5
# The name of a column whose cells say whether something holds. It matches "Confirmed" and "Still valid?".
_HOLDS = re.compile(
    r"(?:is |still )*(?:confirmed|certain|final|true|right|correct|valid|accurate|active|current|available)\W*",
    re.IGNORECASE,
)
# The name of a column in which "yes" takes the row back; the group is the word that says so. It matches "Cancelled" and
# "Is cancelled?".
_DONE_COLUMN = re.compile(
    rf"(?:is |was |already )*(?P<done>{_WITHDRAWN}|closed|sold|replaced|lost|stolen|broken|dead|deceased)\W*",
    re.IGNORECASE,
)
# A cell that affirms the name of its column.
_YES = re.compile(r"yes|y|true|x|[\u2713\u2714\u2611]", re.IGNORECASE)
# A cell that denies the name of its column.
_NO = re.compile(r"no|n|false|not?|[\u2717\u2718\u2610]|not yet", re.IGNORECASE)
# What looks like a word or sign of doubt and is none. It is removed before a remark is examined:
# - "No. 7", "no 7": "no" before a number
# - "in May": the month
# - "Who? Ann": a question mark that a letter or digit follows
_SEEMING_DOUBT = re.compile(r"\b[Nn]o\.? ?(?=\d)|\bMay\b|\?(?=.*\w)")
# A bracket. Brackets inside a remark are replaced, because the remark is put into brackets itself.
_BRACKETS = re.compile(r"[()\[\]]")
# A word for a denial or an end in a question. A question such as "Which dates are not confirmed?" asks for rows that
# are taken back, so remarks and titles that deny something take nothing back for it. It matches "not", "isn't" and
# "until".
_ASKS_DENIED = re.compile(r"\b(?:not|no|never|without|until|used to)\b|n['\u2019]t\b", re.IGNORECASE)
# The doubts of `find_doubt` that count if a remark raises them. Among them are "unrealised", for what is only planned,
# "open", for what is not decided yet, and "over", for what has ended.
_DOUBTS_OF_REMARKS = frozenset(
    ("negation", "unrealised", "hearsay", "open", "exception", "over", "condition", "taken back")
)
# The words of a question behind "with". It matches "with the VAT".
_WITH = re.compile(r"\bwith (?:the |an? )?([^\W_]+)", re.IGNORECASE)
# Words before and behind a noun that say the opposite of "with".
_LEFT_OUT_BEFORE = r"\b(?:without|excluding|excl|exclusive of|ex|before|plus|minus|less|no|not|net of)\.? (?:the )?"
_LEFT_OUT_BEHIND = r"(?::|,)? (?:is |are )?(?:not|excluded|extra)\b"


def is_taken_back_by_row(question: str, fit: Fit) -> bool:
    """Check whether another cell of the row takes the answer back.

    Examples are a cell "cancelled", a cell "number no longer valid", and a cell "yes" in a column "Cancelled".

    :param question: The question.
    :param fit: The row.
    :returns: Whether a cell takes the answer back.
    """
    # A cell with a word of the question says only which row is meant, so it takes nothing back.
    columns_of_words = {column for columns in fit.telling.values() for column in columns}
    for column, cell in fit.other_cells.items():
        if column in columns_of_words or not 0 <= column < len(fit.table.columns):
            continue
        name = fit.table.columns[column]
        is_remarks = _REMARKS.fullmatch(name) is not None
        is_withdrawn = _denies(name, cell, fit) or _withdraws(cell, fit, is_remarks=is_remarks)
        if is_withdrawn and not _is_usual(cell, column, fit):
            return True
        # A remark in a sentence of its own counts even if most rows have it.
        if is_remarks and not _ASKS_DENIED.search(question) and _is_remark(cell):
            return True
    return False


def _is_usual(cell: str, column: int, fit: Fit) -> bool:
    """Check whether most rows have the same cell, as "yes" in a column "Delivered" of orders.

    What takes a row back, such as "cancelled", is the exception.
    """
    cells = column_cells(fit.table.lines.values(), column)
    return len(cells) >= _LEAST_ROWS and cells.count(cell) > _USUAL * len(cells)


def _denies(name: str, cell: str, fit: Fit) -> bool:
    """Check whether a cell says yes to a column such as "Cancelled", or no to a column such as "Confirmed"."""
    if _HOLDS.fullmatch(name):
        return _NO.fullmatch(cell) is not None
    done = _DONE_COLUMN.fullmatch(name)
    if done is None or not _YES.fullmatch(cell):
        return False
    # For "Which hunts are cancelled?", the word "cancelled" takes nothing back.
    is_asked = fit.asks(done["done"].split())
    return not is_asked


def _withdraws(cell: str, fit: Fit, *, is_remarks: bool) -> bool:
    """Check whether a cell takes its row back, as "cancelled" does, and as "sold" does in a column of remarks."""
    done = (_ENDED if is_remarks else _TAKEN_BACK).match(cell)
    return done is not None and not fit.asks(done["done"].split())


@lru_cache(maxsize=8_192)
def _is_remark(text: str) -> bool:
    """Check whether a text leaves the answer open or denies it, as a remark in brackets behind the answer would.

    For example, ``_is_remark("number no longer valid")`` returns ``True``.
    """
    remark = _BRACKETS.sub(",", _SEEMING_DOUBT.sub("", text)).strip()
    if _NO.fullmatch(remark) or _WISH.fullmatch(remark) or not _REMARK_WORD.search(remark):
        return False
    if len(text.split()) > _LONGEST_REMARK:
        return False
    remark = remark.rstrip(":")
    # `find_doubt` examines sentences. So the remark is put behind a made-up sentence that raises no doubt itself. A
    # doubt about its answer "7" then comes from the remark.
    before, answer = "The value is ", "7"
    sentence = f"{before}{answer} ({remark})."
    begin = len(before)
    doubt = find_doubt("What is the value?", "", sentence, begin, begin + len(answer))
    # For `find_doubt`, one or two words in brackets may take a sentence back. In a cell, such words mostly describe the
    # row. Those that take it back are in the lists of `_withdraws`.
    is_description = doubt == "taken back" and len(remark.split()) < _LEAST_WORDS_OF_SENTENCE
    return doubt in _DOUBTS_OF_REMARKS and not is_description


def _line_above(fit: Fit) -> str:
    """Find the line of the passage above the table, if it ends with a colon as "These dates are not confirmed:" does.

    Else the text is empty.
    """
    document = fit.line.document
    lines = [] if document is None else (document.content or "").split("\n")
    if fit.line.text not in lines:
        return ""
    rows = {line.text for line in fit.table.lines.values()}
    lines_above = lines[: lines.index(fit.line.text)]
    texts_above = [line.strip() for line in lines_above if line not in rows and line.strip()]
    nearest = texts_above[-1] if texts_above else ""
    return nearest if nearest.endswith(":") else ""


def is_taken_back_by_title(question: str, fit: Fit) -> bool:
    """Check whether a title or a line above the table, or the name of the column, takes the answer back.

    Examples are the titles "Dates not confirmed", "Former members" and "Cancelled events", and the column "Old price".
    A word that the question has takes nothing back.

    :param question: The question.
    :param fit: The row.
    :returns: Whether a title takes the answer back.
    """
    name = fit.column_name
    for title in (*fit.table.titles, _line_above(fit), name):
        is_column_name = title == name
        # A name of one word only says what the column contains: "Expired" stands above the dates of the end.
        is_plain_name = is_column_name and " " not in name
        words = [] if is_plain_name else _words_taking_back(title)
        if any(not fit.asks([word]) for word in words):
            return True
        is_denied = not is_column_name and _DENYING_TITLE.search(title) is not None
        if is_denied and not _ASKS_DENIED.search(question):
            return True
        if _is_over(title):
            return True
    return False


def _words_taking_back(title: str) -> list[str]:
    """List the words of a title that take its table back, as "Former" in "Former members" does."""
    words = [word for match in _OF_OTHER_TIME.finditer(title) for word in match.groups() if word]
    whole = _TITLE.match(title)
    if whole is not None:
        words.append(whole["first"] or whole["last"])
    return words


def _is_over(title: str) -> bool:
    """Check whether a title has "until" with a date in the past, as "Prices until 2024" has."""
    until = _UNTIL.search(title)
    if until is None:
        return False
    last_days = [last_day for _first_day, last_day in words_of(until[1]).days]
    return any(last_day < date.today() for last_day in last_days)


def is_without(question: str, fit: Fit) -> bool:
    """Check whether the question asks for something with a part that the table leaves out.

    An example is "price of mash with VAT" for a column "Price without VAT".

    :param question: The question.
    :param fit: The row.
    :returns: Whether a title, a column or a cell leaves out what the question includes.
    """
    # Another column may well leave out the part: "Price without VAT" stands beside "Price with VAT".
    texts = (*fit.table.titles, fit.column_name, *fit.line.row.cells)
    for match in _WITH.finditer(question):
        noun = re.escape(match[1])
        left_out = re.compile(rf"{_LEFT_OUT_BEFORE}{noun}\b|\b{noun}{_LEFT_OUT_BEHIND}", re.IGNORECASE)
        if any(map(left_out.search, texts)):
            return True
    return False
