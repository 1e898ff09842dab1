"""Make the tables of the papers, and further tables, from the available runs.

Each table is made only if there are runs for it. `_PAPERS` describes the tables that list the methods of a paper. The
functions above it make the other tables.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from prefrag.components.text.passage_record import PassageError, passage_lines, read_passage_line
from prefrag.evaluation.pipeline_under_test.experiment import READER
from prefrag.evaluation.report.comparison import Intervals
from prefrag.evaluation.report.grouping import Settings, sort_key, vary
from prefrag.evaluation.report.measures import (
    ACC,
    CALLS,
    CERTAINTY,
    DASH,
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
from prefrag.evaluation.report.runs import TOP_K, Run, Value
from prefrag.evaluation.report.settings import Setting, describe
from prefrag.evaluation.report.table import Cell, Column, Lines, Row, Table, fill_table

# Methods with a single retrieval. All times are shown as multiples of the time of such a method: the first of these
# that was run.
SINGLE_STEP = ("vanilla_local", "vanilla_mix", "vanilla_web")
# The column with the mean of accuracy, F1 and EM.
AVERAGE = Measure("average", "Avg")
# Datasets whose tables have only accuracy. For yes/no questions, F1 and EM add nothing (PrefRAG, table 1).
_ACCURACY_ALONE = ("bioasq",)
# The values of `source` in a corpus that can be split.
_SOURCES = ("local", "web", "both")
# The note below the table of :func:`describe_split`.
_NOTE_OF_SPLIT = (
    "The shares of the gold passages that are only in the local source, only on the web, and in both. Neither half "
    "alone: the number of questions for which no single source contains all gold passages."
)


@dataclass(frozen=True)
class _Rows:
    """The methods and columns of a paper's table."""

    # The name of the table in anchors and file names.
    id: str
    # The title of the table.
    title: str
    # The names of the methods, in the order of the table. A name with a final * stands for all names that begin with
    # it.
    methods: tuple[str, ...]
    # Returns the columns for a dataset.
    columns: Callable[[str], list[Column]]
    # The table is made only if at least one method was run whose name begins with one of these.
    needed: tuple[str, ...]
    # The note below the table.
    note: str = ""
    # Whether the last column is the time relative to a method with a single retrieval.
    is_timed: bool = False

    def place(self, run: Run) -> int | None:
        """Return the position of a run's line in the table. None if the table has no line for the run."""
        for place, name in enumerate(self.methods):
            if run.family == name:
                return place
            if name.endswith("*") and run.family.startswith(name.removesuffix("*")):
                return place
        return None


def paper_tables(settings: Settings, intervals: Intervals) -> list[Table]:
    """Make every table for which there are runs.

    :param settings: The runs of one task, grouped by their settings.
    :param intervals: The confidence intervals of all scores.
    :returns: The tables, in the order of the report.
    """
    tables = [
        _certainty(settings, intervals),
        _overall(settings, intervals),
        *(_table_of_paper(rows, settings, intervals) for rows in _PAPERS),
        _top_ks(settings, intervals),
        _retrievers(settings, intervals),
        _counts(settings, intervals),
        _recall(settings, intervals),
        _cost(settings, intervals),
    ]
    return [table for table in tables if table is not None]


def _certainty(settings: Settings, intervals: Intervals) -> Table | None:
    """Make the table about answers that are given and withheld.

    It has the runs in which the extractive reader answers.
    """
    by_reader = _only(settings, lambda run: run.llm.get("kind") == READER)
    reader_runs = [run for runs in by_reader.values() for run in runs]

    def columns(dataset: str) -> list[Column]:
        """Return a column for each measure that a run on this dataset has."""
        runs = [run for run in reader_runs if run.dataset == dataset]
        return [_plain(measure, ranked=False) for measure in CERTAINTY if _is_measured(measure, runs)]

    note = (
        "Percentages, with 95% intervals below (see METRICS.md). Given: answerable questions with an answer. Said "
        "unknown: unanswerable questions for which the reply says so. Right of given, Fair of given: given answers "
        "that are right, or that a person would accept. Sentence first, Among three: a gold sentence is first, or "
        "among the first three. Needless queries: a query was sent although the preferred source has the answer. "
        "Words typed: query words that the user had typed."
    )
    return _table_by_setting(
        id="certainty",
        title="Answers given and withheld, without a language model",
        note=note,
        settings=by_reader,
        intervals=intervals,
        columns=columns,
    )


