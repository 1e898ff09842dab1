"""Write the tables of the report as CSV for spreadsheets and as LaTeX for papers."""

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from jinja2 import Environment

from prefrag.evaluation.report.against import Against
from prefrag.evaluation.report.comparison import Comparison
from prefrag.evaluation.report.table import Table

# The name of the file with all differences.
COMPARISONS = "comparisons.csv"
# The replacements for characters that are special in LaTeX, or that pdflatex does not know.
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\N{MINUS SIGN}": "$-$",
        "\N{EN DASH}": "--",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # At the start of a row, LaTeX would take these characters for an argument of the line break before.
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
    }
)
# The replacements for signs that a spreadsheet does not read as part of a number.
_PLAIN = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-"})
# Matches what becomes a hyphen in the name of a file: everything but small letters, digits and points. In "by yes/no",
# this is the space and the slash.
_NAME = re.compile(r"[^a-z0-9.]+")


def write_tables(tables: Iterable[tuple[str, Table]], output: Path, environment: Environment) -> list[str]:
    """Write each table as CSV and as LaTeX with booktabs.

    :param tables: The name of the task and the table, for each table.
    :param output: The folder.
    :param environment: The Jinja environment with the template of a LaTeX table.
    :returns: The names of the files.
    """
    template = environment.get_template("table.tex.jinja")
    names = []
    for task, table in tables:
        parts = [_NAME.sub("-", part.lower()).strip("-") for part in (task, table.id) if part]
        name = "-".join(parts)
        _write_csv(output / f"{name}.csv", _list_lines(table))
        (output / f"{name}.tex").write_text(template.render(table=table), "utf-8")
        names += [f"{name}.csv", f"{name}.tex"]
    return names


def write_comparisons(
    against: Iterable[tuple[str, Against]], one_change: Iterable[tuple[str, Comparison]], output: Path
) -> str:
    """Write one CSV file with a line for every difference in the report.

    :param against: The name of the task and the comparisons with the reference.
    :param one_change: The name of the task and the comparison, for pairs of runs that differ in one setting.
    :param output: The folder.
    :returns: The name of the file.
    """
    head = ["task", "dataset", "setting", "run", "against", "differ in", "measure", "questions"]
    head += ["difference", "low", "high", "p", "p corrected", "verdict"]
    entries = [(task, table.setting.text, comparison) for task, table in against for comparison in table.comparisons]
    entries += [(task, "one setting changed", comparison) for task, comparison in one_change]

    lines = []
    for task, setting, comparison in entries:
        differing = ", ".join(comparison.differing)
        pair = [task, comparison.run.dataset, setting, comparison.run.name, comparison.other.name, differing]
        for difference in comparison.differences.values():
            interval = difference.interval
            numbers = [f"{number:.4f}" for number in (interval.mean, interval.low, interval.high)]
            numbers += [f"{p:.3g}" for p in (difference.p, difference.corrected)]
            lines.append([*pair, difference.measure.key, interval.n, *numbers, difference.words])
    _write_csv(output / COMPARISONS, [head, *lines])
    return COMPARISONS


def escape_latex(text: object) -> str:
    r"""Put a text on one line and escape it for LaTeX.

    For example, "5% of A_1" becomes "5\% of A\_1".

    :param text: The text, or a value that is written as a text.
    :returns: The escaped text.
    """
    return " ".join(str(text).split()).translate(_LATEX)


def _list_lines(table: Table) -> list[list[str]]:
    """Return the lines of a table for CSV.

    Each line begins with its heading and its label. Each interval has a column of its own.
    """
    # Whether any cell of a column has an interval, for each column.
    has_interval = []
    rows_with_cells = [row for row in table.rows if row.cells]
    for place in range(len(table.columns)):
        has_interval.append(any(row.cells[place].interval for row in rows_with_cells))

    head = ["setting", table.label.lower()]
    for column, with_interval in zip(table.flat_columns, has_interval, strict=True):
        head += [column, f"{column} interval"] if with_interval else [column]

    lines = [head]
    heading = ""
    for row in table.rows:
        if not row.cells:
            heading = row.label
            continue
        line = [heading, row.label]
        for cell, with_interval in zip(row.cells, has_interval, strict=True):
            line += [cell.text, cell.interval] if with_interval else [cell.text]
        lines.append([text.translate(_PLAIN) for text in line])
    return lines


def _write_csv(path: Path, lines: Iterable[Sequence[object]]) -> None:
    """Write lines to a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
