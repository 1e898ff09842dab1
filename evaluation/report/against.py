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
        # Methods whose accuracy must be 0.
        without_answers: list[str] = []
        methods_by_verdict: dict[str, list[str]] = {verdict: [] for verdict in _BRIEF}
        for comparison in self.comparisons:
            method = comparison.other.method
            difference = comparison.differences.get(ACC.key)
            if _answers_nothing(comparison.other):
                without_answers.append(method)
            elif difference is not None:
                numbers = f"{difference.mean_text}; {difference.interval_text}; {difference.p_text}"
                methods_by_verdict[difference.verdict].append(f"{method} ({numbers})")

        parts = []
        for verdict, methods in methods_by_verdict.items():
            if methods:
                parts.append(f"{_BRIEF[verdict]} {', '.join(methods)}")
        if without_answers:
            parts.append(f"is not compared with {', '.join(without_answers)}: the simulated reader needs passages")
        if not parts:
            parts.append("was not measured")
        return "; ".join(parts) + "."


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
            own_runs = [run for run in runs if run.dataset == dataset]
            # Runs are grouped by their settings. Two groups may differ only in settings that a method does not use.
            # Then the method's run in the other group also belongs here.
            fitting = list(own_runs)
            for other_setting, other_runs in settings.items():
                if other_setting != setting:
                    fitting += [run for run in other_runs if run.dataset == dataset and setting.holds(run)]
            fitting.sort(key=lambda run: run.order)
            reference = _choose_reference(fitting, method)

            # If the reference is from another group, the other runs from there are compared in their own group.
            candidates = fitting if reference in own_runs else own_runs
            others = []
            for run in candidates:
                if run is not reference and set(list_differences(reference, run)) <= OF_METHODS:
                    others.append(run)
            if not others:
                continue

            is_first = all(table.dataset != dataset for table in tables)
            not_compared: tuple[str, ...] = ()
            if is_first:
                not_compared = tuple(_explain_left_out(reference, others, every))
            tables.append(
                Against(
                    dataset=dataset,
                    setting=setting,
                    reference=reference,
                    comparisons=tuple(compare([(reference, run) for run in others])),
                    main=is_first,
                    not_compared=not_compared,
                )
            )
    return tables


def compare_one_change(settings: Settings, tables: Sequence[Against]) -> list[Comparison]:
    """Compare runs of the same method that differ in at most one setting.

    At least one run of each pair is from the first group of settings. Pairs that were compared before are left out.

    :param settings: The runs of one task, grouped by their settings.
    :param tables: The comparisons with the reference, which are not repeated.
    :returns: The comparisons. Those on the same dataset with the same changed setting are corrected together.
    """
    # The names of the two runs of each pair that was compared before.
    compared_names: set[frozenset[str]] = set()
    for against in tables:
        for comparison in against.comparisons:
            compared_names.add(frozenset((comparison.run.name, comparison.other.name)))
    first_names = {run.name for run in next(iter(settings.values()))}

    runs_of_methods: dict[tuple[str, str], list[Run]] = {}
    for run in _list_runs(settings):
        runs_of_methods.setdefault((run.dataset, run.family), []).append(run)

    # The pairs, by the dataset and the name of the changed setting.
    families: dict[tuple[str, str], list[tuple[Run, Run]]] = {}
    for (dataset, _), runs in runs_of_methods.items():
        for run, other in itertools.combinations(runs, 2):
            names = frozenset((run.name, other.name))
            if names in compared_names or first_names.isdisjoint(names):
                continue
            differing = list_differences(run, other)
            # The accuracy of the simulated reader says nothing about the accuracy of a model. So the two are not
            # compared.
            if len(differing) <= 1 and run.simulated == other.simulated:
                changed_setting = differing[0] if differing else ""
                families.setdefault((dataset, changed_setting), []).append((run, other))

    comparisons = []
    for _, pairs in sorted(families.items()):
        comparisons += compare(pairs)
    return comparisons


def _list_runs(settings: Settings) -> list[Run]:
    """Return the runs of all groups, in the order of the tables."""
    runs = [run for group in settings.values() for run in group]
    return sorted(runs, key=lambda run: run.order)


