"""Evaluate many pipelines on many datasets under many settings, or run a paper's table, for `evaluation/RESULTS.md`.

    python -m prefrag.evaluation.studies.matrix FOLDER_OF_DATASETS --output runs
    python -m prefrag.evaluation.studies.matrix FOLDER_OF_DATASETS --output runs \
        --pipeline prefrag --set top_k=5 --set judge_error=0.1
    python -m prefrag.evaluation.studies.matrix FOLDER_OF_DATASETS --output runs --pipeline react_mix_linked \
        --set top_k=5
    python -m prefrag.evaluation.studies.matrix FOLDER_OF_DATASETS --output runs --judges --set top_k=5 \
        --set distraction=0
    prefrag report runs --output report
    python -m prefrag.evaluation.studies.matrix FOLDER_OF_DATASETS --output runs --table prefrag-1 --limit 5 \
        --llm http://127.0.0.1:8000/v1 --set prompts=my_prompts

A dataset is a folder with `corpus.jsonl` and `dev.jsonl`. Each evaluation has its own folder, and finished evaluations
are not repeated. At the end, a Markdown table with one line per evaluation is printed.

- `--pipeline` also takes the names of ablations and controls (`VARIANTS` in pipeline_under_test/variants.py).
- `--set` makes other variants. A value is tried only where it makes a difference. For example, judge errors are tried
  only if a model judges.
- With `--judges`, PrefRAG runs once with each judge (`JUDGES` below). Its model judge is the simulated reader, which
  makes no mistakes at a judge error of 0.
- Without `--llm`, the simulated reader answers.
- With `--table ID`, the methods, datasets and k of a paper's table run (paper_tables.yaml). Then this table is printed.
  `--set` overrides these settings.
"""

import csv
import itertools
import math
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.progress import track

from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.pipeline_under_test.description import varies_with
from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.variants import read_pipeline
from prefrag.evaluation.report import write_report
from prefrag.evaluation.settings_file import make_settings, read_fields, split_changes
from prefrag.evaluation.studies.paper_table import PAPER_TABLES, PaperTable
from prefrag.pipelines.loading import find, names, read_block
from prefrag.pipelines.replacing import replace_parts
from prefrag.pipelines.runners import make_runner

# Pipelines with these words in the name are left out by default. They need a server, an embedding model, a third source
# or log probabilities. Or they differ from another pipeline only in the text of prompts. `--pipeline` runs them anyway.
_LEFT_OUT = ("elasticsearch", "dense", "hybrid", "three_sources", "flare", "analysis")
# The pipelines that need log probabilities, which the simulated reader does not have.
_NOT_SIMULATED = ("flare",)
# The metrics in the table.
_COLUMNS = (
    "acc",
    "f1",
    "em",
    "recall",
    "recall_all",
    "documents_per_question",
    "llm_calls",
    "total_local",
    "total_web",
    "total",
    "used_local",
    "used",
    "lookups",
    "forced",
    "seconds_per_question",
)
# The settings of the simulated reader, of the web and of the prompts, with the names of their columns in the table.
_VARIED = {
    "judge_error": "judge error",
    "distraction": "distraction",
    "seed": "seed",
    "reflection_error": "reflection error",
    "stopping_error": "stopping error",
    "source_choice": "source choice",
    "source_error": "source error",
    "second_try": "second try",
    "yes_no": "yes/no",
    "answer_error": "answer error",
    "memory": "memory",
    "queries": "queries",
    "web_sentences": "web sentences",
    "web_junk": "web junk",
    "prompts": "prompts",
}
# The settings that are probabilities. If one of them is above 0, the results depend on the seed.
_RATES = (
    "judge_error",
    "reflection_error",
    "stopping_error",
    "source_error",
    "distraction",
    "answer_error",
    "memory",
    "web_junk",
)
# The settings that make a difference only for some pipelines, see `varies_with`.
_NOT_EVERYWHERE = frozenset(
    {
        "judge_error",
        "reflection_error",
        "stopping_error",
        "source_choice",
        "source_error",
        "second_try",
        "queries",
        "web_sentences",
        "web_junk",
    }
)
# The default value of each setting.
_DEFAULTS = {setting.name: setting.default for setting in fields(Experiment)}
# The values that are tried by default.
_TRIED: dict[str, list[object]] = {
    "top_k": [3, 5, 7],
    "judge_error": [0.0, 0.1, 0.2],
    "distraction": [0.0, 0.02],
    "seed": [0],
}
# Matches the characters that no name of a folder may have on Windows, such as the colon in "a:b".
_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
# The class of a judge that asks a second judge if the first is unsure.
_CASCADE = "prefrag.components.judge.cascade_judge.CascadeJudge"
# The two judges of `prefrag.yaml`, alone or combined in a cascade, with changed settings. The last two use the trees
# with a cost that makes them always stay, or always leave.
JUDGES: dict[str, tuple[str, dict[str, float]]] = {
    "model": ("model_judge", {}),
    "classifier": ("tree_judge", {}),
    "cascade_40_60": ("cascade", {"unsure_from": 0.4, "unsure_to": 0.6}),
    "cascade_20_80": ("cascade", {"unsure_from": 0.2, "unsure_to": 0.8}),
    "cascade_10_90": ("cascade", {"unsure_from": 0.1, "unsure_to": 0.9}),
    "always_true": ("tree_judge", {"cost_of_leaving": math.inf}),
    "always_false": ("tree_judge", {"cost_of_leaving": 0.0}),
}


