"""Show how the results move with each setting that varies with everything else equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prefrag.evaluation.report.against import Against
from prefrag.evaluation.report.comparison import Difference
from prefrag.evaluation.report.grouping import Settings, vary
from prefrag.evaluation.report.measures import ACC, DASH
from prefrag.evaluation.report.runs import TOP_K, Run, Value
from prefrag.evaluation.report.settings import describe
from prefrag.evaluation.report.table import Cell, Row, Table

_NOTE = (
    "Accuracy, and below it what it is above or below that of {reference} with the same value; * where the corrected p "
    "is not above 0.05. Nothing else differs. Methods that were run with one value only, as those that have no use for "
    "the setting, are not here."
)


def list_variations(settings: Settings, against: Sequence[Against]) -> list[Table]:
    """Make a table of accuracy by method and value for each setting that varies."""
    runs = sorted((run for held in settings.values() for run in held), key=lambda run: run.order)
    main = next(iter(settings))
    references = ", ".join(sorted({one.reference.method for one in against})) or "a reference"
    differences = {
        comparison.other.name: difference
        # A method without a judge is set against several references: the first is of its own setting.
        for one in reversed(against)
        for comparison in one.comparisons
        if (difference := comparison.differences.get(ACC.key)) is not None
    }
    tables = []
    for name, _ in main.values:
        values = {} if name == TOP_K else vary(runs, main, name)
        if values:
            note = _NOTE.format(reference=references)
            tables.append(_make_table(name, note, values, differences))
    return tables


def _make_table(
    name: str, note: str, values: Mapping[Value, Sequence[Run]], differences: Mapping[str, Difference]
) -> Table:
    held = {(run.dataset, value, run.method): run for value, shown in values.items() for run in shown}
    order = list(values)
    columns = sorted({key[:2] for key in held}, key=lambda column: (column[0], order.index(column[1])))
    methods = [run.method for run in sorted(held.values(), key=lambda run: run.order)]
    datasets = [dataset for dataset, _ in columns]
    return Table(
        "by-" + name.replace(" ", "-").replace("/", "-"),
        f"Accuracy by {name}",
        note,
        tuple((dataset, datasets.count(dataset)) for dataset in dict.fromkeys(datasets)),
        tuple(describe(name, value) for _, value in columns),
        tuple(
            Row(method, tuple(_fill_cell(held.get((*column, method)), differences) for column in columns))
            for method in dict.fromkeys(methods)
        ),
    )


def _fill_cell(run: Run | None, differences: Mapping[str, Difference]) -> Cell:
    if run is None:
        return Cell(DASH)
    text, difference = ACC.text(run.value(ACC)), differences.get(run.name)
    if difference is None:
        return Cell(text)
    star = " *" if difference.verdict in ("better", "worse") else ""
    return Cell(text, ACC.text(-difference.interval.mean, sign=True) + star)
