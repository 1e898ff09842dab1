"""Compare the wall time of an evaluation in one process and in two processes, which are measured in turns.

    python -m benchmarks.workers [--dataset FOLDER] [--pipeline NAME] [--limit N] [--rounds N]

The dataset is a folder with dev.jsonl and corpus.jsonl, by default data/multihop/2wikimultihopqa in the
checkout. The simulated reader answers, so that this machine does all the work. The time includes starting the
processes.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.places import MULTIHOP
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.runs.runner import run


def main(
    dataset: Path = MULTIHOP / "2wikimultihopqa",
    pipeline: str = "prefrag",
    questions: str = "train",
    limit: Annotated[int, typer.Option(min=1)] = 500,
    rounds: int = 2,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PREFRAG_DATA_DIR"] = folder
        experiment = Experiment(corpus=dataset / "corpus.jsonl", llm="simulated")
        # Make the index before anything is timed.
        run(pipeline, dataset / f"{questions}.jsonl", experiment, limit=1, progress=False)
        for number in range(rounds):
            seconds = []
            for workers in (None, 2):
                began = time.perf_counter()
                run(pipeline, dataset / f"{questions}.jsonl", experiment, limit=limit, workers=workers, progress=False)
                seconds.append(time.perf_counter() - began)
            single, double = seconds
            ratio = f"{single / double:.2f} times as fast; load {os.getloadavg()[0]:.1f}"
            print(f"round {number + 1}: one process {single:.1f} s, two {double:.1f} s, {ratio}")


if __name__ == "__main__":
    typer.run(main)
