"""Find out whether a row is about another subject than the question.

A row is about one thing, its subject: the row "Mia Berg, 11, Anna Berg" of the columns "Child, Phone, Contact" is about
the child Mia Berg. The phone is not that of Anna Berg. And a name of other words, or of the same words in another
order, is the name of another subject.
"""

import re
from itertools import pairwise

from prefrag.components.reader.tables.amounts import column_cells, is_total
from prefrag.components.reader.tables.row_fit import Fit
from prefrag.components.reader.tables.table_excerpt import TableExcerpt
from prefrag.components.reader.tables.table_words import Word, stem_of, words_of

# The name of a column that names the rows wherever it stands. It matches "Name", "First name" and "Surname". It does
# not match "Owner name".
_NAME = re.compile(r"\W*(?:(?:full|first|last|given|family) ?name|name|surname|forename)\W*", re.IGNORECASE)
# The name of a column that holds a role of a person. It matches "Contact", "Key holder" and "Besitzerin".
_ROLE = re.compile(
    r".*\b(?:contact(?: person)?|owner|parent|mother|father|guardian|teacher|trainer|coach|tutor|instructor|borrower"
    r"|skipper|captain|counterparty|payer|payee|tenant|landlord|vet|doctor|director|manager|driver|walker|rider|keeper"
    r"|holder|groom|host|guide|leader|warden|caretaker|sponsor|kontakt|ansprechpartner|besitzer|eigent\u00fcmer|halter"
    r"|lehrer|eltern|mutter|vater|mieter|vermieter|leiter|fahrer|tierarzt|reiter)(?:s|in)?\W*",
    re.IGNORECASE,
)
# The name of a column of those who take part in an event. It matches "Guest" and "Horse".
_PART = re.compile(
    r"\W*(?:guest|visitor|patient|customer|client|member|supplier|horse|dog|cat|pet|animal)s?\W*", re.IGNORECASE
)
# The name of a column of other people. It matches "Child" and "Pupils".
_PERSON = re.compile(
    r"\W*(?:child|children|pupil|student|player|employee|person|people|staff|participant)s?\W*", re.IGNORECASE
)
# The name of a column with a way to reach a person. It matches "Phone number" and "E-mail".
_REACHED = re.compile(
    r".*\b(?:(?:tele)?phone|tel|telefon|mobile|mobil|handy|e-?mail|address|adresse)\b.*", re.IGNORECASE
)
# A day of the week or a month, in English or German. It matches "Monday", "Tue", "Montag" and "March". A column of them
# says when something is, and names no row.
_WEEKDAY = re.compile(
    r"(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?s?\.?"
    r"|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|sonnabends?|(?:mo|di|mi|do|fr|sa|so)\.?"
    r"|(?:january?|february?|march|april|may|june|july|august|september|october|november|december"
    r"|januar|februar|m\u00e4rz|mai|juni|juli|oktober|dezember)",
    re.IGNORECASE,
)
# A word for a kind of house, firm or place, which stands before or behind a name. It matches "Hotel".
_KIND = re.compile(
    r"hotel|hostel|inn|pub|bar|caf[e\u00e9]|restaurant|bakery|school|college|university|museum|theat(?:re|er)|cinema"
    r"|church|castle|villa|lake|mount|river|bank|club|company|hall|farm|house|gasthof|gasthaus|schule|haus",
    re.IGNORECASE,
)
# A date without a year, with the day before or behind the month, or one with slashes or short years. It matches
# "3 August", "May 21", "04/08/2026" and "04.08.26".
_DAY = re.compile(
    r"\d{1,2}(?:st|nd|rd|th|\.)? [A-Z][a-z]{2,8}|[A-Z][a-z]{2,8} \d{1,2}|\d{1,2}[./]\d{1,2}[./](?:\d\d){1,2}"
)
# A word of a name, which may be joined from two words. It matches "Anna-Maria".
_WORD = re.compile(r"[^\W_]+(?:[-'\u2019][^\W_]+)*")
# A sign between two names that have an order, as those of a match. It matches " - ".
_AGAINST = r"\s+[-\u2013:/]\s+"
# A cell that repeats the cell above it. It matches a quotation mark, and "ditto".
_REPEATED = re.compile(r"[\"\u201c\u201d\u3003]|''|,,|ditto|idem|do\.", re.IGNORECASE)


def is_of_other_subject(question: str, fit: Fit) -> bool:
    """Check whether the question names the row only by a cell that does not name the row's subject.

    An example is "What is Anna Berg's phone number?" for the row "Mia Berg, 11, Anna Berg" of the columns "Child,
    Phone, Contact".

    :param question: The question.
    :param fit: The row.
    :returns: Whether the cell may belong to another subject.
    """
    naming = naming_column(fit.table)
    if naming is None or fit.column == naming:
        return False
    subjects = filter(None, column_cells(fit.table.lines.values(), naming))
    if not all(cell[:1].isupper() for cell in subjects):
        return False
    # A family name that stands in both columns tells neither.
    if any(max(places) <= naming for places in fit.telling.values()):
        return False
    for word, places in fit.telling.items():
        first = min(places)
        # "The treasurer" may be the subject, told by a property.
        if first > naming and _may_be_name(word, fit, first) and _is_role(fit, first):
            return True
    return False


