"""Evaluates many pipelines on many datasets under many settings with the simulated reader, for `evaluation/RESULTS.md`.

    python -m prefrag.evaluation.studies.matrix FOLDER_OF_DATASETS --output runs
    python -m prefrag.evaluation.studies.matrix FOLDER_OF_DATASETS --output runs \
        --pipeline prefrag --top-k 5 --judge-error 0.1
    prefrag report runs --output report

A dataset is a folder with `corpus.jsonl` and `dev.jsonl`. Every evaluation has a folder of its own, and those that are
there already are not made again. Ends with one line an evaluation, as a Markdown table.
"""

from __future__ import annotations

import csv
import itertools
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from prefrag.evaluation.pipeline_under_test.description import model_judges
from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED
from prefrag.evaluation.pipeline_under_test.pipeline_blocks import read_pipeline
from prefrag.pipelines.loading import names

# Those that need a server, an embedding model or a third source.
_LEFT_OUT = ("elasticsearch", "dense", "hybrid", "three_sources")
_COLUMNS = (
    *("acc", "f1", "em", "recall", "recall_all", "documents_per_question", "llm_calls"),
    *("total_local", "total_web", "total", "used_local", "used", "forced", "seconds_per_question"),
)


@dataclass(frozen=True)
class Cell:
    """One evaluation.

    :param pipeline: The name of the pipeline.
    :param dataset: The folder of the dataset.
    :param questions: The file of questions there, without its ending.
    :param top_k: Documents a retrieval.
    :param judge_error: Of the simulated reader, as the next two.
    :param distraction: The chance that one irrelevant passage spoils an answer.
    :param seed: The seed.
    :param split: As for `prefrag evaluate`; None leaves it to the pipeline.
    """

    pipeline: str
    dataset: Path
    questions: str
    top_k: int
    judge_error: float
    distraction: float
    seed: int
    split: bool | None

    @property
    def folder(self) -> str:
        """:returns: Where its results lie under the output folder."""
        sources = {None: "", True: "-split", False: "-whole"}[self.split]
        settings = f"k{self.top_k}-judge{self.judge_error:g}-distraction{self.distraction:g}-seed{self.seed}{sources}"
        return f"{self.dataset.name}-{self.questions}/{Path(self.pipeline).stem}/{settings}"


def cells(
    datasets: list[Path],
    pipelines: list[str],
    questions: str,
    top_k: list[int],
    judge_errors: list[float],
    distractions: list[float],
    seeds: list[int],
    split: bool | None,
) -> Iterator[Cell]:
    """:returns: Every combination that can differ from the others: errors of the judge only where a model judges."""
    for pipeline in pipelines:
        judged = model_judges(read_pipeline(pipeline), {"kind": SIMULATED})
        errors = judge_errors if judged else judge_errors[:1]
        for dataset, k, error, distraction, seed in itertools.product(datasets, top_k, errors, distractions, seeds):
            yield Cell(pipeline, dataset, questions, k, error, distraction, seed, split)


def evaluate(cell: Cell, output: Path, concurrency: int) -> dict[str, Any]:
    """
    Make one evaluation; one that is there already is only read, and refused if the pipeline has changed since.

    :param cell: Which.
    :param output: The folder of all.
    :param concurrency: Questions asked at the same time.
    :returns: Its metrics.
    """
    from prefrag.evaluation.runs.runner import run

    return run(
        cell.pipeline,
        cell.dataset / f"{cell.questions}.jsonl",
        output=output / cell.folder,
        corpus=cell.dataset / "corpus.jsonl",
        llm=SIMULATED,
        split=cell.split,
        top_k=cell.top_k,
        judge_error=cell.judge_error,
        distraction=cell.distraction,
        seed=cell.seed,
        concurrency=concurrency,
        contents=False,
        progress=False,
    ).metrics


def dataset_folders(given: list[Path], questions: str) -> list[Path]:
    """
    Find datasets.

    :param given: Folders of datasets, or folders that hold some.
    :param questions: The file of questions that each must have, without its ending.
    :returns: The folders with a corpus and such a file, by name.
    :raises typer.BadParameter: When there is none.
    """
    folders = sorted(
        folder
        for path in given
        for folder in ([path] if (path / "corpus.jsonl").is_file() else path.iterdir())
        if (folder / "corpus.jsonl").is_file() and (folder / f"{questions}.jsonl").is_file()
    )
    if not folders:
        raise typer.BadParameter(f"No folder there holds a corpus.jsonl and a {questions}.jsonl.")
    return folders


