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

RESULTS = Path(__file__).parents[1] / "results.csv"
DOCUMENT = RESULTS.with_name("RESULTS.md")
DETAILS = RESULTS.with_name("DETAILS.md")
LAYOUT: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text(encoding="utf-8"))
_DECIMALS = {"llm_calls": 2, "total": 2, "total_local": 2, "total_web": 2, "used_local": 2, "used": 2, "forced": 0}
_SHARES = ("acc", "recall_all")


def read_lines(file: Path) -> list[dict[str, str]]:
    """Read the lines of a table that `matrix` wrote."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def add_lines(file: Path, added: Sequence[Mapping[str, str]]) -> None:
    """Add lines to a table. A new line replaces a line with the same settings."""
    lines = read_lines(file)
    head = list(lines[0])
    settings = [*head[: head.index("n")], "split"]
    merged = {}
    for line in (*lines, *added):
        merged[tuple(line.get(name) or "" for name in settings)] = line
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, head, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(merged.values())


def lay_out(lines: Sequence[Mapping[str, str]], layout: Mapping[str, Any]) -> dict[str, str]:
    """Return each table of a layout as Markdown, by name."""
    made = {}
    for name, table in layout["tables"].items():
        where = {**layout["where"], **table.get("where", {})}
        named = table.get("datasets", layout["datasets"])
        datasets = {title: {"dataset": layout["datasets"][title]} for title in named}
        cells = table.get("cells", [{}])
        rows = table["rows"]
        if isinstance(rows, list):
            rows = {f"`{pipeline}`": {"pipeline": pipeline} for pipeline in rows}
        # A column may have several cells, which are written side by side.
        columns = table.get("columns")
        if not columns:
            columns = {}
            for title, dataset in datasets.items():
                columns[title] = [{**dataset, **cell} for cell in cells]
        if table.get("by_dataset"):
            rows_of_all = rows
            rows = {}
            for title, dataset in datasets.items():
                for row, own in rows_of_all.items():
                    rows[f"{row}, {title}"] = {**own, **dataset}
        filled: dict[str, list[str]] = {}
        for row, own in rows.items():
            wanted = {**own, "blank": None}
            texts = []
            for title, of_column in columns.items():
                if title in own.get("blank", ()):
                    texts.append("")
                    continue
                side_by_side = [_fill(name, lines, {**where, **cell, **wanted}, table["cell"]) for cell in of_column]
                texts.append(" / ".join(side_by_side))
            filled[row] = texts
        made[name] = make_table([table["head"], *columns], filled)
    return made


def make_table(head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Write a heading and rows as a Markdown table, and return its text."""
    rows_with_labels = [[label, *cells] for label, cells in rows.items()]
    first, *others = (f"| {' | '.join(line)} |" for line in (head, *rows_with_labels))
    rule = "|" + "---|" * len(head)
    return "\n".join([first.replace("|  |", "| |"), rule, *others])


def _fill(table: str, lines: Sequence[Mapping[str, str]], wanted: Mapping[str, object], cell: str) -> str:
    """Fill a cell with means over seeds. If accuracy differs between seeds, add its standard deviation."""
    # A dash in a line means that the setting makes no difference there.
    allowed = {}
    for name, value in wanted.items():
        if value is not None:
            values = value if isinstance(value, list) else [value]
            allowed[name] = {"-", *map(str, values)}
    chosen = list(lines)
    # Start with the last settings, which are those of the row: they leave the fewest lines.
    for name, options in reversed(allowed.items()):
        chosen = [line for line in chosen if line[name] in options]
    if not chosen:
        raise ValueError(
            f"{table}: no line of the results has {wanted}. Run `matrix` with these, and give the table with --add."
        )
    texts = {}
    # The names in braces in a template such as "{acc} / {total}".
    numbers_of = {}
    for name in re.findall(r"{(\w+)}", cell):
        numbers_of[name] = [_read(line, name) for line in chosen]
    for name, numbers in numbers_of.items():
        decimals = _DECIMALS.get(name, 1)
        texts[name] = f"{mean(numbers):.{decimals}f}"
    if len(set(numbers_of.get("acc", ()))) > 1:
        texts["acc"] += f" ± {stdev(numbers_of['acc']):.1f}"
    return cell.format(**texts)


def _read(line: Mapping[str, str], name: str) -> float:
    """Read a value. A share was rounded to two decimals, so its exact value is restored before the next rounding."""
    value, n = float(line[name]), int(line["n"])
    return 100 * round(value * n / 100) / n if name in _SHARES else value


def write_into(document: Path, tables: Mapping[str, str]) -> None:
    """Write each table into a document, after the comment with the table's name if the document has this comment."""
    text = document.read_text(encoding="utf-8")
    places = {name: re.compile(rf"(<!-- {re.escape(name)} -->\n)(?:\|.*\n)*") for name in tables}
    named = [name for name, place in places.items() if place.search(text)]
    if not named:
        raise ValueError(f"{document} has no comments for the tables {', '.join(tables)}: add a line <!-- NAME -->.")
    for name in named:
        text = places[name].sub(partial(_put_table, tables[name]), text)
    document.write_text(text, encoding="utf-8")


def _put_table(table: str, place: re.Match[str]) -> str:
    comment = place[1]
    return f"{comment}{table}\n"


def main(added: Annotated[list[Path] | None, typer.Option("--add", help="A table of `matrix`.")] = None) -> None:
    """Write the tables."""
    if added:
        add_lines(RESULTS, [line for file in added for line in read_lines(file)])
    for document in (DOCUMENT, DETAILS):
        write_into(document, lay_out(read_lines(RESULTS), LAYOUT))


if __name__ == "__main__":
    typer.run(main)
