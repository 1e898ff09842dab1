"""Build the tables of the report.

A table has a line for each method, and a group of columns for each dataset. :func:`fill_table` makes one from runs.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prefrag.evaluation.report.comparison import Intervals
from prefrag.evaluation.report.measures import DASH, Measure
from prefrag.evaluation.report.runs import Run


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    # The number in digits, or a dash.
    text: str
    # The 95% interval in digits. Empty if there is none.
    interval: str = ""
    # Whether this number is the best of its column among the lines under the same heading.
    best: bool = False


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    # The name of the line, or the text of a heading.
    label: str
    # One cell per column. Empty for a heading above other lines.
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of the report."""

    # The name of the table in anchors and file names.
    id: str
    # The title.
    title: str
    # The text below the table.
    note: str
    # The upper headings, each with its number of columns.
    groups: tuple[tuple[str, int], ...]
    # The lower headings, one per column.
    columns: tuple[str, ...]
    # The lines and headings, from top to bottom.
    rows: tuple[Row, ...]
    # Whether the page shows only the lines below the first heading, and the others after a click.
    folded: bool = False
    # The heading of the first column, which has the labels of the lines.
    label: str = "Method"

    @property
    def starts(self) -> set[int]:
        """The columns at which a group starts, counted from 0."""
        starts = set()
        column = 0
        for _, width in self.groups:
            starts.add(column)
            column += width
        return starts

    @property
    def parts(self) -> list[tuple[Row, ...]]:
        """The lines that the page shows open, and the lines that it shows after a click, if there are any."""
        headings = [number for number, row in enumerate(self.rows) if not row.cells]
        if not self.folded or len(headings) < 2:
            return [self.rows] if self.rows else []
        second = headings[1]
        return [rows for rows in (self.rows[:second], self.rows[second:]) if rows]

    @property
    def flat_columns(self) -> list[str]:
        """Upper and lower headings joined, for formats with a single line of headings."""
        upper_headings = [name for name, width in self.groups for _ in range(width)]
        return [f"{name} {column}".strip() for name, column in zip(upper_headings, self.columns, strict=True)]


@dataclass(frozen=True)
class Column:
    """A column in the group of a dataset."""

    # What the column shows.
    measure: Measure
    # Returns the value of a run, or None.
    value: Callable[[Run], float | None]
    # Whether the best value is marked.
    ranked: bool = True


@dataclass
class Lines:
    """The runs of a table by line and dataset, in the order in which they were added."""

    # The label of each line, and its run on each dataset.
    lines: dict[Hashable, tuple[str, dict[str, Run]]] = field(default_factory=dict)

    def add(self, key: Hashable, label: str, run: Run) -> None:
        """Add a run to a line. If the line already has a run on the dataset, make a new line.

        :param key: What identifies the line.
        :param label: The label of the line.
        :param run: The run.
        """
        _, runs_of_line = self.lines.setdefault(key, (label, {}))
        if run.dataset not in runs_of_line:
            runs_of_line[run.dataset] = run
            return

        # The label of the new line contains the retriever. If both runs have the same retriever, it contains the run's
        # name.
        distinction = run.retriever
        if run.retriever == runs_of_line[run.dataset].retriever:
            distinction = run.name
        _, runs_of_new_line = self.lines.setdefault((key, distinction), (f"{label} ({distinction})", {}))
        runs_of_new_line.setdefault(run.dataset, run)


