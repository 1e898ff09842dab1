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
are not repeated. `--pipeline` also takes the names of ablations and controls (`VARIANTS` in
pipeline_under_test/variants.py), and `--set` makes other variants. A value is tried only where it makes a difference.
For example, judge errors are tried only if a model judges. With `--judges`, PrefRAG runs once with each judge (`JUDGES`
below). Its model judge is the simulated reader, which makes no mistakes at a judge error of 0. At the end, a Markdown
table with one line per evaluation is printed.

Without `--llm`, the simulated reader answers. With `--table ID`, the methods, datasets and k of a paper's table run
(paper_tables.yaml), and this table is printed; `--set` changes what it sets.
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
# or log probabilities, or differ from another pipeline only in the text of prompts. `--pipeline` runs them anyway.
_LEFT_OUT = ("elasticsearch", "dense", "hybrid", "three_sources", "flare", "analysis")
# These need log probabilities, which the simulated reader does not have.
_NOT_SIMULATED = ("flare",)
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
# The settings of the simulated reader, of the web and of the prompts, with their column names in the table.
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
# The settings that matter only to some pipelines, see `varies_with`.
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
_DEFAULTS = {setting.name: setting.default for setting in fields(Experiment)}
# The values to try by default.
_TRIED: dict[str, list[Any]] = {
    "top_k": [3, 5, 7],
    "judge_error": [0.0, 0.1, 0.2],
    "distraction": [0.0, 0.02],
    "seed": [0],
}
# Characters that Windows allows in no name of a folder.
_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
_CASCADE = "prefrag.components.judge.cascade_judge.CascadeJudge"
# The two judges of `prefrag.yaml`, alone or combined in a cascade, with changed settings.
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

    pipeline: str  # the name of the pipeline or of a variant, or its YAML file
    dataset: Path
    questions: str  # the name of the question file in the dataset's folder, without its ending
    experiment: Experiment  # the settings of the evaluation

    @property
    def name(self) -> str:
        """The name of the pipeline, with its changed settings."""
        return " ".join([Path(self.pipeline).stem, *self.experiment.changes])

    @property
    def folder(self) -> str:
        """The folder of the evaluation, relative to the output folder."""
        own = self.experiment
        sources = {None: "", True: "-split", False: "-whole"}[own.split]
        first = ("judge_error", "distraction", "seed")
        further = [name for name in _VARIED if name not in first and getattr(own, name) != _DEFAULTS[name]]
        settings = f"k{own.top_k}-judge{own.judge_error:g}-distraction{own.distraction:g}-seed{own.seed}{sources}"
        named = "".join(f"-{name.replace('_', '')}{getattr(own, name)}" for name in further)
        named += "" if own.llm == SIMULATED else f"-{own.model or 'model'}"
        of_pipeline, of_settings = (_FORBIDDEN.sub("_", name) for name in (self.name, f"{settings}{named}"))
        return f"{self.dataset.name}-{self.questions}/{of_pipeline}/{of_settings}"


def combine_cells(
    datasets: Sequence[Path], pipelines: Sequence[str], questions: str, settings: Mapping[str, Sequence[Any]]
) -> Iterator[Cell]:
    """Yield an evaluation for every combination. If a setting makes no difference, use only its first value."""
    without_yes_no = set()
    if len(settings.get("yes_no", ())) > 1:
        without_yes_no = {dataset for dataset in datasets if not has_yes_no(dataset / f"{questions}.jsonl")}
    for pipeline in pipelines:
        block = read_pipeline(pipeline, *settings.get("changes", ()))
        useless = _NOT_EVERYWHERE - set(varies_with(block, {"kind": SIMULATED}))
        for dataset in datasets:
            fixed = useless | {"yes_no"} if dataset in without_yes_no else useless
            varied = dict(settings)
            for name in fixed & settings.keys():
                varied[name] = settings[name][:1]
            shared = {"corpus": dataset / "corpus.jsonl", "llm": SIMULATED}
            for values in itertools.product(*varied.values()):
                replaced = dict(zip(varied, values, strict=True))
                experiment = make_settings(Experiment, {**shared, **replaced})
                if experiment.seed in settings.get("seed", ())[1:] and not draws(experiment, useless):
                    continue
                yield Cell(pipeline, dataset, questions, experiment)


