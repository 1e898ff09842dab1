"""Find out whether a table takes back what its cell says.

A cell may be taken back by another cell of its row ("cancelled"), by the name of its column ("Former phone") or by a
title above the table ("Dates not confirmed"). A cell or title is recognised by its form: a participle, a negation, or
one of a few adjectives for what does not hold now.
"""

import re

from prefrag.components.reader.doubts.doubtful_statement import find_doubt
from prefrag.components.reader.tables.amounts import column_cells
from prefrag.components.reader.tables.row_fit import Fit

# A participle. Regular ones end in "-ed". "Red" and "shed" have no vowel before this ending, and "hundred" has a
# consonant before "red". Names, such as "Ahmed" and "United", are left out. Of the irregular ones, those of ending and
# leaving count. It matches "cancelled" and "withdrawn". It does not match "bed", "seed" and "purebred".
_PARTICIPLE = (
    r"(?:(?!(?:ahm|moham+|muham+|jar|limit|unit)ed\b)(?=[a-z]*[aeiouy][a-z]*ed\b)[a-z]+(?<!e)(?<![bcdfgpt]r)ed"
    r"|broken|gone|left|lost|sold|stolen|void|withdrawn|overthrown)"
)
# A participle that is the verb of a note, which is the group: it stands alone, or before a preposition, a particle, an
# article or a digit. It matches "cancelled", "postponed to spring" and "has left the club". It does not match
# "smoked salmon".
_ENDED = re.compile(
    rf"\W*(?:(?:has|have|had|is|are|was|were|been|now|already|since) )*(?P<done>{_PARTICIPLE})"
    r"(?:\W*$|[,;.(]| (?=(?:by|on|in|at|to|from|for|since|until|till|as|out|off|away|down|back|up|and|or|because|due"
    r"|the|an?|his|her|its|our|their)\b|\d))",
    re.IGNORECASE,
)
# A participle at the beginning or the end of a short title, which is a group. It matches "Cancelled events" and
# "Events cancelled". It does not match "Diminished scale and its modes".
_TITLE = re.compile(
    rf"\W*(?P<first>{_PARTICIPLE})(?: [^\W_]+){{0,2}}\W*$|(?:[^\W_]+ ){{1,3}}(?P<last>{_PARTICIPLE})[.!]?$",
    re.IGNORECASE,
)
# The maximum number of words of a remark. A longer text describes something, and its "not" may be about anything.
_LONGEST_REMARK = 15
# A remark in the words of a sentence that takes something back, such as "This is wrong", has at least this many words.
_LEAST_VERDICT = 3
# Participles for what holds now. A title or a cell of them takes nothing back.
_CURRENT = frozenset(("confirmed", "updated", "revised", "corrected"))
# Adjectives for what does not hold, or not yet, and "until". It matches "Former members" and "Prices until May".
_NOT_NOW = re.compile(
    r"\b(former(?:ly)?|previous(?:ly)?|past|old|until|provisional|tentative|preliminary|draft|obsolete|outdated"
    r"|invalid|wrong|false|incorrect|uncertain|unconfirmed|mistaken)\b",
    re.IGNORECASE,
)
# A cell is usual if more than this share of the rows has it. It is a guess: most events of a list take place.
_USUAL = 2 / 3
# A cell is usual only in a table of at least this many rows. In a smaller one, all of them may be cancelled.
_LEAST_ROWS = 5
# The name of a column whose cells say whether something holds. It matches "Confirmed" and "Still valid?".
_HOLDS = re.compile(
    r"(?:is |still )*(?:confirmed|certain|final|true|right|correct|valid|accurate|active|current|available)\W*",
    re.IGNORECASE,
)
# The name of a column that is only a participle, which is the group. It matches "Cancelled" and "Is cancelled?".
_DONE_COLUMN = re.compile(rf"(?:is |was |already )*(?P<done>{_PARTICIPLE})\W*", re.IGNORECASE)
# A cell that affirms the name of its column.
_YES = re.compile(r"yes|y|true|x|[\u2713\u2714\u2611]", re.IGNORECASE)
# A cell that denies the name of its column.
_NO = re.compile(r"no|n|false|not?|[\u2717\u2718\u2610]|not yet", re.IGNORECASE)
# What looks like a sign of doubt and is none: the word in "No. 7", the month in "in May", and a question mark inside a
# text.
_NO_DOUBT = re.compile(r"\b[Nn]o\.? ?(?=\d)|\bMay\b|\?(?=.*\w)")
# A bracket. A remark stands in brackets itself.
_BRACKETS = re.compile(r"[()\[\]]")
# The words of a question that say themselves that something does not hold.
_DENIED = re.compile(r"\b(?:not|no|never|without|until|used to)\b|n['\u2019]t\b", re.IGNORECASE)
# The doubts about a sentence that a remark can raise.
_RAISED = frozenset(("negation", "unrealised", "hearsay", "open", "exception", "over", "condition", "taken back"))
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
    columns = {column for places in fit.telling.values() for column in places}
    for column, cell in fit.other_cells.items():
        # A cell that tells the row says which row it is.
        if column in columns or not 0 <= column < len(fit.table.columns):
            continue
        is_denied = _denies(fit.table.columns[column], cell, fit) or _is_verdict(cell, fit)
        if (is_denied and not _is_usual(cell, column, fit)) or _is_remark(question, cell):
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
    return done is not None and _YES.fullmatch(cell) is not None and not fit.asks([done["done"]])


