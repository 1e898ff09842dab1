"""The numbers in the cells of a column: their units, whether they can be added, and which rows already are sums."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from prefrag.components.reader.tables.table_excerpt import Line, TableExcerpt
from prefrag.components.reader.tables.table_words import words_of

_MOST_CHECKED = 500_000
# Labels of rows that add up other rows.
_TOTALS = frozenset(("total", "subtotal", "sum"))
# Labels of rows that tell of other rows.
_SUMMARIES = _TOTALS | frozenset(
    (
        *("all", "overall", "average", "mean", "median", "minimum", "maximum"),
        *("gesamt", "insgesamt", "gesamtsumme", "zwischensumme", "summe", "alle", "durchschnitt"),
    )
)
# A number and its unit, before it as in "$ 1,200.50" or behind it as in "-3 kg".
_AMOUNT = re.compile(r"([^\d\s+-]*)\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*([^\d]*)")
# Numbers in German form: "1.500", which is one thousand five hundred in German but one and a half in English, and the
# comma of "12,5", which no English number has before fewer than three digits.
_GERMAN = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?!\.?\d)|,(?!\d{3}(?!\d))\d")
_DIGITS = re.compile(r"[^\d\s+-]{0,3}\s*([+-]?\d[\d.,]*)\s*\D*")
_RATES = frozenset(("percent", "percentage", "rate", "ratio", "share", "average", "prozent", "quote", "anteil", "satz"))
_TIMES = frozenset(("hour", "hr", "h", "time", "duration", "stunde", "stunden", "std", "zeit", "dauer"))
_UNITS = frozenset(("currency", "unit", "w\u00e4hrung", "einheit"))
_CURRENCY = re.compile(r"[A-Z]{3}|[$\u20ac\u00a3\u00a5]")


def column_cells(lines: Iterable[Line], column: int) -> list[str]:
    """Return the text of each row in a column; empty where the row has none."""
    return [line.row.cells[column] if column < len(line.row.cells) else "" for line in lines]


def read_amount(text: str) -> tuple[str, Decimal, str] | None:
    """Read a number with its unit; None for other text, and where a comma may divide decimals or thousands."""
    amount = _AMOUNT.fullmatch(text)
    if amount is None or len(amount[3].split()) > 1:
        return None
    return amount[1], Decimal(amount[2].replace(",", "")), amount[3].strip()


def read_amounts(lines: Sequence[Line], column: int) -> list[tuple[str, Decimal, str]] | None:
    """Read the numbers of a column; None if a cell holds something else, or if their units differ."""
    cells = column_cells(lines, column)
    amounts = [amount for amount in map(read_amount, cells) if amount is not None]
    units = {(before, after) for before, _, after in amounts}
    return amounts if len(amounts) == len(cells) and len(units) == 1 else None


def is_summable(table: TableExcerpt, lines: Sequence[Line], column: int) -> bool:
    """Check whether the numbers of a column can be added: all of one unit, no rates, and read in one way only."""
    name = table.columns[column]
    cells = column_cells(table.lines.values(), column)
    stems = words_of(name).stems
    if "%" in name or _RATES & stems:
        return False
    if any("%" in cell or _GERMAN.search(cell) for cell in cells):
        return False
    units = {after.lower() for _, _, after in filter(None, map(read_amount, cells))}
    # 1.30 may be an hour and a half.
    if _TIMES & {*stems, *units} and any(re.search(r"\.\d\d(?!\d)", cell) for cell in cells):
        return False
    return not any(_tells_units(title, set(column_cells(lines, other))) for other, title in enumerate(table.columns))


def _tells_units(title: str, values: set[str]) -> bool:
    """Check whether a column tells more than one unit or currency, which the numbers beside it then have."""
    if len(values) < 2:
        return False
    return bool(_UNITS & words_of(title).stems) or any(map(_CURRENCY.fullmatch, values))


def without_totals(lines: list[Line], table: TableExcerpt) -> list[Line] | None:
    """Leave out the last row if it adds up the others, and says so. Returns None if it is unclear what a row is."""
    if not lines:
        return None
    *others, last = lines
    rows = lines
    if _adds_up(others, last):
        label = next((text for text in last.row.cells if text), "")
        says_so = bool(_TOTALS & words_of(label).stems) or not last.row.cells[0]
        if not says_so:
            return None
        rows = others
    if any(map(_is_summary, rows)):
        return None
    return None if table.is_whole and _hold_sums(rows) else rows


def _adds_up(others: Sequence[Line], last: Line) -> bool:
    """Check whether each number of a row, of which there is at least one, is the sum of two or more above it."""
    if len(others) < 2:
        return False
    totals = {column: read_amount(text) for column, text in enumerate(last.row.cells) if column}
    amounts = {column: total for column, total in totals.items() if total is not None}
    return bool(amounts) and all(_sum_of(others, column) == amount[1] for column, amount in amounts.items())


def _sum_of(lines: Sequence[Line], column: int) -> Decimal | None:
    """Add the numbers of a column; None if it holds something else."""
    amounts = read_amounts(lines, column)
    return None if amounts is None else sum((number for _, number, _ in amounts), Decimal())


def _is_summary(line: Line) -> bool:
    return any(_SUMMARIES & words_of(text).stems for text in (line.row.group, *line.row.cells))


def _hold_sums(lines: Sequence[Line]) -> bool:
    """Check whether a row adds up two or more rows directly above or below it, as "Vehicles" above "Car" and "Van".

    A table that is too large to check may hold one.
    """
    width = max(len(line.row.cells) for line in lines)
    if len(lines) ** 2 * width > _MOST_CHECKED:
        return True
    for column in range(1, width):
        cells = [_DIGITS.fullmatch(text) for text in column_cells(lines, column)]
        has_signs = any(digits and set(digits[1]) & {".", ","} for digits in cells)
        for is_german in (False, True) if has_signs else (False,):
            numbers = [_read_number(digits, is_german) for digits in cells]
            if _has_sum_above(numbers) or _has_sum_above(numbers[::-1]):
                return True
    return False


def _has_sum_above(numbers: Sequence[Decimal | None]) -> bool:
    """Check whether a number is the sum of the next two or more."""
    for place, number in enumerate(numbers):
        total = Decimal()
        for count, other in enumerate(numbers[place + 1 :], start=1):
            if number is None or other is None:
                break
            total += other
            if count > 1 and total == number:
                return True
    return False


def _read_number(digits: re.Match[str] | None, is_german: bool) -> Decimal | None:
    if digits is None:
        return None
    thousands, point = (".", ",") if is_german else (",", ".")
    text = digits[1].rstrip(".,").replace(thousands, "").replace(point, ".")
    return Decimal(text) if text.count(".") < 2 else None