def _overall(settings: Settings, intervals: Intervals) -> Table | None:
    """Make the table of all methods."""
    question_counts = {run.dataset: len(run.predictions) for group in settings.values() for run in group}
    questions = ", ".join(f"{dataset} {question_counts[dataset]}" for dataset in sorted(question_counts))
    note = (
        "Scores in percent, with 95% intervals below (bootstrap, or Wilson's if all scores are 0 or all are 100). "
        "The best score of each column is bold. Avg is the mean of Acc, F1 and EM. Datasets of yes/no questions have "
        f"only Acc. Numbers of questions: {questions}."
    )
    return _table_by_setting(
        id="overall",
        title="All methods",
        note=note,
        settings=settings,
        intervals=intervals,
        columns=_scores,
    )


def _table_of_paper(rows: _Rows, settings: Settings, intervals: Intervals) -> Table | None:
    """Make one table of a paper. The runs of each setting are in the order of the paper's methods."""
    runs_of_paper: dict[Setting, list[Run]] = {}
    for setting, runs in settings.items():
        placed_runs = []
        for run in runs:
            place = rows.place(run)
            if place is not None:
                placed_runs.append((place, run.order, run))
        runs_in_order = [run for _, _, run in sorted(placed_runs)]

        # A group of runs is shown only if it has a method of the paper's own, and at least two methods.
        is_of_paper = any(run.family.startswith(rows.needed) for run in runs_in_order)
        if is_of_paper and len({run.method for run in runs_in_order}) > 1:
            runs_of_paper[setting] = runs_in_order

    time_columns: list[Column] = []
    if rows.is_timed:
        time_columns = [_relative_time([run for group in runs_of_paper.values() for run in group])]

    def columns(dataset: str) -> list[Column]:
        """Return the columns of the paper for a dataset and, if the table has it, the column of times."""
        return [*rows.columns(dataset), *time_columns]

    return _table_by_setting(rows.id, rows.title, rows.note, runs_of_paper, intervals, columns)


def _top_ks(settings: Settings, intervals: Intervals) -> Table | None:
    """Make the table of the numbers of documents per retrieval."""
    runs = [run for group in settings.values() for run in group]
    values = vary(runs, next(iter(settings)), TOP_K)
    title = "Documents per retrieval (PrefRAG, table 16; MSPR, table III; DR-RAG, table 3)"
    return _table_of_values(
        id="top-k", title=title, name=TOP_K, values=values, intervals=intervals, label=lambda run: run.method
    )


def _retrievers(settings: Settings, intervals: Intervals) -> Table | None:
    """Make the table of retrievers."""
    values = _by_retriever(next(iter(settings.values())))
    title = "Retrievers (PrefRAG, table 17)"
    return _table_of_values(
        id="retrievers", title=title, name="retriever", values=values, intervals=intervals, label=lambda run: run.family
    )


def _counts(settings: Settings, intervals: Intervals) -> Table | None:
    """Make the table of retrievals per question."""
    count_measures = (TOTAL_LOCAL, TOTAL_WEB, TOTAL, USED_LOCAL, USED, LOOKUPS)
    runs = [run for group in settings.values() for run in group]
    measures = [measure for measure in count_measures if _is_measured(measure, runs)]

    def has_counts(run: Run) -> bool:
        """Check whether a run has any of the counts."""
        return any(run.value(measure) is not None for measure in measures)

    def columns(dataset: str) -> list[Column]:
        """Return the columns of accuracy and of all counts."""
        return [_plain(ACC), *(_plain(measure, ranked=False) for measure in measures)]

    note = (
        "Means per question. The paper prints sums over its questions. Used: retrievals whose documents the model was "
        "shown. Look-ups: the queries that the retrievals sent to an index or to the web."
    )
    return _table_by_setting(
        id="counts",
        title="Retrievals per question (PrefRAG, A.6)",
        note=note,
        settings=_only(settings, has_counts),
        intervals=intervals,
        columns=columns,
    )


def _recall(settings: Settings, intervals: Intervals) -> Table | None:
    """Make the table of recall."""
    note = (
        "Recall: the share of a question's gold passages that the model was given. All found: the share of questions "
        "for which the model was given all gold passages. Documents: the number of documents given per question."
    )
    return _table_by_setting(
        id="recall",
        title="Recall by documents given",
        note=note,
        settings=_only(settings, lambda run: run.value(RECALL) is not None),
        intervals=intervals,
        columns=_recalls,
    )