def _is_verdict(cell: str, fit: Fit) -> bool:
    """Check whether a cell is a participle such as "cancelled", or an adjective for what does not hold."""
    done = _ENDED.match(cell)
    if done is not None:
        word = done["done"].lower()
        return word not in _CURRENT and not fit.asks([word])
    adjective = _NOT_NOW.fullmatch(cell.strip(" .!"))
    return adjective is not None and not fit.asks([cell])


def _is_remark(question: str, text: str) -> bool:
    """Check whether a text leaves the answer open or denies it, as a remark in brackets behind the answer would."""
    remark = _BRACKETS.sub(",", _NO_DOUBT.sub("", text))
    if _NO.fullmatch(remark.strip()) or _DENIED.search(question) or len(text.split()) > _LONGEST_REMARK:
        return False
    remark = remark.rstrip(":")
    # The remark stands behind a sentence in the present that raises no doubt itself.
    sentence = f"The value is 7 ({remark})."
    begin = sentence.index("7")
    doubt = find_doubt("What is the value?", "", sentence, begin, begin + 1)
    # A word or two in brackets take a sentence back by their form alone. In a cell they mostly describe the row, as
    # "purebred" does. `_is_verdict` knows those that take it back.
    is_description = doubt == "taken back" and len(remark.split()) < _LEAST_VERDICT
    return doubt in _RAISED and not is_description


def _line_above(fit: Fit) -> str:
    """Find the line of the passage above the table, if it ends with a colon as "These dates are not confirmed:" does.

    Else the text is empty.
    """
    rows = {line.text for line in fit.table.lines.values()}
    document = fit.line.document
    lines = [] if document is None else (document.content or "").split("\n")
    above = lines[: lines.index(fit.line.text)] if fit.line.text in lines else []
    line = next((line.strip() for line in reversed(above) if line.strip() and line not in rows), "")
    return line if line.endswith(":") else ""


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
        done = _TITLE.match(title)
        # A column "Founded" holds what the participle says. A column "Estimated price" holds no price.
        is_done = done is not None and (title != name or bool(done["first"] and " " in name))
        verbs = [done["first"] or done["last"]] if done is not None and is_done else []
        denying = [word for word in (*_NOT_NOW.findall(title), *verbs) if word.lower() not in _CURRENT]
        if any(not fit.asks([word]) for word in denying):
            return True
        if title and title != name and _is_remark(question, title):
            return True
    return False


def is_without(question: str, fit: Fit) -> bool:
    """Check whether the question asks for something with a part that the table leaves out.

    An example is "price of mash with VAT" for a column "Price without VAT".

    :param question: The question.
    :param fit: The row.
    :returns: Whether a title, a column or a cell leaves out what the question includes.
    """
    texts = (*fit.table.titles, *fit.table.columns, *fit.line.row.cells)
    for match in _WITH.finditer(question):
        noun = re.escape(match[1])
        left_out = re.compile(rf"{_LEFT_OUT_BEFORE}{noun}\b|\b{noun}{_LEFT_OUT_BEHIND}", re.IGNORECASE)
        if any(map(left_out.search, texts)):
            return True
    return False
