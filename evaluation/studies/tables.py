"""Write the tables of `RESULTS.md` and `DETAILS.md` from `results.csv`, as `tables.yaml` describes them.

    python -m prefrag.evaluation.studies.tables [--add FILE.csv]

Each table is written into a document after a comment with its name. With `--add`, the lines of a table that `matrix`
wrote are first added to `results.csv`. They replace lines with the same settings.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import typer
import yaml

# The results of all evaluations, one line each.
RESULTS = Path(__file__).parents[1] / "results.csv"
# The document with the main tables.
DOCUMENT = RESULTS.with_name("RESULTS.md")
# The document with further tables.
DETAILS = RESULTS.with_name("DETAILS.md")
# The description of the tables.
LAYOUT: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text(encoding="utf-8"))
# The number of decimals of each value. All other values have one.
_DECIMALS = {"llm_calls": 2, "total": 2, "total_local": 2, "total_web": 2, "used_local": 2, "used": 2, "forced": 0}
# The values that are shares of questions.
_SHARES = ("acc", "recall_all")


def read_lines(file: Path) -> list[dict[str, str]]:
    """Read the lines of a table that `matrix` wrote.

    :param file: The CSV file.
    :returns: The values of each line, by the name of the column.
    """
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def add_lines(file: Path, added: Sequence[Mapping[str, str]]) -> None:
    """Add lines to a table. A new line replaces a line with the same settings.

    :param file: The CSV file.
    :param added: The new lines.
    """
    lines = read_lines(file)
    head = list(lines[0])
    # The columns before "n" are the settings of an evaluation.
    names_of_settings = [*head[: head.index("n")], "split"]
    line_of_settings = {}
    for line in (*lines, *added):
        line_of_settings[tuple(line.get(name) or "" for name in names_of_settings)] = line
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, head, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(line_of_settings.values())


# The settings of a row, a column or a cell, by the names of the columns of the results.
_Settings = Mapping[str, Any]


def lay_out(lines: Sequence[Mapping[str, str]], layout: Mapping[str, Any]) -> dict[str, str]:
    """Write the tables of a layout.

    :param lines: The lines of the results.
    :param layout: The description of the tables, see `tables.yaml`.
    :returns: The tables as Markdown, by name.
    """
    tables = {}
    for name, table in layout["tables"].items():
        titles = table.get("datasets", layout["datasets"])
        datasets = {title: {"dataset": layout["datasets"][title]} for title in titles}
        rows = _list_rows(table, datasets)
        columns = _list_columns(table, datasets)
        settings_of_table = {**layout["where"], **table.get("where", {})}

        texts_by_row: dict[str, list[str]] = {}
        for row, row_settings in rows.items():
            # The titles of the columns that stay empty in this row. They are no setting.
            blank_titles = row_settings.get("blank", ())
            settings_of_row = {**row_settings, "blank": None}
            texts = []
            for title, cells in columns.items():
                texts_of_cells = []
                for cell in cells if title not in blank_titles else ():
                    wanted = {**settings_of_table, **cell, **settings_of_row}
                    texts_of_cells.append(_fill(name, lines, wanted, table["cell"]))
                texts.append(" / ".join(texts_of_cells))
            texts_by_row[row] = texts
        tables[name] = make_table([table["head"], *columns], texts_by_row)
    return tables


def _list_rows(table: Mapping[str, Any], datasets: Mapping[str, _Settings]) -> dict[str, _Settings]:
    """Return the settings of each row of a table, by its label. ``datasets`` has those of each dataset, by its title.

    A list of rows has the names of pipelines. With ``by_dataset``, there is a row for each dataset and each of these.
    """
    rows = table["rows"]
    if isinstance(rows, list):
        rows = {f"`{pipeline}`": {"pipeline": pipeline} for pipeline in rows}
    if not table.get("by_dataset"):
        return dict(rows)

    rows_by_dataset: dict[str, _Settings] = {}
    for title, dataset in datasets.items():
        for row, row_settings in rows.items():
            rows_by_dataset[f"{row}, {title}"] = {**row_settings, **dataset}
    return rows_by_dataset


def _list_columns(table: Mapping[str, Any], datasets: Mapping[str, _Settings]) -> dict[str, list[_Settings]]:
    """Return the settings of the cells of each column of a table, by its title.

    The cells of a column are written side by side. A table without columns of its own has a column for each dataset.
    """
    if table.get("columns"):
        return dict(table["columns"])
    cells = table.get("cells", [{}])
    return {title: [{**dataset, **cell} for cell in cells] for title, dataset in datasets.items()}


def make_table(head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Write a heading and rows as a Markdown table.

    :param head: The headings of the columns.
    :param rows: The cells of each row, by its label.
    :returns: The table.
    """
    # An empty heading has one space between its bars, not two.
    first_line = f"| {' | '.join(head)} |".replace("|  |", "| |")
    lines = [first_line, "|" + "---|" * len(head)]
    for label, cells in rows.items():
        lines.append(f"| {' | '.join([label, *cells])} |")
    return "\n".join(lines)


