"""Compare every method with a reference method, and say which runs are not compared.

A run is one method on one dataset under one setting. A setting is a combination of values such as the model and top-k.
Two runs are compared only if they differ in nothing but the method. :class:`Against` has the comparisons for one
dataset and setting.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prefrag.evaluation.report.comparison import Comparison, Difference, compare
from prefrag.evaluation.report.grouping import Settings, vary
from prefrag.evaluation.report.measures import ACC, DASH
from prefrag.evaluation.report.runs import TOP_K, Run, Value
from prefrag.evaluation.report.settings import OF_METHODS, Setting, describe, list_differences, list_obstacles
from prefrag.evaluation.report.table import Cell, Row, Table

# The method that all others are compared with, unless the user names another.
REFERENCE = "prefrag"
# The words of the short summary for each verdict, see `Against.brief`.
_BRIEF = {
    "better": "is higher than that of",
    "worse": "is lower than that of",
    "no difference shown": "is not shown to differ from that of",
    "too few questions": "is compared over too few questions with that of",
}
# The note below a table that shows how one setting changes the accuracy.
_NOTE_OF_VARIATIONS = (
    "Accuracy, and below it the difference from {reference} with the same value of this setting. A star means a "
    "corrected p of at most 0.05. All other settings are equal. Methods that were run with only one value, for example "
    "because they do not use the setting, are left out."
)


@dataclass(frozen=True)
class Against:
    """The comparison of all methods with a reference, for one task, setting and dataset."""

    # The name of the dataset.
    dataset: str
    # The setting of the runs.
    setting: Setting
    # The run of the method that the others are compared with.
    reference: Run
    # The reference against every other method. The p-values are corrected for the number of comparisons.
    comparisons: tuple[Comparison, ...]
    # Whether this is the first comparison on the dataset. The page shows it open, and the others only after a click.
    main: bool
    # Sentences that say which runs on the dataset are not compared, and why.
    not_compared: tuple[str, ...] = ()

    @property
    def brief(self) -> str:
        """The result for accuracy. It is the end of a sentence that begins with "accuracy of REFERENCE"."""
        parts = []
        by_construction = [
            comparison.other.method for comparison in self.comparisons if _answers_nothing(comparison.other)
        ]

        for verdict, words in _BRIEF.items():
            methods = []
            for comparison in self.comparisons:
                difference = comparison.differences.get(ACC.key)
                if difference and difference.verdict == verdict and not _answers_nothing(comparison.other):
                    numbers = f"{difference.mean_text}; {difference.interval_text}; {difference.p_text}"
                    methods.append(f"{comparison.other.method} ({numbers})")
            if methods:
                parts.append(f"{words} {', '.join(methods)}")

        if by_construction:
            parts.append(f"is not compared with {', '.join(by_construction)}: the simulated reader needs passages")
        return "; ".join(parts or ["was not measured"]) + "."


def compare_with_reference(settings: Settings, every: Sequence[Run], method: str | None = None) -> list[Against]:
    """Compare each method with the reference, for every setting and dataset that has at least two methods.

    A method that does not use a setting is in the tables at only one value of this setting. Here it is compared at
    every value. For example, a method without a judge is compared at every judge error of the other methods.

    :param settings: The runs of one task, grouped by their settings.
    :param every: All runs of the report.
    :param method: The name of the reference method. None means ``REFERENCE``.
    :returns: The comparisons, in the order of the settings and datasets.
    """
    tables: list[Against] = []
    for setting, runs in settings.items():
        for dataset in sorted({run.dataset for run in runs}):
            of_dataset = [run for run in runs if run.dataset == dataset]
            # Runs are grouped by their settings. Two groups may differ only in settings that a method does not use.
            # Then the method's run in the other group also belongs here.
            from_other_groups = []
            for other_setting, other_runs in settings.items():
                if other_setting != setting:
                    from_other_groups += [run for run in other_runs if run.dataset == dataset and setting.holds(run)]
            fitting = sorted([*of_dataset, *from_other_groups], key=lambda run: run.order)
            reference = _choose_reference(fitting, method)
            # If the reference is from another group, the other runs from there are compared in their own group.
            candidates = fitting if reference in of_dataset else of_dataset

            others = []
            for run in candidates:
                if run is not reference and set(list_differences(reference, run)) <= OF_METHODS:
                    others.append(run)
            if others:
                main = dataset not in {table.dataset for table in tables}
                left_out = _explain_left_out(reference, others, every) if main else ()
                family = tuple(compare([(reference, run) for run in others]))
                tables.append(Against(dataset, setting, reference, family, main, tuple(left_out)))
    return tables


def compare_one_change(settings: Settings, tables: Sequence[Against]) -> list[Comparison]:
    """Compare runs of the same method that differ in at most one setting.

    At least one run of each pair is from the first group of settings. Pairs that were compared before are left out.

    :param settings: The runs of one task, grouped by their settings.
    :param tables: The comparisons with the reference, which are not repeated.
    :returns: The comparisons. Those on the same dataset with the same changed setting are corrected together.
    """
    compared_names = {
        frozenset((comparison.run.name, comparison.other.name))
        for against in tables
        for comparison in against.comparisons
    }
    first_names = {run.name for run in next(iter(settings.values()))}
    methods: dict[tuple[str, str], list[Run]] = {}
    for run in sorted((run for group in settings.values() for run in group), key=lambda run: run.order):
        methods.setdefault((run.dataset, run.family), []).append(run)

    families: dict[tuple[str, str], list[tuple[Run, Run]]] = {}
    for (dataset, _), runs in methods.items():
        for run, other in itertools.combinations(runs, 2):
            if first_names.isdisjoint((run.name, other.name)) or frozenset((run.name, other.name)) in compared_names:
                continue
            differing = list_differences(run, other)
            # The accuracy of the simulated reader says nothing about the accuracy of a model. So the two are not
            # compared.
            if len(differing) <= 1 and run.simulated == other.simulated:
                families.setdefault((dataset, "".join(differing)), []).append((run, other))
    return [comparison for _, pairs in sorted(families.items()) for comparison in compare(pairs)]


def _explain_left_out(reference: Run, compared: Sequence[Run], all_runs: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each reason why runs on the reference's dataset are not compared with the reference."""
    methods = {run.method: run for run in (*compared, reference)}
    names = {run.name for run in (reference, *compared)}
    # For each method that was not compared at all: the settings in which its most similar run differs.
    reasons: dict[str, tuple[str, ...]] = {}
    # For methods that were compared: the settings in which their other runs differ. The dictionary is an ordered set.
    further_obstacles: dict[str, None] = {}
    for run in all_runs:
        if run.dataset != reference.dataset or run.name in names:
            continue
        obstacles = list_obstacles(methods.get(run.method, reference), run)
        if run.method in methods:
            further_obstacles.update(dict.fromkeys(obstacles))
        elif run.method not in reasons or len(obstacles) < len(reasons[run.method]):
            reasons[run.method] = obstacles

    for reason in dict.fromkeys(reasons.values()):
        methods_left_out = ", ".join(method for method, other in reasons.items() if other == reason)
        yield f"Not compared: {methods_left_out} (different {', '.join(reason) or 'settings'})."
    if further_obstacles:
        yield f"Not compared here: runs of the same methods with different {', '.join(further_obstacles)}."