def _is_role(fit: Fit, column: int) -> bool:
    """Check whether a column holds a role of a person, whose phone the answer is not.

    In the columns "Child, Contact, Phone", the phone beside the contact is that of the contact.
    """
    is_beside = fit.column == column + 1 and _REACHED.fullmatch(fit.column_name) is not None
    return _ROLE.fullmatch(fit.table.columns[column]) is not None and not is_beside


def _may_be_name(word: Word, fit: Fit, column: int) -> bool:
    """Check whether a word of the question is a name: it or two words of its cell begin with a capital letter."""
    capitals = [part for part in _WORD.findall(fit.other_cells[column]) if part[0].isupper()]
    return word.is_name or len(capitals) > 1


def is_of_dated_event(question: str, fit: Fit) -> bool:
    """Check whether the row is about a dated event, and the question names only somebody who had a part in it.

    An example is "What is the balance of Ann Low?" for the row "3 August, Ann Low, 19842.15" of the columns "Date,
    Counterparty, Balance". "What is the place of the fair?" asks for a property of the event.

    :param question: The question.
    :param fit: The row.
    :returns: Whether the cell may belong to the event only.
    """
    if fit.column == 0 or not has_dated_rows(fit.table):
        return False
    columns: set[int] = set()
    for word, places in fit.telling.items():
        # A word at the beginning of a question has a capital letter in any case.
        is_first = question.lstrip().startswith(word.typed)
        # A word that is no name may name the event, and so does its date, which is in the first column.
        if not word.is_name or is_first or 0 in places:
            return False
        columns.update(places)
    if not fit.telling:
        return False
    # A column such as "Event" or "Film" names the event.
    return all(_is_role(fit, column) or _PART.fullmatch(fit.table.columns[column]) for column in columns)


def has_dated_rows(table: TableExcerpt) -> bool:
    """Check whether each row of a table begins with a date, as those of visits and of bookings do.

    :param table: The table.
    :returns: Whether all cells of the first column are dates.
    """
    cells = [line.row.cells[0] for line in table.lines.values() if line.row.cells]
    return all(words_of(cell).days or _DAY.fullmatch(cell) for cell in cells)


def naming_column(table: TableExcerpt) -> int | None:
    """Find the column that names the subjects of the rows.

    It is the last column with a name such as "Surname". If there is none, it is the leftmost column whose cells all
    differ and have letters. A column of codes, such as "TK-043", has digits in all cells and is left out.

    :param table: The table.
    :returns: The number of the column; None if there is none.
    """
    named = [number for number, name in enumerate(table.columns) if _NAME.fullmatch(name)]
    if named:
        return named[-1]
    return next((number for number in range(len(table.columns)) if _may_name_rows(table, number)), None)


def _may_name_rows(table: TableExcerpt, column: int) -> bool:
    """Check whether the cells of a column all differ, have letters, and are neither codes nor days of the week."""
    rows = [line.row.cells for line in table.lines.values()]
    cells = [cells[column] for cells in rows if not repeats_cell(cells, column)]
    if not cells or len(set(cells)) < len(cells):
        return False
    have_letters = all(any(map(str.isalpha, cell)) for cell in cells)
    are_codes = all(any(map(str.isdigit, cell)) for cell in cells)
    are_weekdays = all(map(_WEEKDAY.fullmatch, cells))
    return have_letters and not are_codes and not are_weekdays


def is_of_other_name(question: str, fit: Fit) -> bool:
    """Check whether a name in the row differs from the name in the question by its ending.

    "Jacob Peters" is not "Peter Jacobs", although both have the same stems.

    :param question: The question.
    :param fit: The row.
    :returns: Whether the row has another name.
    """
    cells = fit.other_cells
    for word, places in fit.telling.items():
        if word.is_number:
            continue
        # "A garden chair" is one of the "Garden Chairs", so it is no person.
        is_one_of_many = re.search(rf"\ban? (?:[^\W_]+ )?{re.escape(word.typed)}\b", question) is not None
        has_same_form = False
        for column in places:
            is_person = not is_one_of_many and _is_of_people(fit.table.columns[column])
            if _has_form(word, cells[column], is_person):
                has_same_form = True
        if not has_same_form:
            return True
    return False


def _is_of_people(name: str) -> bool:
    """Check whether a column holds names of people, as "Name", "Contact", "Guest" and "Child" do."""
    return any(pattern.fullmatch(name) for pattern in (_NAME, _ROLE, _PART, _PERSON))


