"""Write the report as a page and as Markdown, with its tables as files.

The report has a part for each task. A task is either to search a corpus that is split between the sources, or to search
a whole corpus. :func:`write_report` is the function behind ``prefrag report``.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from prefrag.evaluation.report.against import Against, compare_one_change, compare_with_reference, list_variations
from prefrag.evaluation.report.comparison import COMPARED, Comparison, Intervals, score_intervals
from prefrag.evaluation.report.drill_down import drill_down
from prefrag.evaluation.report.exports import escape_latex, write_comparisons, write_tables
from prefrag.evaluation.report.grouping import Settings, group_by_setting, group_by_task
from prefrag.evaluation.report.intervals import CONFIDENCE, RESAMPLES
from prefrag.evaluation.report.measures import DASH, SECONDS, Measure
from prefrag.evaluation.report.paper_tables import describe_split, paper_tables
from prefrag.evaluation.report.runs import Run, read_runs
from prefrag.evaluation.report.settings import Setting
from prefrag.evaluation.report.table import Table
from prefrag.evaluation.runs.run_folder import CONFIG

# The folder of the templates, styles and scripts.
_FOLDER = Path(__file__).parent
# The name of the report as a page.
HTML = "report.html"
# The name of the report as Markdown.
MARKDOWN = "report.md"
# The maximum number of ids that the report names when two runs did not answer the same questions.
_IDS_NAMED = 10
# The title of each part of the report, by the task of its runs.
_TASKS = {
    "split": "Split corpus: a local source and a simulated web, each with passages that the other lacks",
    "whole": "Whole corpus: not divided between sources",
    None: "Runs that searched nothing, or do not record whether the corpus was split",
}


@dataclass(frozen=True)
class Task:
    """The part of the report on one task. Runs of two tasks are never compared."""

    # The name of the task, which is part of anchors and file names.
    name: str
    # The title of the part.
    title: str
    # The runs, grouped by their settings.
    settings: Settings
    # The tables of the papers, and the tables of settings that vary.
    tables: tuple[Table, ...]
    # The comparisons of methods with a reference.
    against: tuple[Against, ...]
    # The comparisons of runs that differ in at most one setting.
    one_change: tuple[Comparison, ...]
    # The plots below each title.
    plots: Sequence[tuple[str, Sequence[object]]]

    @property
    def main(self) -> list[Against]:
        """The comparisons that the page shows open, under the first setting of each dataset."""
        return [table for table in self.against if table.main]

    @property
    def further(self) -> list[Against]:
        """The comparisons under other settings."""
        return [table for table in self.against if not table.main]

    @property
    def comparisons(self) -> list[Comparison]:
        """Every comparison, the most important first."""
        with_reference = [comparison for table in self.against for comparison in table.comparisons]
        return [*with_reference, *self.one_change]

    @property
    def compared(self) -> list[Measure]:
        """The measures that were compared."""
        keys = {key for comparison in self.comparisons for key in comparison.differences}
        return [measure for measure in COMPARED if measure.key in keys]


def write_report(run_folders: Sequence[Path], output: Path, reference: str | None = None) -> Path:
    """Write ``report.html``, ``report.md``, and each table as CSV and LaTeX in the folder ``tables``.

    :param run_folders: The folders of the runs, or folders that contain such folders at any depth.
    :param output: The folder of the report.
    :param reference: The name of the method that all others are compared with. None means PrefRAG, if it was run.
    :returns: The path of ``report.html``.
    :raises ImportError: If matplotlib is not installed.
    :raises ValueError: If a folder has no run, or if the reference was not run.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        message = f'The report needs matplotlib ({error}): run pip install "prefrag[evaluation]".'
        raise ImportError(message) from error

    runs = read_runs(run_folders)
    methods = sorted({run.method for run in runs})
    if reference is not None and reference not in methods:
        raise ValueError(f"There is no run of the method {reference}: choose from {', '.join(methods)}.")

    intervals = score_intervals(runs)
    tasks = [
        _make_task(task, group_by_setting(task_runs), runs, intervals, reference)
        for task, task_runs in group_by_task(runs).items()
    ]

    output = Path(output).expanduser()
    folder = output / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    tables = [(task.name, table) for task in tasks for table in task.tables]
    files = write_tables(tables, folder, _make_environment(html=False))

    comparisons = [comparison for task in tasks for comparison in task.comparisons]
    if comparisons:
        named_tables = [(task.name, table) for task in tasks for table in task.against]
        one_change = [(task.name, comparison) for task in tasks for comparison in task.one_change]
        files.append(write_comparisons(named_tables, one_change, folder))

    parts_of_runs = [frozenset(Setting.of(run).parts) for run in runs]
    values: dict[str, object] = {
        "runs": runs,
        "shared": frozenset.intersection(*parts_of_runs),
        "simulated": [run for run in runs if run.simulated],
        "tasks": tasks,
        "confidence": CONFIDENCE,
        "resamples": RESAMPLES,
        "files": [f"{folder.name}/{name}" for name in files],
        "drill_down": drill_down(runs, comparisons),
    }

    markdown = _make_environment(html=False).get_template("report.md.jinja").render(values)
    (output / MARKDOWN).write_text(markdown, "utf-8")
    page = output / HTML
    page.write_text(_make_environment(html=True).get_template("report.html.jinja").render(values), "utf-8")
    return page