@dataclass(frozen=True)
class Cell:
    """One evaluation of the matrix."""

    # The name of the pipeline or of a variant, or its YAML file.
    pipeline: str
    # The folder of the dataset.
    dataset: Path
    # The name of the question file in this folder, without its ending.
    questions: str
    # The settings of the evaluation.
    experiment: Experiment

    @property
    def name(self) -> str:
        """The name of the pipeline, with its changed settings."""
        return " ".join([Path(self.pipeline).stem, *self.experiment.changes])

    @property
    def folder(self) -> str:
        """The folder of the evaluation, relative to the output folder."""
        chosen = self.experiment
        # `top_k` and the three settings of `always_named` are always in the name. All others are in it only if they
        # differ from their defaults.
        settings = f"k{chosen.top_k}-judge{chosen.judge_error:g}-distraction{chosen.distraction:g}-seed{chosen.seed}"
        always_named = ("judge_error", "distraction", "seed")
        if chosen.split is not None:
            settings += "-split" if chosen.split else "-whole"
        for name in _VARIED:
            value = getattr(chosen, name)
            if name not in always_named and value != _DEFAULTS[name]:
                short_name = name.replace("_", "")
                settings += f"-{short_name}{value}"
        if chosen.llm != SIMULATED:
            settings += f"-{chosen.model or 'model'}"

        pipeline_folder = _FORBIDDEN.sub("_", self.name)
        settings_folder = _FORBIDDEN.sub("_", settings)
        return f"{self.dataset.name}-{self.questions}/{pipeline_folder}/{settings_folder}"


def combine_cells(
    datasets: Sequence[Path], pipelines: Sequence[str], questions: str, settings: Mapping[str, Sequence[Any]]
) -> Iterator[Cell]:
    """Yield an evaluation for every combination of a pipeline, a dataset and values of the settings.

    If a setting makes no difference, only its first value is used.

    :param datasets: The folders of the datasets.
    :param pipelines: The names of pipelines or variants, or their YAML files.
    :param questions: The name of the question file in each folder, without its ending.
    :param settings: The values to try, by the name of the setting.
    :returns: An iterator over the evaluations.
    """
    # The datasets on which the setting `yes_no` makes no difference.
    without_yes_no = set()
    # Reading all questions takes time, and is needed only if several values are tried.
    if len(settings.get("yes_no", ())) > 1:
        without_yes_no = {dataset for dataset in datasets if not has_yes_no(dataset / f"{questions}.jsonl")}

    for pipeline in pipelines:
        block = read_pipeline(pipeline, *settings.get("changes", ()))
        useless_for_pipeline = _NOT_EVERYWHERE - set(varies_with(block, {"kind": SIMULATED}))
        for dataset in datasets:
            useless = useless_for_pipeline | ({"yes_no"} if dataset in without_yes_no else set())
            tried_values = {name: values[:1] if name in useless else values for name, values in settings.items()}
            of_dataset = {"corpus": dataset / "corpus.jsonl", "llm": SIMULATED}
            for combination in itertools.product(*tried_values.values()):
                setting_values = dict(zip(tried_values, combination, strict=True))
                experiment = make_settings(Experiment, {**of_dataset, **setting_values})
                # If nothing is drawn, the first seed is enough.
                is_first_seed = experiment.seed not in settings.get("seed", ())[1:]
                if is_first_seed or draws(experiment, useless):
                    yield Cell(pipeline, dataset, questions, experiment)


