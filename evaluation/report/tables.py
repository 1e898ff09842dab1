"""The tables of the papers, filled from the runs that there are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prefrag.evaluation.report.comparison import Interval
from prefrag.evaluation.report.measures import (
    ACC,
    CALLS,
    DASH,
    DOCUMENTS,
    EM,
    F1,
    RECALL,
    RECALL_ALL,
    SECONDS,
    TOTAL,
    TOTAL_LOCAL,
    TOTAL_WEB,
    USED,
    USED_LOCAL,
    Measure,
)
from prefrag.evaluation.report.runs import Run
from prefrag.evaluation.report.settings import Setting

Intervals = Mapping[tuple[str, str], Interval]
REFERENCE = "prefrag"
ABLATIONS = ("prefrag_without_preference", "prefrag_without_reflection", "prefrag_direct")
# The single retrieval that calls and time are relative to, best match first.
SINGLE_STEP = ("vanilla_local", "vanilla_mix", "vanilla_web")
AVERAGE = Measure("average", "Avg")
# Yes or no: F1 and EM say nothing that accuracy does not (PrefRAG, table 1).
_ACCURACY_ALONE = ("bioasq",)


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    :param text: It in digits, or a dash.
    :param interval: Its 95% interval in digits, where there is one.
    :param best: Whether it is the best of its column under its setting.
    """

    text: str
    interval: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    """One line of a table.

    :param label: What it is of.
    :param cells: One a column; none for a line that heads those below it.
    """

    label: str
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table.

    :param id: Its anchor.
    :param title: Its title.
    :param note: What a reader must know.
    :param groups: The upper heads, each with the number of columns below it.
    :param columns: The lower heads.
    :param rows: Its lines.
    """

    id: str
    title: str
    note: str
    groups: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def starts(self) -> set[int]:
        """:returns: The columns at which a group starts."""
        return {sum(width for _, width in self.groups[:place]) for place in range(len(self.groups))}

    @property
    def flat_columns(self) -> list[str]:
        """:returns: Both heads in one, for a format with a single line of them."""
        upper = [name for name, width in self.groups for _ in range(width)]
        return [f"{name} {column}".strip() for name, column in zip(upper, self.columns, strict=True)]


@dataclass(frozen=True)
class _Column:
    measure: Measure
    value: Callable[[Run], float | None]
    ranked: bool = True


@dataclass
class _Lines:
    """Runs by line and dataset, in the order in which they came."""

    lines: dict[Hashable, tuple[str, dict[str, Run]]] = field(default_factory=dict)

    def add(self, key: Hashable, label: str, run: Run) -> None:
        held = self.lines.setdefault(key, (label, {}))[1]
        if run.dataset in held:
            # Two runs of one method under one setting: the folder tells them apart.
            self.lines[key, run.name] = (f"{label} ({run.name})", {run.dataset: run})
        else:
            held[run.dataset] = run


Settings = Mapping[Setting, Sequence[Run]]


def paper_tables(settings: Settings, intervals: Intervals) -> list[Table]:
    """Fill every table that there are runs for.

    :param settings: The runs by setting.
    :param intervals: The interval of each score.
    :returns: The tables.
    """
    tables = [
        _overall(settings, intervals),
        _ablation(settings, intervals),
        _varied(
            "top-k",
            "Documents a retrieval (PrefRAG, table 16)",
            "top-k",
            settings,
            intervals,
            lambda run: run.top_k,
            lambda run: (run.method, run.model, run.judge_error, run.retriever),
        ),
        _varied(
            "retrievers",
            "Retrievers (PrefRAG, table 17)",
            "retriever",
            settings,
            intervals,
            lambda run: run.retriever,
            lambda run: (run.family, run.model, run.judge_error, run.top_k),
        ),
        _varied(
            "judge-error",
            "Errors of the simulated judge",
            "judge error",
            settings,
            intervals,
            lambda run: run.judge_error,
            lambda run: (run.method, run.model, run.top_k, run.retriever),
        ),
        _counts(settings, intervals),
        _recall(settings, intervals),
        _cost(settings, intervals),
    ]
    return [table for table in tables if table is not None]


def _overall(settings: Settings, intervals: Intervals) -> Table | None:
    return _by_setting(
        "overall",
        "Overall (PrefRAG, tables 1 and 4)",
        "Scores in percent, their 95% interval below (bootstrap; Wilson's where all questions have 0 or all have 100), "
        "the best of each column in bold. Avg is the mean of Acc, F1 and EM; questions answered with yes or no have "
        "Acc alone.",
        settings,
        intervals,
        _scores,
    )


def _ablation(settings: Settings, intervals: Intervals) -> Table | None:
    kept = {
        setting: [run for run in held if run.family in (*ABLATIONS, REFERENCE)]
        for setting, held in settings.items()
        if any(run.family in ABLATIONS for run in held)
    }
    return _by_setting(
        "ablation",
        "Ablation (PrefRAG, tables 2 and 6)",
        "without_preference lets the model choose the source, without_reflection takes the first answer, direct states "
        "the preference in the descriptions of the tools alone.",
        kept,
        intervals,
        _scores,
    )


def _counts(settings: Settings, intervals: Intervals) -> Table | None:
    measures = (TOTAL_LOCAL, TOTAL_WEB, TOTAL, USED_LOCAL, USED)
    return _by_setting(
        "counts",
        "Retrievals a question (PrefRAG, A.6)",
        "Means a question, where the paper prints sums over its questions. Used: the model was shown the documents.",
        _only(settings, lambda run: any(run.value(measure) is not None for measure in measures)),
        intervals,
        lambda dataset: [_plain(ACC), *(_plain(measure, ranked=False) for measure in measures)],
    )


def _recall(settings: Settings, intervals: Intervals) -> Table | None:
    return _by_setting(
        "recall",
        "Recall by documents given (DR-RAG, table 5)",
        "Recall is the share of a question's gold passages among the documents that the model was given, All found the "
        "share of questions with all of them, Documents their number a question.",
        _only(settings, lambda run: run.value(RECALL) is not None),
        intervals,
        lambda dataset: [_plain(RECALL), _plain(RECALL_ALL), _plain(DOCUMENTS, ranked=False)],
    )


def _cost(settings: Settings, intervals: Intervals) -> Table | None:
    """Calls and time against one retrieval and one call, as table 2 of DR-RAG has them."""
    runs = [run for held in settings.values() for run in held]
    if not any(run.method in SINGLE_STEP for run in runs):
        return None
    seconds = Measure("time", "Time", "count", 2)

    def relative(run: Run) -> float | None:
        own, single = run.value(SECONDS), single_step(run, runs)
        # A question's seconds hold its wait for those asked at the same time.
        base = single.value(SECONDS) if single and single.concurrency == run.concurrency else None
        return own / base if own is not None and base else None

    note = (
        "Calls of a model a question, and seconds a question as a multiple of single-step RAG's (vanilla_local, or the "
        "vanilla pipeline that there is). Seconds hold the wait for other questions: there is no multiple of a run "
        "with another number of questions at once."
    )
    if any(run.simulated for run in runs):
        note += " A simulated reader takes no time to think: its times are those of retrieval and wiring alone."
    return _by_setting(
        "cost",
        "Calls and time relative to single-step RAG (DR-RAG, table 2)",
        note,
        settings,
        intervals,
        lambda dataset: [
            *(column for column in _scores(dataset) if column.measure != AVERAGE),
            _plain(CALLS, ranked=False),
            _Column(seconds, relative, ranked=False),
        ],
    )


def single_step(run: Run, runs: Sequence[Run]) -> Run | None:
    """
    :param run: A run.
    :param runs: All runs.
    :returns: The run of single-step RAG that it is relative to: same dataset and model, and same top-k and
        concurrency if there is one.
    """
    same = [other for other in runs if (other.dataset, other.model) == (run.dataset, run.model)]
    # With as many documents, and as many questions at once, if there is one.
    same.sort(key=lambda other: (run.top_k not in (None, other.top_k), other.concurrency != run.concurrency))
    return next((other for name in SINGLE_STEP for other in same if other.method == name), None)


def _scores(dataset: str) -> list[_Column]:
    if dataset.lower().startswith(_ACCURACY_ALONE):
        return [_plain(ACC)]
    return [_plain(ACC), _plain(F1), _plain(EM), _Column(AVERAGE, _average)]


def _plain(measure: Measure, ranked: bool = True) -> _Column:
    return _Column(measure, lambda run: run.value(measure), ranked)


def _average(run: Run) -> float | None:
    values = [run.value(measure) for measure in (ACC, F1, EM)]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _only(settings: Settings, kept: Callable[[Run], bool]) -> dict[Setting, list[Run]]:
    chosen = {setting: [run for run in held if kept(run)] for setting, held in settings.items()}
    return {setting: held for setting, held in chosen.items() if held}


def _by_setting(
    id: str,
    title: str,
    note: str,
    settings: Settings,
    intervals: Intervals,
    columns: Callable[[str], list[_Column]],
) -> Table | None:
    blocks = []
    for setting, held in settings.items():
        lines = _Lines()
        for run in held:
            own_k = "" if run.top_k in (None, setting.top_k) else f" (k {run.top_k})"
            lines.add(run.method, run.method + own_k, run)
        blocks.append((setting.text, lines))
    runs = [run for held in settings.values() for run in held]
    return _table(id, title, note, blocks, runs, intervals, columns)


def _varied(
    id: str,
    title: str,
    word: str,
    settings: Settings,
    intervals: Intervals,
    value: Callable[[Run], float | str | None],
    rest: Callable[[Run], tuple[object, ...]],
) -> Table | None:
    """:returns: A table of the runs that differ in one setting alone, a block for each of its values."""
    runs = [run for held in settings.values() for run in held]
    groups = varied(runs, value, rest)
    if not groups:
        return None
    kept = [run for group in groups for run in group]
    several = len({rest(run)[1:] for run in kept}) > 1
    of_run = {run.name: setting for setting, held in settings.items() for run in held}
    blocks: dict[str, _Lines] = {}
    for run in sorted(kept, key=lambda run: (_sortable(value(run)), run.order)):
        label = f"{rest(run)[0]}" + (f" ({of_run[run.name].text})" if several else "")
        blocks.setdefault(f"{word} {_told(value(run))}", _Lines()).add(rest(run), label, run)
    note = "Runs that differ in nothing else." if several else f"Runs that differ in nothing else ({kept[0].model})."
    return _table(id, title, note, list(blocks.items()), kept, intervals, _scores)


def varied(
    runs: Sequence[Run],
    value: Callable[[Run], float | str | None],
    rest: Callable[[Run], tuple[object, ...]],
) -> list[list[Run]]:
    """
    :param runs: Runs.
    :param value: What varies.
    :param rest: What must be the same.
    :returns: The runs on one dataset that are the same but for two values or more of what varies, sorted by it.
    """
    groups: dict[Hashable, list[Run]] = {}
    for run in runs:
        if value(run) is not None:
            groups.setdefault((run.dataset, *rest(run)), []).append(run)
    return [
        sorted(group, key=lambda run: _sortable(value(run)))
        for group in groups.values()
        if len({value(run) for run in group}) > 1
    ]


def _told(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sortable(value: float | str | None) -> tuple[float, str]:
    return (0.0, value) if isinstance(value, str) else (value or 0.0, "")


def _table(
    id: str,
    title: str,
    note: str,
    blocks: Iterable[tuple[str, _Lines]],
    runs: Sequence[Run],
    intervals: Intervals,
    columns: Callable[[str], list[_Column]],
) -> Table | None:
    if not runs:
        return None
    datasets = list(dict.fromkeys(run.dataset for run in sorted(runs, key=lambda run: run.dataset)))
    by_dataset = {dataset: columns(dataset) for dataset in datasets}
    rows = []
    for heading, lines in blocks:
        rows.append(Row(heading))
        best = _best(by_dataset, lines)
        for label, held in lines.lines.values():
            cells = [
                _cell(held.get(dataset), column, intervals, best[dataset, column.measure.key])
                for dataset, shown in by_dataset.items()
                for column in shown
            ]
            rows.append(Row(label, tuple(cells)))
    return Table(
        id,
        title,
        " ".join([note, *_unlike(runs)]),
        tuple((dataset, len(shown)) for dataset, shown in by_dataset.items()),
        tuple(column.measure.title for shown in by_dataset.values() for column in shown),
        tuple(rows),
    )


def _unlike(runs: Sequence[Run]) -> Iterator[str]:
    """:returns: What makes the lines of a table less than comparable, in sentences."""
    of_dataset: dict[str, list[Run]] = {}
    for run in runs:
        of_dataset.setdefault(run.dataset, []).append(run)
    asked = sorted(name for name, held in of_dataset.items() if len({_asked(run) for run in held}) > 1)
    if asked:
        yield f"Not all lines are over the same questions ({', '.join(asked)}): see the paired comparisons."
    searched = sorted(
        name for name, held in of_dataset.items() if len({run.passages[0] for run in held if run.passages[0]}) > 1
    )
    if searched:
        yield f"Not all lines searched the same corpus ({', '.join(searched)}): see what was run."
    whole = sorted({run.method for run in runs if run.config.get("split") is False})
    if whole and any(run.config.get("split") for run in runs):
        yield f"Each source holds the whole corpus in runs of {', '.join(whole)}; in others it is split between two."


def _asked(run: Run) -> frozenset[object]:
    return frozenset(prediction.asked for prediction in run.predictions.values())


def _best(by_dataset: Mapping[str, list[_Column]], lines: _Lines) -> dict[tuple[str, str], float | None]:
    """:returns: The highest value of each column, where there are two to choose from."""
    found: dict[tuple[str, str], float | None] = {}
    for dataset, shown in by_dataset.items():
        for column in shown:
            values = [column.value(held[dataset]) for _, held in lines.lines.values() if dataset in held]
            known = [value for value in values if value is not None]
            found[dataset, column.measure.key] = max(known) if column.ranked and len(known) > 1 else None
    return found


def _cell(run: Run | None, column: _Column, intervals: Intervals, best: float | None) -> Cell:
    value = column.value(run) if run is not None else None
    text = column.measure.text(value)
    if run is None or value is None:
        return Cell(text)
    interval = intervals.get((run.name, column.measure.key))
    return Cell(
        text,
        f"{column.measure.text(interval.low)}{DASH}{column.measure.text(interval.high)}" if interval else "",
        best is not None and text == column.measure.text(best),
    )