def _cost(settings: Settings, intervals: Intervals) -> Table | None:
    """Make the table of model calls and times."""
    runs = [run for group in settings.values() for run in group]
    if not any(run.method in SINGLE_STEP for run in runs):
        return None
    time = _relative_time(runs)
    note = (
        "Model calls per question, and seconds per question as a multiple of the seconds of single-step RAG "
        "(vanilla_local, or else another vanilla pipeline). Seconds include waiting for concurrent questions, so there "
        "is a multiple only if both runs had the same number of concurrent questions."
    )
    if any(run.simulated for run in runs):
        note += " The simulated reader needs almost no time, so these are the times of retrieval and the pipeline only."

    def columns(dataset: str) -> list[Column]:
        """Return the columns of scores, model calls and times for a dataset."""
        scores = [column for column in _scores(dataset) if column.measure != AVERAGE]
        return [*scores, _plain(CALLS, ranked=False), time]

    title = "Calls and time relative to single-step RAG (DR-RAG, table 2)"
    return _table_by_setting(id="cost", title=title, note=note, settings=settings, intervals=intervals, columns=columns)


def _relative_time(runs: Sequence[Run]) -> Column:
    """Make the column of seconds as a multiple of the seconds of a method with a single retrieval."""
    # The multiples that were computed so far, by the name of the run.
    multiples: dict[str, float | None] = {}

    def relative(run: Run) -> float | None:
        """Return the multiple of a run, and compute it at the first call."""
        if run.name not in multiples:
            multiples[run.name] = None
            single_step = find_single_step(run, runs)
            # Seconds include waiting for concurrent questions. So the concurrency of both runs must be equal.
            if single_step and single_step.concurrency == run.concurrency:
                seconds = run.value(SECONDS)
                seconds_of_single_step = single_step.value(SECONDS)
                if seconds is not None and seconds_of_single_step:
                    multiples[run.name] = seconds / seconds_of_single_step
        return multiples[run.name]

    return Column(Measure("time", "Time", "count", 2), relative, ranked=False)


def find_single_step(run: Run, runs: Sequence[Run]) -> Run | None:
    """Find the run of a method with a single retrieval, with which the time of a run is compared.

    :param run: The run.
    :param runs: All runs.
    :returns: A run on the same dataset with the same model, if possible with the same top-k and concurrency. None if
        there is no such run.
    """

    def unlikeness(other: Run) -> tuple[bool, bool]:
        """Return the sort key of a candidate. False sorts before True, so the most similar run comes first."""
        has_other_k = run.top_k is not None and other.top_k != run.top_k
        return has_other_k, other.concurrency != run.concurrency

    candidates = [other for other in runs if other.dataset == run.dataset and other.model == run.model]
    candidates.sort(key=unlikeness)
    for name in SINGLE_STEP:
        for other in candidates:
            if other.method == name:
                return other
    return None


def _scores(dataset: str) -> list[Column]:
    """Return the columns of answer scores for a dataset."""
    if dataset.lower().startswith(_ACCURACY_ALONE):
        return [_plain(ACC)]
    return [_plain(ACC), _plain(F1), _plain(EM), Column(AVERAGE, _average)]


def _recalls(dataset: str) -> list[Column]:
    """Return the columns of recall."""
    return [_plain(RECALL), _plain(RECALL_ALL), _plain(DOCUMENTS, ranked=False)]


def _plain(measure: Measure, ranked: bool = True) -> Column:
    """Make the column of a measure. ``ranked`` says whether the best value is marked."""
    return Column(measure, lambda run: run.value(measure), ranked)


def _is_measured(measure: Measure, runs: Sequence[Run]) -> bool:
    """Check whether at least one run has a value of this measure."""
    return any(run.value(measure) is not None for run in runs)


def _average(run: Run) -> float | None:
    """Return the mean of accuracy, F1 and EM. None if one of the three is missing."""
    total = 0.0
    for measure in (ACC, F1, EM):
        value = run.value(measure)
        if value is None:
            return None
        total += value
    return total / 3


