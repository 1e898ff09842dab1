"""Group the runs that can be compared: those of one setting, and those that differ in one setting only."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from prefrag.evaluation.report.runs import Run
from prefrag.evaluation.report.settings import Setting

Settings = Mapping[Setting, Sequence[Run]]


def group_by_setting(runs: Sequence[Run]) -> dict[Setting, list[Run]]:
    """Group runs by their setting.

    :param runs: Runs.
    :returns: The runs of each setting, the one with most runs first. A run that has no judge, no top-k or no retriever
        is with the largest setting that it agrees with. So are methods that were all run with one top-k of their own
        alone, as DR-RAG's k is another number than PrefRAG's.
    """
    groups: dict[Setting, list[Run]] = {}
    for run in runs:
        groups.setdefault(Setting.of(run), []).append(run)
    largest_first = sorted(groups, key=lambda setting: -len(groups[setting]))
    found: dict[Setting, list[Run]] = {}
    for run in runs:
        own = Setting.of(run)
        larger = largest_first[: largest_first.index(own)]
        with_others = [setting for setting in largest_first if setting != own and setting.holds(run)]
        if all(_has_one_top_k(other, runs) for other in groups[own]):
            with_others += [setting for setting in larger if replace(setting, top_k=run.top_k).holds(run)]
        found.setdefault(with_others[0] if with_others else own, []).append(run)
    shared = frozenset.intersection(*(frozenset(setting.parts) for setting in found))
    several = {f"k {run.top_k}" for run in runs if run.top_k is not None}
    if len(several) > 1:
        # Includes methods with a top-k of their own.
        shared -= several
    return {
        replace(setting, known=shared): found[setting] for setting in sorted(found, key=lambda one: -len(found[one]))
    }


def _has_one_top_k(run: Run, runs: Sequence[Run]) -> bool:
    return len({other.top_k for other in runs if other.method == run.method}) == 1


def group_varied(
    runs: Sequence[Run],
    value: Callable[[Run], float | str | None],
    rest: Callable[[Run], tuple[object, ...]],
) -> list[list[Run]]:
    """Group the runs that differ in one setting only.

    :param runs: Runs.
    :param value: Gives the value of a run that varies.
    :param rest: Gives the values of a run that must be equal.
    :returns: The groups of runs on one dataset that differ only in two or more of these values, sorted by them.
    """
    groups: dict[Hashable, list[Run]] = {}
    for run in runs:
        if value(run) is not None:
            groups.setdefault((run.dataset, *rest(run)), []).append(run)
    return [
        sorted(group, key=lambda run: sort_key(value(run)))
        for group in groups.values()
        if len({value(run) for run in group}) > 1
    ]


def sort_key(value: float | str | None) -> tuple[float, str]:
    """Make values of several types comparable.

    :param value: A number, a word or nothing.
    :returns: A key that sorts numbers by size and words by alphabet; None counts as zero.
    """
    return (0.0, value) if isinstance(value, str) else (value or 0.0, "")