def _make_task(
    task: str | None, settings: Settings, runs: Sequence[Run], intervals: Intervals, reference: str | None
) -> Task:
    """Make the part of the report on one task."""
    from prefrag.evaluation.report.plots import draw_all

    against = compare_with_reference(settings, runs, reference)
    task_runs = [run for group in settings.values() for run in group]
    tables = [*paper_tables(settings, intervals), *list_variations(settings, against)]
    shares = describe_split(task_runs) if task == "split" else None
    if shares:
        tables.insert(0, shares)
    name = task or ""
    one_change = tuple(compare_one_change(settings, against))
    plots = draw_all(settings, intervals, name)
    return Task(name, _TASKS[task], settings, tuple(tables), tuple(against), one_change, plots)


@cache
def _make_environment(html: bool) -> Environment:
    """Return the Jinja environment with the filters and functions that the templates use."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # The filter `tojson` escapes a text for use in a script element.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    environment.filters["markdown"] = _markdown
    environment.filters["latex"] = escape_latex
    environment.filters["some"] = _name_some
    environment.globals["file"] = lambda name: Markup((_FOLDER / name).read_text(encoding="utf-8"))
    environment.globals["safe_svg"] = Markup
    environment.globals["config_text"] = lambda run: json.dumps(run.config, indent=2, ensure_ascii=False, default=str)
    environment.globals["config_name"] = CONFIG
    environment.globals["facts"] = facts
    return environment


def facts(run: Run, shared: Collection[str] = ()) -> dict[str, str]:
    """Describe a run for the table "What was run".

    :param run: The run.
    :param shared: The settings that all runs share, in words. They are left out.
    :returns: The texts by the heading of their column.
    """
    config = run.config
    web = config.get("web")
    corpus = {"split": "split by source", "whole": "whole", None: DASH}[run.task]
    limit = f" (limit {config['limit']})" if config.get("limit") else ""
    seeds = [str(repetition.seed) for repetition in run.runs if repetition.seed is not None]
    simulated = "SIMULATED: " if run.simulated else ""
    replayed = ", replayed" if config.get("replayed") else ""
    own_settings = [part for part in Setting.of(run).parts if part not in (*shared, run.model)]
    started = str(config.get("started") or DASH)
    return {
        "Run": run.name,
        "Method": run.method,
        "Dataset": run.dataset,
        "Questions": str(len(run.predictions)) + limit,
        "Seeds": ", ".join(seeds) or DASH,
        "Model": simulated + run.model + replayed,
        "Settings": ", ".join(own_settings) or DASH,
        "Retriever": run.retriever or DASH,
        "Corpus": f"{_short_path(config.get('corpus'))}, {corpus}",
        "Web": _short_path(web) if web else DASH,
        "Questions at once": str(run.concurrency or DASH),
        "Seconds per question": SECONDS.text(run.value(SECONDS)),
        "Haystack": str(config.get("haystack_version") or DASH),
        "Started": started.replace("+00:00", " UTC"),
    }


def _short_path(path: object) -> str:
    """Return the names of a file and its folder, which are enough to tell corpora apart.

    For example, ``_short_path("/data/hotpotqa/corpus.jsonl")`` returns ``"hotpotqa/corpus.jsonl"``.
    """
    if not path:
        return DASH
    folder_and_file = Path(str(path)).parts[-2:]
    return "/".join(folder_and_file)


def _name_some(ids: Sequence[str]) -> str:
    """Name the first ids, and say how many more there are."""
    names = ", ".join(ids[:_IDS_NAMED])
    unnamed = len(ids) - _IDS_NAMED
    if unnamed > 0:
        names += f" and {unnamed} more"
    return names


def _markdown(value: object) -> str:
    """Put a text on one line and escape it for Markdown."""
    text = " ".join(str(value).split())
    for character in "\\`*[]<>|":
        text = text.replace(character, f"\\{character}")
    return text