def draws(experiment: Experiment, useless: Collection[str]) -> bool:
    """Check whether the results of an evaluation depend on the seed."""
    is_drawn = experiment.source_choice == "drawn" and "source_choice" not in useless
    return is_drawn or any(getattr(experiment, rate) for rate in _RATES if rate not in useless)


def has_yes_no(questions: Path) -> bool:
    """Check whether a file has a yes/no question with more than one gold passage."""
    return any(question.is_yes_no and len(set(question.supporting_ids)) > 1 for question in load_questions(questions))


def write_judge_pipelines(folder: Path) -> dict[str, str]:
    """Write the YAML of PrefRAG with each judge, and return the files by the judge's name."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    shipped = read_block(find("prefrag"))
    both = shipped["components"]["judge"]["init_parameters"]["judge"]["init_parameters"]
    for name, (kind, settings) in JUDGES.items():
        judge = {"type": _CASCADE, "init_parameters": both} if kind == "cascade" else both[kind]
        replaced = {f"judge.judge.{key}": value for key, value in settings.items()}
        block = replace_parts(shipped, {"judge.judge": judge, **replaced})
        file = folder / f"prefrag_judge_{name}.yaml"
        file.write_text(yaml.safe_dump(block, sort_keys=False), encoding="utf-8")
        files[name] = str(file)
    return files


def _is_left_out(pipeline: str) -> bool:
    return any(word in pipeline for word in _LEFT_OUT)


@contextmanager
def open_evaluation(
    output: Path, concurrency: int, limit: int | None = None
) -> Iterator[Callable[[Cell], dict[str, Any] | str]]:
    """Yield a function that runs an evaluation unless it is finished, and returns its metrics or an error message."""
    from prefrag.evaluation.runs.runner import run

    def evaluate(cell: Cell) -> dict[str, Any] | str:
        questions, folder = cell.dataset / f"{cell.questions}.jsonl", output / cell.folder
        settings = {"output": folder, "concurrency": concurrency, "contents": False, "progress": False, "limit": limit}
        try:
            return run(cell.pipeline, questions, cell.experiment, **settings).metrics  # type: ignore[arg-type]
        except Exception as error:
            return f"{cell.folder}: {error}"

    yield evaluate


def find_dataset_folders(paths: list[Path], questions: str) -> list[Path]:
    """Find the datasets. A given folder is either a dataset itself or contains datasets directly."""
    folders = []
    for path in paths:
        is_dataset = (path / "corpus.jsonl").is_file()
        for folder in [path] if is_dataset else path.iterdir():
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
    concurrency: int = 4,
    ray: str | None = None,
    limit: int | None = None,
) -> dict[Cell, dict[str, Any]]:
    """Run all evaluations in several processes. If some failed, raise RuntimeError after the last one has ended."""
    done: dict[Cell, dict[str, Any]] = {}
    failed: list[str] = []
    made = make_runner(1, processes, ray).map(partial(open_evaluation, output.resolve(), concurrency, limit), wanted)
    with closing(made):
        for cell, ended in track(made, total=len(wanted), description="Evaluating", console=Console(stderr=True)):
            if isinstance(ended, str):
                failed.append(ended)
            else:
                done[cell] = ended
    if failed:
        raise RuntimeError("These evaluations failed:\n" + "\n".join(failed))
    return {cell: done[cell] for cell in wanted}


def list_rows(done: dict[Cell, dict[str, Any]]) -> list[list[str]]:
    """Return the names of the columns, then one row per evaluation."""
    rows = [["reader", "dataset", "questions", "pipeline", "k", *_VARIED.values(), "n", "errors", *_COLUMNS]]
    for cell, metrics in done.items():
        own = cell.experiment
        # Settings that make no difference are shown as a dash, except the judge error, which is always shown.
        block = read_pipeline(cell.pipeline, own.changes)
        useless = _NOT_EVERYWHERE - {"judge_error", *varies_with(block, {"kind": SIMULATED}, own.prompts)}
        reader = "simulated" if own.llm == SIMULATED else own.model or "model"
        row = [reader, cell.dataset.name, cell.questions, cell.name, str(own.top_k)]
        for key in _VARIED:
            row.append("-" if key in useless else str(getattr(own, key)))
        row += [str(metrics["n"]), str(metrics["errors"])]
        for key in _COLUMNS:
            row.append("-" if metrics.get(key) is None else f"{metrics[key]:.2f}")
        rows.append(row)
    return rows


def write_table(done: dict[Cell, dict[str, Any]], file: Path) -> None:
    """Write one line per evaluation as CSV."""
    with file.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows(list_rows(done))


def print_table(done: dict[Cell, dict[str, Any]]) -> None:
    """Print the evaluations as a Markdown table, and name evaluations with failed questions on stderr."""
    head, *rows = list_rows(done)
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    name_failed(done)


def name_failed(done: dict[Cell, dict[str, Any]]) -> None:
    """Name evaluations with failed questions on stderr."""
    for cell, metrics in done.items():
        if metrics["errors"]:
            counted = f"{metrics['errors']} of {metrics['n']} questions failed (score 0)"
            print(f"{cell.folder}: {counted}; `error` in its predictions.jsonl gives the reason.", file=sys.stderr)


def _read_lists(single: Sequence[str]) -> dict[str, list[Any]]:
    read: dict[str, list[Any]] = {}
    for text in single:
        name, equals, values = text.partition("=")
        for value in values.split(","):
            read.setdefault(name, []).extend(read_fields(Experiment, None, [f"{name}{equals}{value}"]).values())
    return read


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
    concurrency: Annotated[int, typer.Option(help="Questions per evaluation to run at the same time.")] = 4,
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
    file = None
    paper = None
    if table and table.endswith(".csv"):
        file = Path(table)
    elif table:
        paper = PaperTable.find(table)
    chooses_pipelines = judges or bool(pipeline)
    if paper is not None and chooses_pipelines:
        raise typer.BadParameter("A paper's table has pipelines of its own: leave --pipeline and --judges out.")
    if judges:
        if pipeline:
            raise typer.BadParameter("Give either --pipeline or --judges, not both.")
        pipeline = list(write_judge_pipelines(output / "pipelines").values())
    pipelines = pipeline
    if not pipelines:
        pipelines = [name for name in names() if not _is_left_out(name)]
    single, of_pipeline = split_changes(changes or ())
    folders = find_dataset_folders(datasets, questions)
    tried = dict(_TRIED)
    if llm is not None or paper is not None:
        # Only the simulated reader can be made to err, and no paper has such a row.
        tried |= {"judge_error": [0.0], "distraction": [0.0]}
    if llm is not None:
        tried |= {"llm": [llm], "model": [model]}
    if paper is not None:
        folders, absent = paper.choose(folders)
        if absent:
            print(f"Table {paper.id} also has {', '.join(absent)}, of which there is no folder.", file=sys.stderr)
        pipelines = [name for name in paper.pipelines if llm is not None or name not in _NOT_SIMULATED]
        left_out = set(paper.pipelines) - set(pipelines)
        if left_out:
            print(f"Without a model, {', '.join(left_out)} cannot be run.", file=sys.stderr)
        tried |= {"top_k": list(paper.top_k), "split": [paper.split]}
    chosen = tried | read_fields(Experiment, experiment) | _read_lists(single)
    of_all = [*chosen.get("changes", ()), *of_pipeline]
    settings = {}
    for name, value in chosen.items():
        settings[name] = value if isinstance(value, list) else [value]
    wanted: list[Cell] = []
    for named in pipelines:
        # In a paper's table, changed settings may follow the name.
        name, *changed = named.split() if paper is not None else [named]
        changes_of_all = {"changes": [[*changed, *of_all]]}
        wanted += combine_cells(folders, [name], questions, {**settings, **changes_of_all})
    done = evaluate_all(wanted, output, processes=processes, concurrency=concurrency, ray=ray, limit=limit)
    if any(cell.experiment.llm == SIMULATED for cell in done):
        print("SIMULATED: these numbers compare ways of retrieving; no language model answered.\n")
    if paper is None:
        print_table(done)
    else:
        name_failed(done)
        runs = [output / cell.folder for cell in done]
        print(paper.lay_out(runs))
        if paper.is_figure:
            print(f"\nThe picture is in {write_report(runs, output / paper.id)}")
    if file is not None:
        write_table(done, file)


if __name__ == "__main__":
    typer.run(main)
