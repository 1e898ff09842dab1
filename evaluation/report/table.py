"""Build the tables of the report: a line for each method, and a group of columns for each dataset."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prefrag.evaluation.report.comparison import Intervals
from prefrag.evaluation.report.measures import DASH, Measure
from prefrag.evaluation.report.runs import Run


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str  # the number in digits, or a dash
    interval: str = ""  # the 95% interval in digits, if there is one
    best: bool = False  # whether this number is the best of its column among the lines under the same heading


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    label: str
    cells: tuple[Cell, ...] = ()  # one cell per column; empty for a heading above other lines


@dataclass(frozen=True)
class Table:
    """A table of the report."""

    id: str
    title: str
    note: str
    groups: tuple[tuple[str, int], ...]  # the upper headings, each with its number of columns
    columns: tuple[str, ...]  # the lower headings
    rows: tuple[Row, ...]
    folded: bool = False  # whether the page folds all lines except those below the first heading
    label: str = "Method"

    @property
    def starts(self) -> set[int]:
        """The columns at which a group starts."""
        starts = set()
        column = 0
        for _, width in self.groups:
            starts.add(column)
            column += width
        return starts

    @property
    def parts(self) -> list[tuple[Row, ...]]:
        """The lines that the page shows unfolded, and the lines that it folds, if there are any."""
        headings = [number for number, row in enumerate(self.rows) if not row.cells]
        if not self.folded or len(headings) < 2:
            return [self.rows] if self.rows else []
        second = headings[1]
        return [rows for rows in (self.rows[:second], self.rows[second:]) if rows]

    @property
    def flat_columns(self) -> list[str]:
        """Upper and lower headings joined, for formats with a single line of headings."""
        upper = [name for name, width in self.groups for _ in range(width)]
        return [f"{name} {column}".strip() for name, column in zip(upper, self.columns, strict=True)]


@dataclass(frozen=True)
class Column:
    """A column in the group of a dataset."""

    measure: Measure
    value: Callable[[Run], float | None]  # returns the value of a run, or None
    ranked: bool = True  # whether the best value is marked


@dataclass
class Lines:
    """The runs of a table by line and dataset, in the order in which they were added."""

    # The label of each line, and its run on each dataset.
    lines: dict[Hashable, tuple[str, dict[str, Run]]] = field(default_factory=dict)

    def add(self, key: Hashable, label: str, run: Run) -> None:
        """Add a run to the line with this key. If this line already has a run on the dataset, make a new line."""
        runs_of_line = self.lines.setdefault(key, (label, {}))[1]
        if run.dataset in runs_of_line:
            # The new line's label contains the retriever or, if both runs have the same retriever, the run's name.
            other = run.retriever if run.retriever != runs_of_line[run.dataset].retriever else run.name
            further = self.lines.setdefault((key, other), (f"{label} ({other})", {}))
            further[1].setdefault(run.dataset, run)
        else:
            runs_of_line[run.dataset] = run


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
    """Make a table with a group of columns for each dataset; None if there are no runs."""
    if not runs:
        return None
    datasets = sorted({run.dataset for run in runs})
    by_dataset = {dataset: columns(dataset) for dataset in datasets}
    rows = []
    for heading, lines in blocks:
        rows.append(Row(heading))
        best = _find_best(by_dataset, lines)
        for label, runs_of_line in lines.lines.values():
            cells = [
                _fill_cell(runs_of_line.get(dataset), column, intervals, best[dataset, column.measure.key])
                for dataset, shown in by_dataset.items()
                for column in shown
            ]
            rows.append(Row(label, tuple(cells)))
    notes = [note] if note else []
    notes += _list_unlike(runs)
    groups = tuple((dataset, len(shown)) for dataset, shown in by_dataset.items())
    titles = tuple(column.measure.title for shown in by_dataset.values() for column in shown)
    return Table(id, title, " ".join(notes), groups, titles, tuple(rows), folded)


def _list_unlike(runs: Sequence[Run]) -> Iterator[str]:
    of_dataset: dict[str, list[Run]] = {}
    for run in runs:
        of_dataset.setdefault(run.dataset, []).append(run)
    unlike = []
    unlike_searched = []
    for dataset, group in sorted(of_dataset.items()):
        if len({_list_questions(run) for run in group}) > 1:
            unlike.append(dataset)
        if len({run.passages[0] for run in group if run.passages[0]}) > 1:
            unlike_searched.append(dataset)
    if unlike:
        yield f"Not all lines have the same questions ({', '.join(unlike)}): see the paired comparisons."
    if unlike_searched:
        yield f'Not all lines searched the same corpus ({", ".join(unlike_searched)}): see "What was run".'
    seeds = max(len(run.runs) for run in runs)
    if seeds > 1:
        fewer = {run.method: len(run.runs) for run in runs if len(run.runs) < seeds}
        named = ", ".join(f"{method} ({number})" for method, number in fewer.items())
        with_fewer = f"; methods with fewer seeds: {named}" if named else ""
        yield f"Means over {seeds} seeds, intervals over questions and seeds{with_fewer}."


def _list_questions(run: Run) -> frozenset[object]:
    return frozenset(prediction.asked for prediction in run.predictions.values())


def _find_best(by_dataset: Mapping[str, list[Column]], lines: Lines) -> dict[tuple[str, str], float | None]:
    """Return the highest value of each column that has at least two values."""
    best: dict[tuple[str, str], float | None] = {}
    for dataset, shown in by_dataset.items():
        for column in shown:
            values = [
                column.value(runs_of_line[dataset])
                for _, runs_of_line in lines.lines.values()
                if dataset in runs_of_line
            ]
            stated = [value for value in values if value is not None]
            best[dataset, column.measure.key] = max(stated) if column.ranked and len(stated) > 1 else None
    return best


def _fill_cell(run: Run | None, column: Column, intervals: Intervals, best: float | None) -> Cell:
    value = column.value(run) if run is not None else None
    text = column.measure.text(value)
    if run is None or value is None:
        return Cell(text)
    interval = intervals.get((run.name, column.measure.key))
    bounds = ""
    if interval:
        bounds = f"{column.measure.text(interval.low)}{DASH}{column.measure.text(interval.high)}"
    # The best value as it is shown: values that look the same are all the best.
    is_best = best is not None and text == column.measure.text(best)
    return Cell(text, bounds, is_best)