def _fill(table: str, lines: Sequence[Mapping[str, str]], wanted: Mapping[str, object], cell: str) -> str:
    """Fill a cell with means over seeds. If accuracy differs between seeds, add its standard deviation.

    ``wanted`` has the settings of the cell, and ``cell`` is a template such as "{acc} / {total}".
    """
    # A dash in a line means that the setting makes no difference there.
    allowed_values = {}
    for name, value in wanted.items():
        if value is not None:
            values = value if isinstance(value, list) else [value]
            allowed_values[name] = {"-", *map(str, values)}
    matching = list(lines)
    # The settings of the row come last. They leave the fewest lines, so they are compared first.
    for name, allowed in reversed(allowed_values.items()):
        matching = [line for line in matching if line[name] in allowed]
    if not matching:
        raise ValueError(
            f"{table}: no line of the results has {wanted}. Run `matrix` with these, and give the table with --add."
        )

    texts = {}
    # The names in braces in the template.
    for name in re.findall(r"{(\w+)}", cell):
        numbers = [_read(line, name) for line in matching]
        decimals = _DECIMALS.get(name, 1)
        texts[name] = f"{mean(numbers):.{decimals}f}"
        if name == "acc" and len(set(numbers)) > 1:
            texts[name] += f" ± {stdev(numbers):.1f}"
    return cell.format(**texts)


def _read(line: Mapping[str, str], name: str) -> float:
    """Read a value of a line.

    A share was rounded to two decimals. So its exact value is restored before the next rounding.
    """
    value = float(line[name])
    if name not in _SHARES:
        return value
    n = int(line["n"])
    return 100 * round(value * n / 100) / n


def write_into(document: Path, tables: Mapping[str, str]) -> None:
    """Write each table into a document, after the comment with the name of the table.

    :param document: The document.
    :param tables: The tables by name. Those for which the document has no comment are left out.
    :raises ValueError: If the document has no comment for any of the tables.
    """
    text = document.read_text(encoding="utf-8")
    places = {name: re.compile(rf"(<!-- {re.escape(name)} -->\n)(?:\|.*\n)*") for name in tables}
    names_with_place = [name for name, place in places.items() if place.search(text)]
    if not names_with_place:
        raise ValueError(f"{document} has no comments for the tables {', '.join(tables)}: add a line <!-- NAME -->.")
    for name in names_with_place:
        text = places[name].sub(partial(_put_table, tables[name]), text)
    document.write_text(text, encoding="utf-8")


def _put_table(table: str, place: re.Match[str]) -> str:
    """Return the comment with the table behind it."""
    comment = place[1]
    return f"{comment}{table}\n"


def main(added: Annotated[list[Path] | None, typer.Option("--add", help="A table of `matrix`.")] = None) -> None:
    """Write the tables."""
    if added:
        new_lines = []
        for file in added:
            new_lines += read_lines(file)
        add_lines(RESULTS, new_lines)
    for document in (DOCUMENT, DETAILS):
        write_into(document, lay_out(read_lines(RESULTS), LAYOUT))


if __name__ == "__main__":
    typer.run(main)