def evaluate_all(
    wanted: list[Cell], output: Path, *, processes: int = 2, concurrency: int = 4
) -> dict[Cell, dict[str, Any]]:
    """
    Make evaluations in several processes.

    :param wanted: Which.
    :param output: The folder of all.
    :param processes: Evaluations made at the same time.
    :param concurrency: Questions of one evaluation at the same time.
    :returns: The metrics of each, in the order given.
    :raises RuntimeError: When some could not be made, after all others were.
    """
    done: dict[Cell, dict[str, Any]] = {}
    failed: list[str] = []
    # Not forked: the store and the event loop have threads.
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(evaluate, cell, output, concurrency): cell for cell in wanted}
        bar = track(as_completed(running), total=len(running), description="Evaluating", console=Console(stderr=True))
        for future in bar:
            if error := future.exception():
                failed.append(f"{running[future].folder}: {error}")
            else:
                done[running[future]] = future.result()
    if failed:
        raise RuntimeError("These could not be made:\n" + "\n".join(failed))
    return {cell: done[cell] for cell in wanted}


def print_table(done: dict[Cell, dict[str, Any]], file: Path | None = None) -> None:
    """
    Print one line an evaluation, as a Markdown table, and on the error stream which of them have failed questions.

    :param done: The metrics of each.
    :param file: Where to write the same as CSV as well.
    """
    print("SIMULATED: these numbers compare ways of retrieving; no language model has answered.\n")
    head = ("reader", "dataset", "pipeline", "k", "judge error", "distraction", "seed", "n", "errors", *_COLUMNS)
    rows = []
    for cell, metrics in done.items():
        name = Path(cell.pipeline).stem
        settings = (
            "simulated",
            cell.dataset.name,
            name,
            cell.top_k,
            cell.judge_error,
            cell.distraction,
            cell.seed,
            metrics["n"],
            metrics["errors"],
        )
        values = [f"{metrics[key]:.2f}" if metrics.get(key) is not None else "-" for key in _COLUMNS]
        rows.append([*map(str, settings), *values])
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    for cell, metrics in done.items():
        if metrics["errors"]:
            told = f"{cell.folder}: {metrics['errors']} of {metrics['n']} questions failed and score 0"
            print(f"{told}; `error` in its predictions.jsonl says why.", file=sys.stderr)
    if file is not None:
        with file.open("w", newline="", encoding="utf-8") as lines:
            csv.writer(lines).writerows([head, *rows])


def main(
    datasets: Annotated[list[Path], typer.Argument(help="Folders of datasets, or a folder that holds them.")],
    output: Annotated[Path, typer.Option(help="Where the evaluations go.")],
    pipeline: Annotated[
        list[str] | None, typer.Option(help="Repeat it; by default all that run on one machine.")
    ] = None,
    questions: Annotated[str, typer.Option(help="dev, or train for tuning.")] = "dev",
    top_k: Annotated[list[int] | None, typer.Option(help="Repeat it; by default 3, 5 and 7.")] = None,
    judge_error: Annotated[list[float] | None, typer.Option(help="Repeat it; by default 0, 0.1 and 0.2.")] = None,
    distraction: Annotated[list[float] | None, typer.Option(help="Repeat it; by default 0 and 0.02.")] = None,
    seed: Annotated[list[int] | None, typer.Option(help="Repeat it; by default 0.")] = None,
    split: Annotated[bool | None, typer.Option("--split/--whole", help="As for `prefrag evaluate`.")] = None,
    processes: Annotated[int, typer.Option(help="Evaluations made at the same time.")] = 2,
    concurrency: Annotated[int, typer.Option(help="Questions of one evaluation at the same time.")] = 4,
    table: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write the table there as well.")] = None,
) -> None:
    """Evaluate every combination and print a table."""
    folders = dataset_folders(datasets, questions)
    chosen = pipeline or [name for name in names() if not any(word in name for word in _LEFT_OUT)]
    wanted = list(
        cells(
            folders,
            chosen,
            questions,
            top_k or [3, 5, 7],
            judge_error or [0.0, 0.1, 0.2],
            distraction or [0.0, 0.02],
            seed or [0],
            split,
        )
    )
    print_table(evaluate_all(wanted, output, processes=processes, concurrency=concurrency), table)


if __name__ == "__main__":
    typer.run(main)
