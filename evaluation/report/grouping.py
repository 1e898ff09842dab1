"""Group runs that can be compared.

The runs of one group have the same task and the same settings. Other groups have runs that differ in one setting only.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from prefrag.evaluation.report.runs import TOP_K, USUAL, Run, Value
from prefrag.evaluation.report.settings import Setting, describe

# The runs by their settings.
Settings = Mapping[Setting, Sequence[Run]]


def group_by_task(runs: Sequence[Run]) -> dict[str | None, list[Run]]:
    """Group runs by their task: the corpus is split between the sources, or it is used whole.

    :param runs: All runs.
    :returns: The runs of each task, see :attr:`Run.task`. A run without a task is in all groups.
    """
    tasks: list[str | None] = [*sorted({run.task for run in runs if run.task is not None})]
    groups = {}
    for task in tasks or [None]:
        groups[task] = [run for run in runs if run.task in (None, task)]
    return groups


def group_by_setting(runs: Sequence[Run]) -> dict[Setting, list[Run]]:
    """Group runs with equal settings, the largest group first.

    A run may lack a setting, because its method does not use it. Such a run joins the largest group that has its other
    settings. A method that was run with only one top-k may also join a larger group with another top-k.

    :param runs: The runs of one task.
    :returns: The runs by their settings.
    """
    values = _count_values(runs)
    groups: dict[Setting, list[Run]] = {}
    # The values of top-k that each method was run with.
    top_ks: dict[str, set[int | None]] = {}
    for run in runs:
        groups.setdefault(_complete(run, values), []).append(run)
        top_ks.setdefault(run.method, set()).add(run.top_k)

    # Each run goes to the largest group that fits.
    largest_first = _order(groups)
    by_setting: dict[Setting, list[Run]] = {}
    for run in runs:
        run_setting = next(setting for setting in largest_first if setting.holds(run))
        # The methods of this group may all have only one top-k. Then a larger group may fit that differs only in top-k.
        if all(len(top_ks[other.method]) == 1 for other in groups[run_setting]):
            for larger in largest_first[: largest_first.index(run_setting)]:
                if larger.put(TOP_K, run.top_k).holds(run):
                    run_setting = larger
                    break
        by_setting.setdefault(run_setting, []).append(run)

    # The text of a group leaves out what all groups share.
    parts_of_settings = [frozenset(setting.parts) for setting in by_setting]
    shared = frozenset.intersection(*parts_of_settings)
    different_ks = {describe(TOP_K, run.top_k) for run in runs if run.top_k is not None}
    if len(different_ks) > 1:
        # The runs differ in top-k, so the text of every group names its top-k.
        shared -= different_ks
    return {replace(setting, shared=shared): by_setting[setting] for setting in _order(by_setting)}


def _count_values(runs: Sequence[Run]) -> dict[tuple[str, str], Counter[Value]]:
    """Count how often each value of a setting occurs, by the model and the name of the setting."""
    values: dict[tuple[str, str], Counter[Value]] = {}
    for run in runs:
        for name, value in run.settings.items():
            counter = values.setdefault((run.model, name), Counter())
            if value is not None:
                counter[value] += 1
    return values


def _order(groups: Mapping[Setting, Sequence[Run]]) -> list[Setting]:
    """Sort settings by the sizes of their groups, the largest first. Of equally large ones, the most usual is first."""
    return sorted(groups, key=lambda setting: (-len(groups[setting]), -setting.usual))


def vary(runs: Sequence[Run], main: Setting, name: str) -> dict[Value, list[Run]]:
    """Group the runs that differ from one setting only in one value.

    :param runs: The runs.
    :param main: The setting.
    :param name: The name of the value that may differ, such as "judge error".
    :returns: The runs by this value, in the order of the values. Methods that were run with only one value are left
        out.
    """
    by_value: dict[Value, list[Run]] = {}
    # The values that each method was run with on each dataset.
    values: dict[tuple[str, str], set[Value]] = {}
    for run in runs:
        value = run.settings.get(name)
        if value is not None and main.put(name, value).holds(run):
            by_value.setdefault(value, []).append(run)
            values.setdefault((run.method, run.dataset), set()).add(value)

    varied = {}
    for value in sorted(by_value, key=sort_key):
        group = [run for run in by_value[value] if len(values[run.method, run.dataset]) > 1]
        if group:
            varied[value] = group
    return varied


def sort_key(value: Value) -> tuple[float, str]:
    """Return a key that sorts values of different types: numbers first, then texts.

    :param value: The value of a setting.
    :returns: The key.
    """
    if isinstance(value, str):
        return 0.0, value
    return value or 0.0, ""


def _complete(run: Run, values: Mapping[tuple[str, str], Counter[Value]]) -> Setting:
    """Fill in the settings that a run does not use.

    The usual value is taken if another run with the same model has it, otherwise the most frequent value.
    """
    setting = Setting.of(run)
    for name, value in setting.values:
        choices = values[run.model, name]
        if value is None and choices:
            [(filled, _)] = choices.most_common(1)
            if USUAL.get(name) in choices:
                filled = USUAL[name]
            setting = setting.put(name, filled)
    return setting