def _explain_left_out(reference: Run, compared: Sequence[Run], all_runs: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each reason why runs on the reference's dataset are not compared with the reference."""
    compared_runs = [*compared, reference]
    methods = {run.method: run for run in compared_runs}
    names = {run.name for run in compared_runs}
    # For each method that was not compared at all: the settings in which its most similar run differs.
    reasons: dict[str, tuple[str, ...]] = {}
    # For methods that were compared: the settings in which their other runs differ. The dictionary is an ordered set.
    further_obstacles: dict[str, None] = {}
    for run in all_runs:
        if run.dataset != reference.dataset or run.name in names:
            continue
        if run.method in methods:
            obstacles = list_obstacles(methods[run.method], run)
            further_obstacles.update(dict.fromkeys(obstacles))
            continue
        obstacles = list_obstacles(reference, run)
        if run.method not in reasons or len(obstacles) < len(reasons[run.method]):
            reasons[run.method] = obstacles

    for reason in dict.fromkeys(reasons.values()):
        methods_left_out = ", ".join(method for method, other in reasons.items() if other == reason)
        different = ", ".join(reason) or "settings"
        yield f"Not compared: {methods_left_out} (different {different})."
    if further_obstacles:
        yield f"Not compared here: runs of the same methods with different {', '.join(further_obstacles)}."


def _answers_nothing(run: Run) -> bool:
    """Check whether a run's accuracy must be 0, because the simulated reader was shown no passages."""
    return run.simulated and run.family == "no_retrieval"


def _choose_reference(runs: Sequence[Run], method: str | None) -> Run:
    """Return the run of this method. If there is none, return PrefRAG's run, or else the last run in the tables."""
    for name in (method, REFERENCE):
        # A method with this whole name comes before one that only has another retriever.
        for run in runs:
            if run.method == name:
                return run
        for run in runs:
            if run.family == name:
                return run
    return runs[-1]


def list_variations(settings: Settings, against: Sequence[Against]) -> list[Table]:
    """Make a table for each setting that varies: the accuracy of each method at each value of the setting.

    :param settings: The runs of one task, grouped by their settings. The first group is the one that is varied.
    :param against: The comparisons with the reference, whose differences the tables show.
    :returns: The tables. Top-k has no table here, because a paper's table shows it.
    """
    runs = _list_runs(settings)
    main = next(iter(settings))
    references = ", ".join(sorted({table.reference.method for table in against})) or "a reference"
    # The difference in accuracy of each run from the reference, by the name of the run. A method without a judge is
    # compared once at each judge error of the others. Its first comparison is shown, so the last ones come first here
    # and are replaced.
    differences: dict[str, Difference] = {}
    for table in reversed(against):
        for comparison in table.comparisons:
            if ACC.key in comparison.differences:
                differences[comparison.other.name] = comparison.differences[ACC.key]

    tables = []
    for name, _ in main.values:
        if name == TOP_K:
            continue
        values = vary(runs, main, name)
        if values:
            note = _NOTE_OF_VARIATIONS.format(reference=references)
            tables.append(_make_table(name, note, values, differences))
    return tables


def _make_table(
    name: str, note: str, values: Mapping[Value, Sequence[Run]], differences: Mapping[str, Difference]
) -> Table:
    """Make the table of one setting. Its columns are the values of the setting on each dataset."""
    # The runs by their dataset, the value of the setting and their method.
    runs_of_cells: dict[tuple[str, Value, str], Run] = {}
    for value, runs in values.items():
        for run in runs:
            runs_of_cells[run.dataset, value, run.method] = run
    order = list(values)

    def position(column: tuple[str, Value]) -> tuple[str, int]:
        """Return the sort key of a column: the dataset, and the place of the value among all values."""
        dataset, value = column
        return dataset, order.index(value)

    columns = sorted({(dataset, value) for dataset, value, _ in runs_of_cells}, key=position)
    datasets = [dataset for dataset, _ in columns]
    groups = tuple((dataset, datasets.count(dataset)) for dataset in dict.fromkeys(datasets))
    headings = tuple(describe(name, value) for _, value in columns)
    methods = [run.method for run in sorted(runs_of_cells.values(), key=lambda run: run.order)]

    rows = []
    for method in dict.fromkeys(methods):
        cells = [_fill_cell(runs_of_cells.get((dataset, value, method)), differences) for dataset, value in columns]
        rows.append(Row(method, tuple(cells)))
    id = "by-" + name.replace(" ", "-").replace("/", "-")
    return Table(id, f"Accuracy by {name}", note, groups, headings, tuple(rows))


def _fill_cell(run: Run | None, differences: Mapping[str, Difference]) -> Cell:
    """Return the cell of a run: its accuracy, and below it the difference from the reference, if there is one."""
    if run is None:
        return Cell(DASH)
    text = ACC.text(run.value(ACC))
    difference = differences.get(run.name)
    if difference is None:
        return Cell(text)
    # The difference is the value of the reference minus that of the run. The cell shows the opposite.
    below = ACC.text(-difference.interval.mean, sign=True)
    if difference.verdict in ("better", "worse"):
        below += " *"
    return Cell(text, below)