def fill_table(
    id: str,
    title: str,
    note: str,
    blocks: Iterable[tuple[str, Lines]],
    runs: Sequence[Run],
    intervals: Intervals,
    columns: Callable[[str], list[Column]],
    folded: bool = False,
) -> Table | None:
    """Make a table with a group of columns for each dataset.

    :param id: The name of the table in anchors and file names.
    :param title: The title.
    :param note: The text below the table. Further sentences are added if runs have different questions, corpora or
        seeds.
    :param blocks: The headings, each with the lines below it.
    :param runs: All runs of the table.
    :param intervals: The confidence intervals of scores.
    :param columns: Returns the columns for a dataset.
    :param folded: Whether the page shows only the lines below the first heading at first.
    :returns: The table. None if there are no runs.
    """
    if not runs:
        return None
    datasets = sorted({run.dataset for run in runs})
    columns_by_dataset = {dataset: columns(dataset) for dataset in datasets}

    rows = []
    for heading, lines in blocks:
        rows.append(Row(heading))
        best = _find_best(columns_by_dataset, lines)
        for label, runs_of_line in lines.lines.values():
            cells = []
            for dataset, columns_of_dataset in columns_by_dataset.items():
                run = runs_of_line.get(dataset)
                for column in columns_of_dataset:
                    cells.append(_fill_cell(run, column, intervals, best[dataset, column.measure.key]))
            rows.append(Row(label, tuple(cells)))

    notes = [note] if note else []
    notes += _list_unlike(runs)
    groups = []
    titles = []
    for dataset, columns_of_dataset in columns_by_dataset.items():
        groups.append((dataset, len(columns_of_dataset)))
        titles += [column.measure.title for column in columns_of_dataset]
    return Table(
        id=id,
        title=title,
        note=" ".join(notes),
        groups=tuple(groups),
        columns=tuple(titles),
        rows=tuple(rows),
        folded=folded,
    )


def _list_unlike(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each way in which the lines of a table are not alike.

    Lines may differ in their questions, in the corpus that was searched, and in the number of seeds.
    """
    runs_of_dataset: dict[str, list[Run]] = {}
    for run in runs:
        runs_of_dataset.setdefault(run.dataset, []).append(run)
    unlike_questions = []
    unlike_corpora = []
    for dataset, group in sorted(runs_of_dataset.items()):
        if len({_list_questions(run) for run in group}) > 1:
            unlike_questions.append(dataset)
        corpora = set()
        for run in group:
            corpus, _ = run.passages
            if corpus:
                corpora.add(corpus)
        if len(corpora) > 1:
            unlike_corpora.append(dataset)

    if unlike_questions:
        yield f"Not all lines have the same questions ({', '.join(unlike_questions)}): see the paired comparisons."
    if unlike_corpora:
        yield f'Not all lines searched the same corpus ({", ".join(unlike_corpora)}): see "What was run".'

    most_seeds = max(len(run.runs) for run in runs)
    if most_seeds > 1:
        number_of_method = {run.method: len(run.runs) for run in runs if len(run.runs) < most_seeds}
        listed = ", ".join(f"{method} ({number})" for method, number in number_of_method.items())
        exceptions = f"; methods with fewer seeds: {listed}" if listed else ""
        yield f"Means over {most_seeds} seeds, intervals over questions and seeds{exceptions}."


def _list_questions(run: Run) -> frozenset[object]:
    """Return all questions of a run, with their gold answers."""
    return frozenset(prediction.asked for prediction in run.predictions.values())


def _find_best(columns_by_dataset: Mapping[str, list[Column]], lines: Lines) -> dict[tuple[str, str], float | None]:
    """Return the highest value of each column. None if the best value is not marked, or if there is only one."""
    best: dict[tuple[str, str], float | None] = {}
    for dataset, columns in columns_by_dataset.items():
        runs = [runs_of_line[dataset] for _, runs_of_line in lines.lines.values() if dataset in runs_of_line]
        for column in columns:
            optional_values = [column.value(run) for run in runs]
            values = [value for value in optional_values if value is not None]
            is_marked = column.ranked and len(values) > 1
            best[dataset, column.measure.key] = max(values) if is_marked else None
    return best


def _fill_cell(run: Run | None, column: Column, intervals: Intervals, best: float | None) -> Cell:
    """Return the cell of a run: the value, its interval, and whether the value is the best."""
    value = column.value(run) if run is not None else None
    text = column.measure.text(value)
    if run is None or value is None:
        return Cell(text)
    interval = intervals.get((run.name, column.measure.key))
    bounds = ""
    if interval:
        bounds = f"{column.measure.text(interval.low)}{DASH}{column.measure.text(interval.high)}"
    # Values are compared as they are shown. So all values that look like the best are marked.
    is_best = best is not None and text == column.measure.text(best)
    return Cell(text, bounds, is_best)