def _answers_nothing(run: Run) -> bool:
    """Check whether a run's accuracy must be 0, because the simulated reader was shown no passages."""
    return run.simulated and run.family == "no_retrieval"


def _choose_reference(runs: Sequence[Run], method: str | None) -> Run:
    """Return the run of this method. If there is none, return PrefRAG's run, or else the last run in the tables."""
    named_runs = [(run.method, run) for run in runs]
    named_runs += [(run.family, run) for run in runs]
    return next((run for name in (method, REFERENCE) for run_name, run in named_runs if run_name == name), runs[-1])


def list_variations(settings: Settings, against: Sequence[Against]) -> list[Table]:
    """Make a table for each setting that varies: the accuracy of each method at each value of the setting.

    :param settings: The runs of one task, grouped by their settings. The first group is the one that is varied.
    :param against: The comparisons with the reference, whose differences the tables show.
    :returns: The tables. Top-k has no table here, because a paper's table shows it.
    """
    runs = sorted((run for group in settings.values() for run in group), key=lambda run: run.order)
    main = next(iter(settings))
    references = ", ".join(sorted({table.reference.method for table in against})) or "a reference"
    differences = {
        comparison.other.name: comparison.differences[ACC.key]
        # A method without a judge is compared once at each judge error of the others. Its first comparison is shown,
        # because a later item replaces an earlier one.
        for table in reversed(against)
        for comparison in table.comparisons
        if ACC.key in comparison.differences
    }

    tables = []
    for name, _ in main.values:
        values = {} if name == TOP_K else vary(runs, main, name)
        if values:
            note = _NOTE_OF_VARIATIONS.format(reference=references)
            tables.append(_make_table(name, note, values, differences))
    return tables


def _make_table(
    name: str, note: str, values: Mapping[Value, Sequence[Run]], differences: Mapping[str, Difference]
) -> Table:
    """Make the table of one setting. Its columns are the values of the setting on each dataset."""
    by_column = {(run.dataset, value, run.method): run for value, runs in values.items() for run in runs}
    order = list(values)

    def position(column: tuple[str, Value]) -> tuple[str, int]:
        """Return the sort key of a column: the dataset, and the place of the value among all values."""
        dataset, value = column
        return dataset, order.index(value)

    columns = sorted({(dataset, value) for dataset, value, _ in by_column}, key=position)
    datasets = [dataset for dataset, _ in columns]
    groups = tuple((dataset, datasets.count(dataset)) for dataset in dict.fromkeys(datasets))
    headings = tuple(describe(name, value) for _, value in columns)
    methods = [run.method for run in sorted(by_column.values(), key=lambda run: run.order)]

    rows = []
    for method in dict.fromkeys(methods):
        cells = [_fill_cell(by_column.get((*column, method)), differences) for column in columns]
        rows.append(Row(method, tuple(cells)))
    id = "by-" + name.replace(" ", "-").replace("/", "-")
    return Table(id, f"Accuracy by {name}", note, groups, headings, tuple(rows))


def _fill_cell(run: Run | None, differences: Mapping[str, Difference]) -> Cell:
    """Return the cell of a run: its accuracy, and below it the difference from the reference, if there is one."""
    if run is None:
        return Cell(DASH)
    text, difference = ACC.text(run.value(ACC)), differences.get(run.name)
    if difference is None:
        return Cell(text)
    star = " *" if difference.verdict in ("better", "worse") else ""
    return Cell(text, ACC.text(-difference.interval.mean, sign=True) + star)