def _has_form(word: Word, cell: str, is_person: bool) -> bool:
    """Check whether a cell has a word of the question in the same form, or a common noun in another form.

    A word with a capital letter in the question may be a name. So may one behind the first word of a person's cell.
    """
    typed = _without_possessive(word.typed)
    is_other_name = False
    matches = list(_WORD.finditer(cell))
    for place, match in enumerate(matches):
        word_of_cell = match[0]
        if _without_possessive(word_of_cell) == typed:
            return True
        # "Peters Bakery" is "Peter's Bakery", and "McDonalds" is "McDonald's". "Eva Peters" is not "Eva Peter's".
        may_lack_sign = len(matches) == 1 or place < len(matches) - 1
        if may_lack_sign and _without_sign(word_of_cell) == _without_sign(word.typed):
            return True

        is_later_name = is_person and place > 0 and word_of_cell[:1].isupper()
        may_be_name = word.is_name or is_later_name
        if may_be_name and stem_of(word_of_cell) == word.stem:
            is_other_name = True
        # "Anna-Maria" is not "Anna".
        parts = re.split(r"[-'\u2019]", word_of_cell)
        if word.is_name and word.stem in map(stem_of, parts):
            is_other_name = True
    return not is_other_name


def _without_sign(word: str) -> str:
    """Return a word in lower case without apostrophes.

    For example, ``_without_sign("McDonald's")`` returns ``"mcdonalds"``.
    """
    return re.sub(r"['\u2019]", "", word.lower())


def _without_possessive(word: str) -> str:
    """Return a word in lower case without the ending of a possessive.

    For example, ``_without_possessive("Berg's")`` returns ``"berg"``.
    """
    return word.lower().replace("\u2019", "'").removesuffix("'s")


def is_in_other_order(question: str, fit: Fit) -> bool:
    """Check whether names stand in a cell in another order than in the question.

    An example is "What is the result of Hollmar against Eastby?" for the cell "Eastby against Hollmar". A comma turns a
    name around: "Peters, Jacob" is "Jacob Peters".

    :param question: The question.
    :param fit: The row.
    :returns: Whether the order differs.
    """
    if any(_is_turned(fit, cell) for cell in fit.other_cells.values()):
        return True
    # The two sides of a match stand in two columns.
    for first, second in pairwise(fit.telling):
        is_pair = re.search(re.escape(first.typed) + _AGAINST + re.escape(second.typed), question) is not None
        is_turned = min(fit.telling[first]) > max(fit.telling[second])
        if is_pair and is_turned:
            return True
    return False


def _is_turned(fit: Fit, cell: str) -> bool:
    """Check whether two names of the question stand in a cell in the other order, without a comma between them.

    A family name in capitals, as in "DUPONT Jean", may stand first, and so may a kind, as in "Hotel Adlon".
    """
    # The names in the order of the question.
    names: list[re.Match[str]] = []
    for word in fit.telling:
        matches = [match for match in _WORD.finditer(cell) if stem_of(match[0]) == word.stem]
        if len(matches) != 1:
            continue
        [match] = matches
        if word.is_name or match[0][:1].isupper():
            names.append(match)

    for first, second in pairwise(names):
        if first.start() <= second.start():
            continue
        has_comma = "," in cell[second.start() : first.start()]
        if not has_comma and not _may_stand_anywhere(first[0]) and not _may_stand_anywhere(second[0]):
            return True
    return False


def _may_stand_anywhere(name: str) -> bool:
    """Check whether a word is a kind, such as "Hotel", or is written in capitals, as a family name may be."""
    is_in_capitals = name.isupper() and len(name) > 1
    return is_in_capitals or _KIND.fullmatch(name) is not None


def goes_on_below(question: str, fit: Fit) -> bool:
    """Check whether the next row belongs to the same thing, because the cell that the question names is empty there.

    In a table with the rows "Monday, Yoga, Hall" and ", Drums, Attic", the question "What is the room on Monday?" has
    two answers. A row of totals belongs to no day.

    :param question: The question.
    :param fit: The row.
    :returns: Whether the next row may have another answer.
    """
    lines = fit.table.lines
    number = next(number for number, line in lines.items() if line is fit.line)
    below = lines.get(number + 1)
    if below is None or not fit.telling:
        return False
    asked_columns = set[int]().union(*fit.telling.values())
    # A member without a role, whose name stands left of the empty cell, is another member.
    columns_left = range(min(asked_columns))
    if not all(repeats_cell(below.row.cells, column) for column in (*columns_left, *asked_columns)):
        return False
    lines_above = [line for place, line in lines.items() if place <= number]
    return not is_total(lines_above, below)


def repeats_cell(cells: tuple[str, ...], column: int) -> bool:
    """Check whether a cell stands for the cell above it: it is empty, or has a sign such as a quotation mark.

    For example, ``repeats_cell(("", "Drums"), 0)`` returns ``True``.

    :param cells: The cells of a row.
    :param column: The number of the column.
    :returns: Whether the cell stands for the cell above it.
    """
    cell = cells[column].strip() if column < len(cells) else ""
    return not cell or _REPEATED.fullmatch(cell) is not None