def draws(experiment: Experiment, useless: Collection[str]) -> bool:
    """Check whether the results of an evaluation depend on the seed.

    :param experiment: The settings.
    :param useless: The settings that make no difference for the pipeline.
    :returns: True if anything is drawn at random.
    """
    is_drawn = experiment.source_choice == "drawn" and "source_choice" not in useless
    return is_drawn or any(getattr(experiment, rate) for rate in _RATES if rate not in useless)


def has_yes_no(questions: Path) -> bool:
    """Check whether a file has a yes/no question with more than one gold passage.

    :param questions: The file of questions.
    :returns: True if there is such a question. The setting `yes_no` makes a difference only for such questions.
    """
    yes_no_questions = [question for question in load_questions(questions) if question.is_yes_no]
    return any(len(set(question.supporting_ids)) > 1 for question in yes_no_questions)


def write_judge_pipelines(folder: Path) -> dict[str, str]:
    """Write the YAML of PrefRAG with each judge.

    :param folder: The folder of the files.
    :returns: The files by the name of the judge.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    shipped = read_block(find("prefrag"))
    two_judges = shipped["components"]["judge"]["init_parameters"]["judge"]["init_parameters"]
    for name, (kind, settings) in JUDGES.items():
        judge = {"type": _CASCADE, "init_parameters": two_judges} if kind == "cascade" else two_judges[kind]
        changed_settings = {f"judge.judge.{key}": value for key, value in settings.items()}
        block = replace_parts(shipped, {"judge.judge": judge, **changed_settings})
        file = folder / f"prefrag_judge_{name}.yaml"
        file.write_text(yaml.safe_dump(block, sort_keys=False), encoding="utf-8")
        files[name] = str(file)
    return files


def _is_left_out(pipeline: str) -> bool:
    """Check whether a pipeline is left out by default."""
    return any(word in pipeline for word in _LEFT_OUT)


@contextmanager
def open_evaluation(
    output: Path, concurrency: int | None = None, limit: int | None = None
) -> Iterator[Callable[[Cell], dict[str, object] | str]]:
    """Prepare to run evaluations in one process.

    :param output: The folder of all evaluations.
    :param concurrency: The number of questions that run at the same time. None means that the model decides.
    :param limit: The maximum number of questions. None means all.
    :returns: A context manager with a function. The function runs an evaluation, unless it is finished, and returns its
        metrics or an error message.
    """
    from prefrag.evaluation.runs.runner import run

    def evaluate(cell: Cell) -> dict[str, object] | str:
        """Run an evaluation, unless it is finished. Return its metrics, or a message for the error that ended it."""
        questions = cell.dataset / f"{cell.questions}.jsonl"
        try:
            evaluation = run(
                cell.pipeline,
                questions,
                cell.experiment,
                output=output / cell.folder,
                progress=False,
                concurrency=concurrency,
                contents=False,
                limit=limit,
            )
            return evaluation.metrics
        except Exception as error:
            return f"{cell.folder}: {error}"

    yield evaluate


def find_dataset_folders(paths: list[Path], questions: str) -> list[Path]:
    """Find the datasets in folders.

    :param paths: The folders. Each is a dataset itself, or contains datasets directly.
    :param questions: The name of the question file that a dataset must have, without its ending.
    :returns: The folders of the datasets, sorted.
    :raises typer.BadParameter: If there is no dataset.
    """
    folders = []
    for path in paths:
        is_dataset = (path / "corpus.jsonl").is_file()
        candidates = [path] if is_dataset else path.iterdir()
        for folder in candidates:
            if (folder / "corpus.jsonl").is_file() and (folder / f"{questions}.jsonl").is_file():
                folders.append(folder)
    folders.sort()
    if not folders:
        raise typer.BadParameter(f"None of these folders holds a corpus.jsonl and a {questions}.jsonl.")
    return folders


def evaluate_all(
    wanted: list[Cell],
    output: Path,
    *,
    processes: int = 2,
    concurrency: int | None = None,
    ray: str | None = None,
    limit: int | None = None,
) -> dict[Cell, dict[str, object]]:
    """Run all evaluations in several processes.

    :param wanted: The evaluations.
    :param output: The folder of all evaluations.
    :param processes: The number of processes.
    :param concurrency: The number of questions that a process runs at the same time. None means that the model decides.
    :param ray: The address of a Ray cluster. None means this machine.
    :param limit: The maximum number of questions of an evaluation. None means all.
    :returns: The metrics of each evaluation, in the order of ``wanted``.
    :raises RuntimeError: If some evaluations failed. It is raised after the last one has ended.
    """
    finished: dict[Cell, dict[str, object]] = {}
    failed: list[str] = []
    runner = make_runner(1, processes, ray)
    results = runner.map(partial(open_evaluation, output.resolve(), concurrency, limit), wanted)
    with closing(results):
        for cell, outcome in track(results, total=len(wanted), description="Evaluating", console=Console(stderr=True)):
            if isinstance(outcome, str):
                failed.append(outcome)
            else:
                finished[cell] = outcome
    if failed:
        raise RuntimeError("These evaluations failed:\n" + "\n".join(failed))
    return {cell: finished[cell] for cell in wanted}


def list_rows(metrics_of_cells: dict[Cell, dict[str, object]]) -> list[list[str]]:
    """Make the rows of the table.

    :param metrics_of_cells: The metrics of each evaluation.
    :returns: The names of the columns, then one row per evaluation.
    """
    rows = [["reader", "dataset", "questions", "pipeline", "k", *_VARIED.values(), "n", "errors", *_COLUMNS]]
    for cell, metrics in metrics_of_cells.items():
        experiment = cell.experiment
        # Settings that make no difference are shown as a dash. The judge error is always shown.
        block = read_pipeline(cell.pipeline, experiment.changes)
        useless = _NOT_EVERYWHERE - {"judge_error", *varies_with(block, {"kind": SIMULATED}, experiment.prompts)}
        reader = "simulated" if experiment.llm == SIMULATED else experiment.model or "model"
        row = [reader, cell.dataset.name, cell.questions, cell.name, str(experiment.top_k)]
        for key in _VARIED:
            row.append("-" if key in useless else str(getattr(experiment, key)))
        row += [str(metrics["n"]), str(metrics["errors"])]
        for key in _COLUMNS:
            row.append("-" if metrics.get(key) is None else f"{metrics[key]:.2f}")
        rows.append(row)
    return rows


def write_table(done: dict[Cell, dict[str, object]], file: Path) -> None:
    """Write one line per evaluation as CSV.

    :param done: The metrics of each evaluation.
    :param file: The file.
    """
    with file.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows(list_rows(done))


def print_table(done: dict[Cell, dict[str, object]]) -> None:
    """Print the evaluations as a Markdown table, and name evaluations with failed questions on stderr.

    :param done: The metrics of each evaluation.
    """
    head, *rows = list_rows(done)
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    name_failed(done)


def name_failed(done: dict[Cell, dict[str, object]]) -> None:
    """Name evaluations with failed questions on stderr.

    :param done: The metrics of each evaluation.
    """
    for cell, metrics in done.items():
        if metrics["errors"]:
            failures = f"{metrics['errors']} of {metrics['n']} questions failed (score 0)"
            print(f"{cell.folder}: {failures}; `error` in its predictions.jsonl gives the reason.", file=sys.stderr)


def _read_lists(changes: Sequence[str]) -> dict[str, list[Any]]:
    """Read settings of the form NAME=VALUE,VALUE,... into lists of values.

    For example, ``_read_lists(["seed=0,1"])`` returns ``{"seed": [0, 1]}``.
    """
    lists: dict[str, list[Any]] = {}
    for text in changes:
        name, equals, values = text.partition("=")
        for value in values.split(","):
            fields_read = read_fields(Experiment, None, [f"{name}{equals}{value}"])
            lists.setdefault(name, []).extend(fields_read.values())
    return lists


def main(
    datasets: Annotated[list[Path], typer.Argument(help="Folders of datasets, or a folder that holds them.")],
    output: Annotated[Path, typer.Option(help="The folder for the evaluations.")],
    pipeline: Annotated[
        list[str] | None,
        typer.Option(help="A pipeline, ablation or control (repeatable); by default all that run on one machine."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE,...",
            help="A setting as for `prefrag evaluate`, with one or several values to try, such as seed=0,1,2. By "
            "default top_k=3,5,7 judge_error=0,0.1,0.2 distraction=0,0.02 seed=0.",
        ),
    ] = None,
    experiment: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="A file of settings; each value of a list is tried.")
    ] = None,
    judges: Annotated[bool, typer.Option("--judges", help="Evaluate PrefRAG with each judge.")] = False,
    questions: Annotated[str, typer.Option(help="dev, or train for tuning.")] = "dev",
    processes: Annotated[int, typer.Option(help="Evaluations to run at the same time.")] = 2,
    concurrency: Annotated[
        int | None,
        typer.Option(help="Questions per evaluation to run at the same time; by default as in `prefrag evaluate`."),
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this Ray cluster. Needs the package extra `ray`.")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="ID|FILE.csv", help=f"A paper's table ({', '.join(PAPER_TABLES)}), or a file for the lines."
        ),
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(metavar="URL|FILE.gguf", help="The model that answers; by default the simulated reader."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name on its server.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions of each dataset.")] = None,
) -> None:
    """Evaluate every combination and print a table."""
    csv_file = None
    paper = None
    if table and table.endswith(".csv"):
        csv_file = Path(table)
    elif table:
        paper = PaperTable.find(table)

    chooses_pipelines = judges or bool(pipeline)
    if paper is not None and chooses_pipelines:
        raise typer.BadParameter("A paper's table has pipelines of its own: leave --pipeline and --judges out.")
    pipelines = _choose_pipelines(pipeline, judges, output)
    own_changes, pipeline_changes = split_changes(changes or ())
    folders = find_dataset_folders(datasets, questions)
    if paper is not None:
        folders = _choose_folders(paper, folders)
        pipelines = _choose_of_table(paper, has_model=llm is not None)

    # Values of the file replace the default ones, and values of the command replace both.
    chosen_values = _list_tried(llm, model, paper) | read_fields(Experiment, experiment) | _read_lists(own_changes)
    changes_of_all = [*chosen_values.get("changes", ()), *pipeline_changes]
    settings = {}
    for name, value in chosen_values.items():
        settings[name] = value if isinstance(value, list) else [value]

    cells: list[Cell] = []
    for entry in pipelines:
        name = entry
        changes_of_entry: list[str] = []
        # In a paper's table, changed settings may follow the name of a pipeline.
        if paper is not None:
            name, *changes_of_entry = entry.split()
        settings["changes"] = [[*changes_of_entry, *changes_of_all]]
        cells += combine_cells(folders, [name], questions, settings)

    finished = evaluate_all(cells, output, processes=processes, concurrency=concurrency, ray=ray, limit=limit)
    if any(cell.experiment.llm == SIMULATED for cell in finished):
        print("SIMULATED: these numbers compare ways of retrieving; no language model answered.\n")
    if paper is None:
        print_table(finished)
    else:
        _print_table_of_paper(paper, finished, output)
    if csv_file is not None:
        write_table(finished, csv_file)


def _choose_pipelines(pipelines: list[str] | None, judges: bool, output: Path) -> list[str]:
    """Choose the pipelines to run: those of the command, PrefRAG with each judge, or all that run on one machine."""
    if judges and pipelines:
        raise typer.BadParameter("Give either --pipeline or --judges, not both.")
    if judges:
        return list(write_judge_pipelines(output / "pipelines").values())
    return pipelines or [name for name in names() if not _is_left_out(name)]


def _choose_folders(paper: PaperTable, folders: list[Path]) -> list[Path]:
    """Choose the datasets of a paper's table, and say which of them have no folder."""
    chosen, names_without_folder = paper.choose(folders)
    if names_without_folder:
        listed = ", ".join(names_without_folder)
        print(f"Table {paper.id} also has {listed}, of which there is no folder.", file=sys.stderr)
    return chosen


