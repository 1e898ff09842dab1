"""Read the numbers in the cells of a column, with their units.

The functions find out whether the numbers can be added, and which rows of a table are sums of other rows. If anything
is unclear, such as a comma for decimals or thousands, they report that nothing can be added.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from prefrag.components.reader.tables.table_excerpt import Line, TableExcerpt
from prefrag.components.reader.tables.table_words import stem_of, words_of

# The maximum effort of the search for sums, as the number of rows squared, times the number of columns. Larger tables
# are not searched. They count as tables with a sum.
_MOST_CHECKED = 500_000
# Labels of rows that add up other rows.
_TOTALS = frozenset(("total", "subtotal", "sum"))
# Labels of rows that tell something about other rows, in English and German.
_SUMMARIES = _TOTALS | frozenset(
    (
        *("all", "overall", "average", "mean", "median", "minimum", "maximum"),
        *("gesamt", "insgesamt", "gesamtsumme", "zwischensumme", "summe", "alle", "durchschnitt"),
    )
)
# A number with its unit before or behind the number. It matches "$ 1,200.50" and "-3 kg".
_AMOUNT = re.compile(r"([^\d\s+-]*)\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*([^\d]*)")
# A number in German form. "1.500" is one thousand five hundred in German, but one and a half in English. The comma of
# "12,5" has fewer or more than three digits behind it, which no English comma has. It matches "1.500" and "12,5". It
# does not match "1,500" and "1.50".
_GERMAN = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?!\.?\d)|,(?!\d{3}(?!\d))\d")
# A number in English or German form, which is the group. Up to three other signs may stand before the number, and any
# text behind it. It matches "1.500,00 EUR".
_DIGITS = re.compile(r"[^\d\s+-]{0,3}\s*([+-]?\d[\d.,]*)\s*\D*")
# Words in the name of a column whose numbers are rates, which cannot be added.
_RATES = frozenset(("percent", "percentage", "rate", "ratio", "share", "average", "prozent", "quote", "anteil", "satz"))
# Words in the name of a column whose numbers are times. There, 1.30 may mean an hour and a half.
_TIMES = frozenset(("hour", "hr", "h", "time", "duration", "stunde", "stunden", "std", "zeit", "dauer"))
# Words in the name of a column that says how many pieces of a thing there are. The price beside it is that of a piece.
_QUANTITIES = frozenset(("quantity", "qty", "count", "piece", "pcs", "menge", "anzahl", "st\u00fcck"))
# The name of a column that says how many pieces there are, or holds a number for each row. It matches "Number" and
# "Units". It does not match "House number".
_NUMBER = re.compile(r"\W*(?:number|unit)s?\W*", re.IGNORECASE)
# Words in the name of a column that says that its numbers are for a piece of a thing, as in "Unit price".
_PIECE = frozenset(("unit", "each", "single"))
# The unit that a number is for, which is the group. It matches "Price per kg".
_PER = re.compile(r"\bper ([^\W\d_]+)", re.IGNORECASE)
# Words in the name of a column whose numbers are multiplied by the quantity already.
_MULTIPLIED = _TOTALS | frozenset(("amount", "betrag", "gesamt"))
# Words in the name of a column that holds the units or currencies of another column.
_UNITS = frozenset(("currency", "unit", "w\u00e4hrung", "einheit"))
# A currency. It matches "EUR" and "$".
_CURRENCY = re.compile(r"[A-Z]{3}|[$\u20ac\u00a3\u00a5]")


class Amount(NamedTuple):
    """A number with its unit.

    :param before: The unit before the number, such as "$"; empty if there is none.
    :param number: The number.
    :param after: The unit behind the number, such as "kg"; empty if there is none.
    """

    before: str
    number: Decimal
    after: str


def column_cells(lines: Iterable[Line], column: int) -> list[str]:
    """Return the text of each row in a column.

    :param lines: The rows.
    :param column: The number of the column, from 0.
    :returns: One text per row; empty if the row has no such cell.
    """
    return [line.row.cells[column] if column < len(line.row.cells) else "" for line in lines]


def read_amount(text: str) -> Amount | None:
    """Read a number with its unit.

    For example, ``read_amount("$ 1,200.50")`` returns ``Amount("$", Decimal("1200.50"), "")``.

    :param text: The text of a cell.
    :returns: The amount. None for other text, and if a comma may divide either decimals or thousands.
    """
    amount = _AMOUNT.fullmatch(text)
    if amount is None or len(amount[3].split()) > 1:
        return None
    return Amount(amount[1], Decimal(amount[2].replace(",", "")), amount[3].strip())


def read_amounts(lines: Sequence[Line], column: int) -> list[Amount] | None:
    """Read the numbers of a column.

    :param lines: The rows.
    :param column: The number of the column, from 0.
    :returns: The amounts; None if a cell holds something else, or if the units differ.
    """
    cells = column_cells(lines, column)
    amounts = _amounts_among(cells)
    if len(amounts) < len(cells):
        return None
    units = {(amount.before, amount.after) for amount in amounts}
    return amounts if len(units) == 1 else None


def _amounts_among(cells: Iterable[str]) -> list[Amount]:
    """Read the cells that hold a number, and leave out the others."""
    return [amount for amount in map(read_amount, cells) if amount is not None]


def is_summable(table: TableExcerpt, lines: Sequence[Line], column: int) -> bool:
    """Check whether the numbers of a column can be added.

    They must not be rates. No other column may hold different units for them. And they must be readable in only one
    way.

    :param table: The table.
    :param lines: The rows that are to be added.
    :param column: The number of the column, from 0.
    :returns: Whether a sum makes sense.
    """
    name = table.columns[column]
    cells = column_cells(table.lines.values(), column)
    stems = words_of(name).stems
    if "%" in name or _RATES & stems:
        return False
    if any("%" in cell or _GERMAN.search(cell) for cell in cells):
        return False

    units = {amount.after.lower() for amount in _amounts_among(cells)}
    # 1.30 may be an hour and a half.
    may_hold_minutes = any(re.search(r"\.\d\d(?!\d)", cell) for cell in cells)
    if may_hold_minutes and _TIMES & {*stems, *units}:
        return False

    return not any(_tells_units(table, lines, other) for other in range(len(table.columns)))


def is_multiplied(table: TableExcerpt, column: int) -> bool:
    """Check whether the numbers of a column are for a piece of a thing, so that their sum lacks the quantities.

    An example is the column "Unit price" beside a column "Quantity".

    :param table: The table.
    :param column: The number of the column.
    :returns: Whether the numbers must be multiplied before they are added.
    """
    stems = words_of(table.columns[column]).stems
    if _MULTIPLIED & stems:
        return False
    if _PIECE & stems and len(stems) > 1:
        return True

    # The unit of "Price per night" is "night"; empty if there is none.
    piece = _PER.search(table.columns[column])
    unit = stem_of(piece[1]) if piece is not None else ""
    is_quantity_itself = bool(_QUANTITIES & stems)

    for number, name in enumerate(table.columns):
        if number == column:
            continue
        cells = column_cells(table.lines.values(), number)
        has_name_of_quantity = bool(_QUANTITIES & words_of(name).stems)
        is_quantity = has_name_of_quantity or _has_numbers_of_pieces(name, cells)
        if is_quantity and not is_quantity_itself:
            return True
        if any(unit in words_of(text).stems for text in (name, *cells)):
            return True
    return False


def _has_numbers_of_pieces(name: str, cells: Sequence[str]) -> bool:
    """Check whether a column "Number" says how many pieces there are.

    If all its numbers differ, they may be the numbers of houses or of invoices.
    """
    return _NUMBER.fullmatch(name) is not None and len(set(cells)) < len(cells)


def _tells_units(table: TableExcerpt, lines: Sequence[Line], column: int) -> bool:
    """Check whether a column holds more than one unit or currency, which the numbers beside it then have."""
    values = set(column_cells(lines, column))
    if len(values) < 2:
        return False
    has_name_of_units = bool(_UNITS & words_of(table.columns[column]).stems)
    return has_name_of_units or any(map(_CURRENCY.fullmatch, values))


def without_totals(lines: list[Line], table: TableExcerpt) -> list[Line] | None:
    """Remove the last row if it adds up the other rows and has a label that says so.

    :param lines: The rows of a table.
    :param table: The table.
    :returns: The other rows. None if it is unclear whether a row is a record or a summary of other rows.
    """
    if not lines:
        return None

    *others, last = lines
    rows = lines
    if _adds_up(others, last):
        if not _is_labelled_as_total(last):
            return None
        rows = others

    if any(map(_is_summary, rows)):
        return None
    return None if table.is_whole and _hold_sums(rows) else rows


def _is_labelled_as_total(line: Line) -> bool:
    """Check whether the first text of a row is a label such as "Total", or the first cell is empty."""
    label = next((text for text in line.row.cells if text), "")
    return bool(_TOTALS & words_of(label).stems) or not line.row.cells[0]


def is_total(others: Sequence[Line], last: Line) -> bool:
    """Check whether a row adds up the rows above it, or says so, as "Total" does.

    :param others: The rows above it.
    :param last: The row.
    :returns: Whether it is a row of totals.
    """
    return _is_summary(last) or _adds_up(others, last)


def _adds_up(others: Sequence[Line], last: Line) -> bool:
    """Check whether each number of a row is the sum of the numbers above it. At least two rows must be above."""
    if len(others) < 2:
        return False
    totals: dict[int, Decimal] = {}
    # The first cell is a label.
    for column, text in enumerate(last.row.cells[1:], start=1):
        amount = read_amount(text)
        if amount is not None:
            totals[column] = amount.number
    return bool(totals) and all(_sum_of(others, column) == total for column, total in totals.items())


def _sum_of(lines: Sequence[Line], column: int) -> Decimal | None:
    """Add the numbers of a column; return None if a cell of the column holds something else."""
    amounts = read_amounts(lines, column)
    return None if amounts is None else sum((amount.number for amount in amounts), Decimal())


def _is_summary(line: Line) -> bool:
    """Check whether a cell of a row, or its group, has a label such as "Total" or "Average"."""
    return any(_SUMMARIES & words_of(text).stems for text in (line.row.group, *line.row.cells))


def _hold_sums(lines: Sequence[Line]) -> bool:
    """Check whether a row adds up two or more rows next to it, as "Vehicles" above "Car" and "Van" does.

    If a table is too large to be checked, the answer is True, because the table may have such a row.
    """
    width = max(len(line.row.cells) for line in lines)
    if len(lines) ** 2 * width > _MOST_CHECKED:
        return True

    for column in range(1, width):
        cells = [_DIGITS.fullmatch(text) for text in column_cells(lines, column)]
        has_signs = any(digits and set(digits[1]) & {".", ","} for digits in cells)
        # Without a sign, a number is the same in English and in German form.
        german_forms = (False, True) if has_signs else (False,)
        for is_german in german_forms:
            numbers = [_read_number(digits, is_german) for digits in cells]
            if _has_sum_above(numbers) or _has_sum_above(numbers[::-1]):
                return True
    return False


def _has_sum_above(numbers: Sequence[Decimal | None]) -> bool:
    """Check whether a number is the sum of the next two or more numbers.

    For example, ``_has_sum_above([Decimal(30), Decimal(10), Decimal(20)])`` returns ``True``.
    """
    for place, number in enumerate(numbers):
        if number is None:
            continue
        total = Decimal()
        for count, other in enumerate(numbers[place + 1 :], start=1):
            if other is None:
                break
            total += other
            if count > 1 and total == number:
                return True
    return False


def _read_number(digits: re.Match[str] | None, is_german: bool) -> Decimal | None:
    """Read the number of a cell in English or in German form; return None if there is none.

    For example, ``_read_number(_DIGITS.fullmatch("1.500,25 EUR"), True)`` returns ``Decimal("1500.25")``.
    """
    if digits is None:
        return None
    thousands, point = (".", ",") if is_german else (",", ".")
    text = digits[1].rstrip(".,").replace(thousands, "").replace(point, ".")
    return Decimal(text) if text.count(".") < 2 else None
