"""Group runs that can be compared: runs with the same task and settings, or runs that differ in one setting."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from prefrag.evaluation.report.runs import TOP_K, USUAL, Run, Value
from prefrag.evaluation.report.settings import Setting, describe

Settings = Mapping[Setting, Sequence[Run]]


def group_by_task(runs: Sequence[Run]) -> dict[str | None, list[Run]]:
    """Group runs by :attr:`Run.task`; a run without a task is in all groups."""
    tasks: list[str | None] = [*sorted({run.task for run in runs if run.task is not None})]
    groups = {}
    for task in tasks or [None]:
        groups[task] = [run for run in runs if run.task in (None, task)]
    return groups


def group_by_setting(runs: Sequence[Run]) -> dict[Setting, list[Run]]:
    """Group runs with equal settings. A run that lacks a setting joins the largest group with its other settings."""
    groups: dict[Setting, list[Run]] = {}
    top_ks: dict[str, set[int | None]] = {}
    values: dict[tuple[str, str], Counter[Value]] = {}
    for run in runs:
        top_ks.setdefault(run.method, set()).add(run.top_k)
        for name, value in run.settings.items():
            counter = values.setdefault((run.model, name), Counter())
            if value is not None:
                counter[value] += 1
    for run in runs:
        groups.setdefault(_complete(run, values), []).append(run)
    largest_first = sorted(groups, key=lambda setting: (-len(groups[setting]), -setting.usual))
    by_setting: dict[Setting, list[Run]] = {}
    for run in runs:
        own = next(setting for setting in largest_first if setting.holds(run))
        if all(len(top_ks[other.method]) == 1 for other in groups[own]):
            larger = largest_first[: largest_first.index(own)]
            own = next((setting for setting in larger if setting.put(TOP_K, run.top_k).holds(run)), own)
        by_setting.setdefault(own, []).append(run)
    shared = frozenset.intersection(*(frozenset(setting.parts) for setting in by_setting))
    several = {describe(TOP_K, run.top_k) for run in runs if run.top_k is not None}
    if len(several) > 1:
        # The runs differ in top-k, so the text of every group names its top-k.
        shared -= several
    order = sorted(by_setting, key=lambda setting: (-len(by_setting[setting]), -setting.usual))
    return {replace(setting, shared=shared): by_setting[setting] for setting in order}


def vary(runs: Sequence[Run], main: Setting, name: str) -> dict[Value, list[Run]]:
    """Group the runs that are otherwise set as in ``main`` by the setting ``name``. Drop methods with one value."""
    by_value: dict[Value, list[Run]] = {}
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
    """Return a key that sorts values of different types: numbers first, then texts."""
    return (0.0, value) if isinstance(value, str) else (value or 0.0, "")


def _complete(run: Run, values: Mapping[tuple[str, str], Counter[Value]]) -> Setting:
    """Fill in the settings that a run does not use: the usual value if another run has it, or the most frequent."""
    setting = Setting.of(run)
    for name, value in setting.values:
        choices = values[run.model, name]
        if value is None and choices:
            most_common = choices.most_common(1)[0][0]
            setting = setting.put(name, USUAL[name] if USUAL.get(name) in choices else most_common)
    return setting
