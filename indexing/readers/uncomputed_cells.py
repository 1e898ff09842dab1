"""Empty the cells of a table that have a formula or the name of an error instead of a value.

A formula is no answer to a question, and neither is "#DIV/0!". The readers of CSV and Excel files use these functions.
"""

import re
from collections.abc import Sequence

from prefrag.components.text.counted import counted
from prefrag.indexing.readers.headings import Outline

# What the report says about formulas without a value, behind their number.
_ADVICE = "without a stored value: open the file in its program, and save it"
# Matches a formula, which has only these parts, and at least one cell or function. There is one line of the pattern for
# each kind of parts:
# - signs and digits
# - texts, names of sheets in quotation marks, and names of columns in brackets
# - the name of a function or a sheet
# - a cell, or several columns
# Matches "=B2*2" and '=IF(B2>3,"yes","no")'. Does not match "=+441632960001", "=see cell B2" and "= 5 kg".
_FORMULA = re.compile(
    r"""
    = (?!\s*=) (?= .*? (?: [A-Z]\$?\d | [^\W_]\( | [A-Z]:\$?[A-Z] | \[ ) )
    (?: [\s\d.,;:()+\-*/^&=<>%{}$!@\#]
      | "[^"]*" | '[^']*'(?=!) | \[[^\[\]]*\]
      | [^\W\d_][\w.]*(?=[(!])
      | [A-Z]{1,3}\$?\d{1,7}(?!\w) | [A-Z]{1,3}:\$?[A-Z]{1,3}(?!\w)
    )++
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Matches the name of an error, which is capitals between "#" and a sign in every language of the programs: "#REF!",
# "#DIV/0!", "#NAME?", "#WERT!". Only that of a missing value has other forms: "#N/A", "#N/D", "#NV".
_ERROR = re.compile(r"#(?:[\u00a1\u00bf]?[^\W\d_a-z]{2,}(?:/0)?[!?]|N/[AD]|NV)")


def empty_uncomputed(rows: Sequence[list[str]], outline: Outline) -> None:
    """Empty the cells of a CSV file that have a formula or an error.

    The first cell of a row stays, because it may be the name of what the row is about.

    :param rows: The rows, which are changed.
    :param outline: The outline of the file. The formulas are counted in its ``loss``.
    """
    n_formulas = 0
    for row in rows:
        for column, value in enumerate(row[1:], start=1):
            is_formula = value.startswith("=") and _FORMULA.fullmatch(value) is not None
            n_formulas += is_formula
            if is_formula or _ERROR.fullmatch(value.strip()):
                row[column] = ""
    note_uncomputed(outline, n_formulas)


def note_uncomputed(outline: Outline, number: int) -> None:
    """Set ``outline.loss`` to the number of formulas that have no value. Nothing is set if there are none."""
    if number:
        outline.loss = f"{counted(number, 'formula')} {_ADVICE}"