# The tables of the papers.
_PAPERS = (
    _Rows(
        id="prefrag-1",
        title="Overall (PrefRAG, tables 1 and 4)",
        methods=(
            "no_retrieval",
            "vanilla_local",
            "vanilla_mix",
            "flare",
            "self_rag",
            "crag",
            "react",
            "react_mix",
            "prefrag",
        ),
        columns=_scores,
        needed=("prefrag",),
    ),
    _Rows(
        id="prefrag-2",
        title="Ablation and PrefRAG_Direct (PrefRAG, tables 2, 6 and 15)",
        methods=("prefrag", "prefrag_without_*", "prefrag_direct"),
        columns=_scores,
        needed=("prefrag_without_", "prefrag_direct"),
    ),
    _Rows(
        id="prefrag-5",
        title="One retrieval from each source (PrefRAG, table 5)",
        methods=("vanilla_local", "vanilla_web", "vanilla_mix"),
        columns=_scores,
        needed=SINGLE_STEP,
    ),
    _Rows(
        id="mspr-1",
        title="Overall (MSPR, table I)",
        methods=(
            "no_retrieval",
            "vanilla_local",
            "vanilla_web",
            "vanilla_mix",
            "self_rag",
            "flare",
            "crag",
            "react",
            "mspr",
        ),
        columns=lambda dataset: [_plain(F1), _plain(EM)],
        needed=("mspr",),
    ),
    _Rows(
        id="mspr-2",
        title="Ablation (MSPR, table II)",
        methods=("mspr_without_*", "mspr *", "mspr"),
        columns=lambda dataset: [_plain(F1), _plain(EM)],
        needed=("mspr_without_", "mspr "),
    ),
    _Rows(
        id="dr-rag-2",
        title="Answers in one call and in several (DR-RAG, table 2)",
        methods=(
            "vanilla_local",
            "self_rag",
            "adaptive_retrieval",
            "adaptive_rag*",
            "ircot*",
            "dr_rag_qdc",
            "dr_rag_cis",
            "dr_rag_cfs",
            "dr_rag_cfs_analysis",
        ),
        columns=lambda dataset: [_plain(EM), _plain(F1), _plain(ACC), _plain(CALLS, ranked=False)],
        needed=("dr_rag_",),
        note=(
            "Calls are the paper's Step. Time: seconds per question as a multiple of those of single-step RAG, if both "
            "ran as many questions at once."
        ),
        is_timed=True,
    ),
    _Rows(
        id="dr-rag-4",
        title="Ablation (DR-RAG, table 4)",
        methods=("dr_rag_qdc", "dr_rag_cis*", "dr_rag_cfs*"),
        columns=lambda dataset: [_plain(EM), _plain(F1), _plain(ACC)],
        needed=("dr_rag_cis_", "dr_rag_cfs_", "dr_rag_cis ", "dr_rag_cfs "),
    ),
    _Rows(
        id="dr-rag-5",
        title="Recall by documents given (DR-RAG, table 5)",
        methods=("vanilla_local", "dr_rag_qdc", "dr_rag_cis", "dr_rag_cfs"),
        columns=lambda dataset: [_plain(RECALL), _plain(DOCUMENTS, ranked=False)],
        needed=("dr_rag_",),
        note=(
            "CIS and CFS select by a threshold on the pair classifier's score, by default 0.5, which suits a "
            "classifier trained on as many positive as negative pairs. The paper's row Similarity Matching is "
            "vanilla_local_dense, and its BM25 is vanilla_local."
        ),
    ),
)


def _only(settings: Settings, is_wanted: Callable[[Run], bool]) -> dict[Setting, list[Run]]:
    """Leave out the runs that are not wanted, and the groups that are then empty."""
    wanted_runs_of_settings = {}
    for setting, runs in settings.items():
        wanted_runs = [run for run in runs if is_wanted(run)]
        if wanted_runs:
            wanted_runs_of_settings[setting] = wanted_runs
    return wanted_runs_of_settings


def _by_retriever(runs: Sequence[Run]) -> dict[Value, list[Run]]:
    """Group runs by retriever, but only runs of methods that were run with several retrievers."""
    retrievers_of_method: dict[str, set[Value]] = {}
    for run in runs:
        if run.retriever is not None:
            retrievers_of_method.setdefault(run.family, set()).add(run.retriever)
    runs_of_retriever: dict[Value, list[Run]] = {}
    for run in runs:
        if len(retrievers_of_method.get(run.family, ())) > 1:
            runs_of_retriever.setdefault(run.retriever, []).append(run)
    return {retriever: runs_of_retriever[retriever] for retriever in sorted(runs_of_retriever, key=sort_key)}


