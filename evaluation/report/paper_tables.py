"""Fill the tables of the papers from the available runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from prefrag.evaluation.report.comparison import Intervals
from prefrag.evaluation.report.grouping import Settings, group_varied, sort_key
from prefrag.evaluation.report.measures import (
    ACC,
    CALLS,
    DOCUMENTS,
    EM,
    F1,
    LOOKUPS,
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
from prefrag.evaluation.report.table import Column, Lines, Table, fill_table

REFERENCE = "prefrag"
ABLATIONS = ("prefrag_without_preference", "prefrag_without_reflection", "prefrag_direct")
# The single-retrieval methods to which calls and time are relative, best match first.
SINGLE_STEP = ("vanilla_local", "vanilla_mix", "vanilla_web")
AVERAGE = Measure("average", "Avg")
# For yes/no questions F1 and EM add nothing to accuracy (PrefRAG, table 1).
_ACCURACY_ALONE = ("bioasq",)


def paper_tables(settings: Settings, intervals: Intervals) -> list[Table]:
    """Fill every table for which there are runs.

    :param settings: The runs by setting.
    :param intervals: The interval of each score.
    :returns: The tables.
    """
    tables = [
        _overall(settings, intervals),
        _ablation(settings, intervals),
        _table_of_varied(
            "top-k",
            "Documents a retrieval (PrefRAG, table 16)",
            "top-k",
            settings,
            intervals,
            lambda run: run.top_k,
            lambda run: (run.method, run.model, run.judge_error, run.retriever),
        ),
        _table_of_varied(
            "retrievers",
            "Retrievers (PrefRAG, table 17)",
            "retriever",
            settings,
            intervals,
            lambda run: run.retriever,
            lambda run: (run.family, run.model, run.judge_error, run.top_k),
        ),
        _table_of_varied(
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
    return _table_by_setting(
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
    return _table_by_setting(
        "ablation",
        "Ablation (PrefRAG, tables 2 and 6)",
        "without_preference lets the model choose the source, without_reflection takes the first answer, direct states "
        "the preference in the descriptions of the tools alone.",
        kept,
        intervals,
        _scores,
    )


def _counts(settings: Settings, intervals: Intervals) -> Table | None:
    measures = (TOTAL_LOCAL, TOTAL_WEB, TOTAL, USED_LOCAL, USED, LOOKUPS)
    return _table_by_setting(
        "counts",
        "Retrievals a question (PrefRAG, A.6)",
        "Means a question, where the paper prints sums over its questions. Used: the model was shown the documents. "
        "Look-ups: the queries that the retrievals sent to an index or the web.",
        _only(settings, lambda run: any(run.value(measure) is not None for measure in measures)),
        intervals,
        lambda dataset: [_plain(ACC), *(_plain(measure, ranked=False) for measure in measures)],
    )


def _recall(settings: Settings, intervals: Intervals) -> Table | None:
    # The paper compares retrievers here: those of BM25 and of similarity matching stand beside each other.
    beside: dict[Setting, list[Run]] = {}
    for setting, held in _only(settings, lambda run: run.value(RECALL) is not None).items():
        beside.setdefault(replace(setting, retriever=None, known=setting.known), []).extend(held)
    note = (
        "Recall is the share of a question's gold passages among the documents that the model was given, All found the "
        "share of questions with all of them, Documents their number a question."
    )
    runs = [run for held in beside.values() for run in held]
    if any(run.family in ("dr_rag_cis", "dr_rag_cfs") for run in runs):
        note += (
            " CIS and CFS select where the pair classifier's score reaches a threshold: as shipped 0.5, at the prior "
            "of its training, one positive pair to one negative."
        )
    if any(run.retriever == "dense" for run in runs):
        note += " The paper's row Similarity Matching is vanilla_local_dense, its BM25 is vanilla_local."
    return _table_by_setting(
        "recall",
        "Recall by documents given (DR-RAG, table 5)",
        note,
        {setting: sorted(held, key=lambda run: run.order) for setting, held in beside.items()},
        intervals,
        lambda dataset: [_plain(RECALL), _plain(RECALL_ALL), _plain(DOCUMENTS, ranked=False)],
    )


def _cost(settings: Settings, intervals: Intervals) -> Table | None:
    """Show calls and time relative to one retrieval and one call, as table 2 of DR-RAG does."""
    runs = [run for held in settings.values() for run in held]
    if not any(run.method in SINGLE_STEP for run in runs):
        return None
    seconds = Measure("time", "Time", "count", 2)

    def relative(run: Run) -> float | None:
        own, single = run.value(SECONDS), find_single_step(run, runs)
        # The seconds of a question include its wait for concurrent questions.
        base = single.value(SECONDS) if single and single.concurrency == run.concurrency else None
        return own / base if own is not None and base else None

    note = (
        "Calls of a model a question, and seconds a question as a multiple of single-step RAG's (vanilla_local, or the "
        "vanilla pipeline that there is). Seconds hold the wait for other questions: there is no multiple of a run "
        "with another number of questions at once."
    )
    if any(run.simulated for run in runs):
        note += " A simulated reader takes no time to think: its times are those of retrieval and wiring alone."
    return _table_by_setting(
        "cost",
        "Calls and time relative to single-step RAG (DR-RAG, table 2)",
        note,
        settings,
        intervals,
        lambda dataset: [
            *(column for column in _scores(dataset) if column.measure != AVERAGE),
            _plain(CALLS, ranked=False),
            Column(seconds, relative, ranked=False),
        ],
    )


def find_single_step(run: Run, runs: Sequence[Run]) -> Run | None:
    """Find the run of single-step RAG that a run is relative to.

    :param run: A run.
    :param runs: All runs.
    :returns: One on the same dataset with the same model, and with the same top-k and concurrency if there is one; None
        where there is none.
    """
    same = [other for other in runs if (other.dataset, other.model) == (run.dataset, run.model)]
    # Prefer one with the same top-k and concurrency.
    same.sort(key=lambda other: (run.top_k not in (None, other.top_k), other.concurrency != run.concurrency))
    return next((other for name in SINGLE_STEP for other in same if other.method == name), None)


def _scores(dataset: str) -> list[Column]:
    if dataset.lower().startswith(_ACCURACY_ALONE):
        return [_plain(ACC)]
    return [_plain(ACC), _plain(F1), _plain(EM), Column(AVERAGE, _average)]


def _plain(measure: Measure, ranked: bool = True) -> Column:
    return Column(measure, lambda run: run.value(measure), ranked)


def _average(run: Run) -> float | None:
    values = [run.value(measure) for measure in (ACC, F1, EM)]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _only(settings: Settings, kept: Callable[[Run], bool]) -> dict[Setting, list[Run]]:
    chosen = {setting: [run for run in held if kept(run)] for setting, held in settings.items()}
    return {setting: held for setting, held in chosen.items() if held}


def _table_by_setting(
    id: str,
    title: str,
    note: str,
    settings: Settings,
    intervals: Intervals,
    columns: Callable[[str], list[Column]],
) -> Table | None:
    blocks = []
    for setting, held in settings.items():
        lines = Lines()
        for run in held:
            own_k = "" if run.top_k in (None, setting.top_k) else f" (k {run.top_k})"
            lines.add(run.method, run.method + own_k, run)
        blocks.append((setting.text, lines))
    runs = [run for held in settings.values() for run in held]
    return fill_table(id, title, note, blocks, runs, intervals, columns)


def _table_of_varied(
    id: str,
    title: str,
    word: str,
    settings: Settings,
    intervals: Intervals,
    value: Callable[[Run], float | str | None],
    rest: Callable[[Run], tuple[object, ...]],
) -> Table | None:
    """Make a table of the runs that differ in one setting alone, a block for each of its values."""
    runs = [run for held in settings.values() for run in held]
    groups = group_varied(runs, value, rest)
    if not groups:
        return None
    kept = [run for group in groups for run in group]
    several = len({rest(run)[1:] for run in kept}) > 1
    of_run = {run.name: setting for setting, held in settings.items() for run in held}
    blocks: dict[str, Lines] = {}
    for run in sorted(kept, key=lambda run: (sort_key(value(run)), run.order)):
        label = f"{rest(run)[0]}" + (f" ({of_run[run.name].text})" if several else "")
        blocks.setdefault(f"{word} {_as_text(value(run))}", Lines()).add(rest(run), label, run)
    note = "Runs that differ in nothing else." if several else f"Runs that differ in nothing else ({kept[0].model})."
    return fill_table(id, title, note, list(blocks.items()), kept, intervals, _scores)


def _as_text(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
