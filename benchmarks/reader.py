"""Measure the extractive reader in two pipelines: exact match, F1, how often it answers, and the shown evidence.

    python benchmarks/reader.py [--data FOLDER] [--model FOLDER] [--threshold 0.5] [--split dev] [--only demo]

The datasets are the demo and those in `--data` (by default data/multihop in the checkout). In
`dr_rag_linked`, the reader reads the five passages that the shipped pair trees select. The demo's two corpora are in
one index there. In `prefrag`, the reader runs the loop over a corpus that is divided between the sources. Exact match
and F1 also count guesses, which the reader is not sure enough to give as answers. An answer is right if it contains a
gold answer or has an F1 of at least 0.8. Evidence is measured for questions without a given answer: how often a shown
sentence contains a gold answer (except `yes` and `no`), and how often a shown sentence is from a gold passage. The 95%
intervals are from 10,000 bootstrap samples of questions.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))
# Questions are measured one at a time, on one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from benchmarks.places import MULTIHOP  # noqa: E402
from prefrag.evaluation.datasets import load_questions  # noqa: E402
from prefrag.evaluation.metrics import score  # noqa: E402
from prefrag.evaluation.metrics.answers import f1  # noqa: E402
from prefrag.evaluation.metrics.certainty import is_right  # noqa: E402
from prefrag.evaluation.pipeline_under_test.experiment import READER, Experiment  # noqa: E402
from prefrag.evaluation.pipeline_under_test.setup import Setup  # noqa: E402
from prefrag.pipelines import ask, load  # noqa: E402

DATASETS = ("hotpotqa", "2wikimultihopqa", "musique", "bioasq")
DEMO = CHECKOUT / "demo"
PIPELINES = ("dr_rag_linked", "prefrag")
PASSAGES = 5
COLUMNS = "n|exact match|F1|given|of these right|right, wrong|evidence holds the answer|is of a gold passage|cpu-s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument("--model", help="the folder of a reader; by default the shipped reader")
    parser.add_argument(
        "--threshold", type=float, help="the probability from which an answer is given; by default the reader's own"
    )
    parser.add_argument("--split", default="dev", choices=("dev", "train"))
    parser.add_argument("--only", nargs="+", default=[*DATASETS, "demo"], help="the datasets to measure")
    parser.add_argument("--pipelines", nargs="+", default=PIPELINES)
    parser.add_argument("--write", type=Path, help="a JSON Lines file for the result of each question")
    options = parser.parse_args()
    print(f"| {options.split} | pipeline | {COLUMNS.replace('|', ' | ')} |")
    print("|---" * (COLUMNS.count("|") + 3) + "|")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        both = Path(folder) / "demo.jsonl"
        both.write_bytes(b"".join((DEMO / f"{name}.jsonl").read_bytes() for name in ("local", "web")))
        for pipeline in options.pipelines:
            for name in options.only:
                if name != "demo":
                    questions = options.data / name / f"{options.split}.jsonl"
                    corpora = {"corpus": options.data / name / "corpus.jsonl"}
                elif pipeline == "prefrag":
                    questions = DEMO / "questions.jsonl"
                    corpora = {"corpus": DEMO / "local.jsonl", "web_corpus": DEMO / "web.jsonl"}
                else:
                    questions, corpora = DEMO / "questions.jsonl", {"corpus": both}
                replace = {"Reasoner.reader.model": options.model, "Reasoner.reader.threshold": options.threshold}
                used = load(pipeline, replace=replace)
                rows = measure(used, questions, Experiment(llm=READER, top_k=PASSAGES, **corpora))
                results += [{"dataset": name, "pipeline": pipeline, **row} for row in rows]
                print(line(name, pipeline, rows), flush=True)
    if options.write is not None:
        options.write.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in results), encoding="utf-8"
        )


def measure(pipeline: Any, questions: Path, experiment: Experiment) -> list[dict[str, Any]]:
    """Answer all questions of a dataset one after the other.

    :param pipeline: A loaded pipeline.
    :param questions: The file of the questions.
    :param experiment: The corpora.
    :returns: For each question the scores, the result and the seconds of processor time.
    """
    setup = Setup(pipeline, experiment, questions)
    rows = []
    with setup.environment():
        built = setup.build()
        for question in load_questions(questions):
            started = time.process_time()
            result = ask(question.question, built)
            seconds = time.process_time() - started
            answer = result["answer"] or result["guess"] or ""
            overlap = f1(answer, question.answers) if answer else 0.0
            queries = [step["query"] for step in result["steps"] if step["query"]]
            sources = [step["source"] for step in result["steps"] if step["source"]]
            rows.append(
                {
                    "id": question.id,
                    "question": question.question,
                    "golds": question.answers,
                    "answer": answer,
                    **score(question, result),
                    "f1": overlap,
                    "right": float(bool(answer) and is_right(question, answer)),
                    "seconds": seconds,
                    "probability": result["probability"],
                    "evidence": result["evidence"],
                    "queries": queries,
                    "sources": sources,
                }
            )
    return rows


def line(name: str, pipeline: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the row of the table for a dataset and a pipeline.

    :param rows: The results from :func:`measure`.
    """
    right = sum(row.get("right_of_given", 0.0) for row in rows)
    stated = sum(row.get("answered", 0.0) for row in rows)
    means = []
    for key in ("guess_em", "f1", "answered", "right_of_given", "evidence_held", "evidence_gold"):
        means.append(with_interval([100 * row[key] for row in rows if key in row]))
    em, overlap, answered, right_of_given, evidence_held, gold = means
    counts = f"{right:.0f}, {stated - right:.0f}"
    cells = (name, pipeline, len(rows), em, overlap, answered, right_of_given, counts, evidence_held, gold)
    return f"| {' | '.join(map(str, cells))} | {mean(row['seconds'] for row in rows):.3f} |"


def with_interval(values: list[float]) -> str:
    """Describe the mean of the questions' values, with the 95% interval in brackets. Without values, return a dash."""
    if not values:
        return "-"
    draw = np.random.default_rng(7)
    means = np.array(values)[draw.integers(0, len(values), (10_000, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{mean(values):.1f} ({low:.1f} to {high:.1f})"


if __name__ == "__main__":
    main()