def _choose_of_table(paper: PaperTable, has_model: bool) -> list[str]:
    """Choose the pipelines of a paper's table that can be run, and name the others."""
    pipelines = [name for name in paper.pipelines if has_model or name not in _NOT_SIMULATED]
    left_out = set(paper.pipelines) - set(pipelines)
    if left_out:
        print(f"Without a model, {', '.join(left_out)} cannot be run.", file=sys.stderr)
    return pipelines


def _list_tried(llm: str | None, model: str | None, paper: PaperTable | None) -> dict[str, Any]:
    """List the values that are tried unless the command names others."""
    tried_values: dict[str, object] = dict(_TRIED)
    if llm is not None or paper is not None:
        # Only the simulated reader can be made to err, and no table of a paper has such a row.
        tried_values |= {"judge_error": [0.0], "distraction": [0.0]}
    if llm is not None:
        tried_values |= {"llm": [llm], "model": [model]}
    if paper is not None:
        tried_values |= {"top_k": list(paper.top_k), "split": [paper.split]}
    return tried_values


def _print_table_of_paper(paper: PaperTable, finished: dict[Cell, dict[str, object]], output: Path) -> None:
    """Print the evaluations in the layout of a paper's table, and draw the picture if it is a figure."""
    name_failed(finished)
    runs = [output / cell.folder for cell in finished]
    print(paper.lay_out(runs))
    if paper.is_figure:
        print(f"\nThe picture is in {write_report(runs, output / paper.id)}")


if __name__ == "__main__":
    typer.run(main)