def _table_by_setting(
    id: str, title: str, note: str, settings: Settings, intervals: Intervals, columns: Callable[[str], list[Column]]
) -> Table | None:
    """Make a table with a heading for each group of settings. Below it is a line for each method."""
    blocks = []
    for setting, group in settings.items():
        lines = Lines()
        for run in group:
            label = run.method
            # The line of a run says its top-k if it differs from that of the group.
            if run.top_k is not None and run.top_k != setting.get(TOP_K):
                label += f" (k {run.top_k})"
            lines.add(run.method, label, run)
        blocks.append((setting.text, lines))
    runs = [run for group in settings.values() for run in group]
    return fill_table(id, title, note, blocks, runs, intervals, columns, folded=True)


def _table_of_values(
    id: str,
    title: str,
    name: str,
    values: Mapping[Value, Sequence[Run]],
    intervals: Intervals,
    label: Callable[[Run], str],
) -> Table | None:
    """Make a table of runs that differ only in one setting, with a heading for each value of this setting."""
    blocks = []
    for value, group in values.items():
        lines = Lines()
        for run in group:
            lines.add(label(run), label(run), run)
        blocks.append((describe(name, value), lines))
    runs = [run for group in values.values() for run in group]
    return fill_table(
        id=id,
        title=title,
        note="All other settings are equal.",
        blocks=blocks,
        runs=runs,
        intervals=intervals,
        columns=_scores,
    )


def describe_split(runs: Sequence[Run]) -> Table | None:
    """Make a table of how each split corpus divides the gold passages between the sources.

    :param runs: The runs.
    :returns: The table. None if no run has a split corpus.
    """
    # The ids of the gold passages of each question, by dataset and corpus.
    gold_by_corpus: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for run in runs:
        if run.config.get("split") and run.config.get("corpus"):
            ids_by_question = gold_by_corpus.setdefault((run.dataset, str(run.config["corpus"])), {})
            for question_id, prediction in run.predictions.items():
                ids_by_question[question_id] = prediction.asked.supporting_ids
    if not gold_by_corpus:
        return None

    n_corpora = Counter(dataset for dataset, _ in gold_by_corpus)
    rows = []
    for (dataset, corpus), ids_by_question in sorted(gold_by_corpus.items()):
        # If a dataset has several corpora, each label names its corpus.
        label = dataset if n_corpora[dataset] == 1 else f"{dataset} ({corpus})"
        gold_ids = set(chain.from_iterable(ids_by_question.values()))
        sources = _read_sources(Path(corpus), gold_ids)
        rows.append(Row(label, _fill_cells(ids_by_question, sources)))

    columns = ("Questions", "Gold passages", "Local only %", "Web only %", "Both %", "Neither half alone")
    title = "The split (dataset statistics: PrefRAG, table 3)"
    return Table(
        id="shares",
        title=title,
        note=_NOTE_OF_SPLIT,
        groups=(("", len(columns)),),
        columns=columns,
        rows=tuple(rows),
        label="Dataset",
    )


def _fill_cells(ids_by_question: Mapping[str, Sequence[str]], sources: Mapping[str, str] | None) -> tuple[Cell, ...]:
    """Return the cells of one corpus. If the corpus cannot be read, all but the number of questions are dashes."""
    n_questions = str(len(ids_by_question))
    if not sources:
        texts = [n_questions, DASH, DASH, DASH, DASH, DASH]
        return tuple(Cell(text) for text in texts)
    passages_of_source = Counter(sources.values())
    shares = [f"{100 * passages_of_source[source] / len(sources):.1f}" for source in _SOURCES]
    n_neither = 0
    for ids in ids_by_question.values():
        sources_of_question = {sources.get(id) for id in ids}
        # No source alone has all gold passages: some are only in the local source, and some only on the web.
        if {"local", "web"} <= sources_of_question:
            n_neither += 1
    texts = [n_questions, str(len(sources)), *shares, str(n_neither)]
    return tuple(Cell(text) for text in texts)


def _read_sources(corpus: Path, ids: set[str]) -> dict[str, str] | None:
    """Return the source of each of these passages. None if the corpus cannot be read."""
    sources = {}
    try:
        with corpus.open("rb") as stream:
            for number, _, line in passage_lines(stream):
                try:
                    record = read_passage_line(line, number)
                except PassageError:
                    # Indexing skips such a line too.
                    continue
                if record.id in ids and record.source in _SOURCES:
                    sources[record.id] = str(record.source)
    except OSError:
        return None
    return sources
