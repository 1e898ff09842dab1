"""The numbers in the cells of a column: their units, whether they can be added, and which rows already are sums."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from prefrag.components.reader.tables.table_excerpt import Line, TableExcerpt
from prefrag.components.reader.tables.table_words import words_of

_MOST_CHECKED = 500_000
_TOTALS = frozenset(("total", "subtotal", "sum"))
# Labels of rows that tell of other rows.
_SUMMARIES = _TOTALS | frozenset(
    (
        *("all", "overall", "average", "mean", "median", "minimum", "maximum"),
        *("gesamt", "insgesamt", "gesamtsumme", "zwischensumme", "summe", "alle", "durchschnitt"),
    )
)
_AMOUNT = re.compile(r"([^\d\s+-]*)\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*([^\d]*)")
# A number that is another in German, and one that is no number in English.
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
    return amounts if amounts and len(amounts) == len(cells) and len(units) == 1 else None


def is_summable(table: TableExcerpt, lines: Sequence[Line], column: int) -> bool:
    """Check whether the numbers of a column can be added: all of one unit, no rates, and read in one way only."""
    name = table.columns[column]
    cells = column_cells(table.lines.values(), column)
    units = {after.lower() for _, _, after in filter(None, map(read_amount, cells))}
    stems = words_of(name).stems
    if "%" in name or _RATES & stems or any("%" in cell or _GERMAN.search(cell) for cell in cells):
        return False
    # 1.30 may be an hour and a half.
    if _TIMES & {*stems, *units} and any(re.search(r"\.\d\d(?!\d)", cell) for cell in cells):
        return False
    for other, title in enumerate(table.columns):
        values = set(column_cells(lines, other))
        if len(values) > 1 and (_UNITS & words_of(title).stems or any(map(_CURRENCY.fullmatch, values))):
            return False
    return True


def without_totals(lines: list[Line], table: TableExcerpt) -> list[Line] | None:
    """Leave out the last row if it adds up the others, and says so. Returns None if it is unclear what a row is."""
    if not lines:
        return None
    *others, last = lines
    is_named = bool(_TOTALS & words_of(next((text for text in last.row.cells if text), "")).stems)
    pairs = [(read_amounts(others, column), read_amount(text)) for column, text in enumerate(last.row.cells) if column]
    sums = [own is not None and sum(number for _, number, _ in own) == amount[1] for own, amount in pairs if amount]
    adds_up = len(others) > 1 and bool(sums) and all(sums)
    is_total = adds_up and (is_named or not last.row.cells[0])
    if adds_up and not is_total:
        return None
    rows = others if is_total else lines
    is_unclear = any(map(_is_summary, rows)) or (table.is_whole and _hold_sums(rows))
    return None if is_unclear else rows


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
            numbers = [_read_number(digits[1], is_german) if digits else None for digits in cells]
            if any(_adds_up_next(part) for part in (numbers, numbers[::-1])):
                return True
    return False


def _adds_up_next(numbers: Sequence[Decimal | None]) -> bool:
    for place, number in enumerate(numbers):
        total = Decimal()
        for count, other in enumerate(numbers[place + 1 :], start=1):
            if number is None or other is None:
                break
            total += other
            if count > 1 and total == number:
                return True
    return False


def _read_number(digits: str, is_german: bool) -> Decimal | None:
    thousands, point = (".", ",") if is_german else (",", ".")
    text = digits.rstrip(".,").replace(thousands, "").replace(point, ".")
    return Decimal(text) if text.count(".") < 2 else None
