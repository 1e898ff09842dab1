"""Measure the reader on what `dr_rag_linked` retrieves: exact match, F1, answers given and right.

    python benchmarks/reader.py [--data FOLDER] [--model FOLDER] [--threshold 0.5] [--split dev]

The datasets are those of `--data` (by default ../shared/data/multihop beside the checkout); the demo's questions are
answered from both of its corpora in one index. Each question is answered from the five passages that the shipped pair
trees select. An answer is right where it holds a gold answer or has an F1 of 0.8 and more. Intervals are 95%, the
middle of the means of 10,000 bootstrap samples of the questions.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))
# One question at a time is measured on one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from haystack import Document  # noqa: E402

from prefrag.components.reader.extractive_reader import SHIPPED_READER, ExtractiveReader  # noqa: E402
from prefrag.evaluation.metrics.answers import acc_word, em, f1  # noqa: E402
from prefrag.training.dataset import Dataset  # noqa: E402
from prefrag.training.reader.retrieval import retrieve  # noqa: E402

DATASETS = ("hotpotqa", "2wikimultihopqa", "musique", "bioasq")
PASSAGES = 5


def main() -> None:
    """Run the measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("PREFRAG_TEST_SHARED") or CHECKOUT.parent / "shared")
    parser.add_argument("--data", type=Path, default=shared / "data" / "multihop", help="the folder of the datasets")
    parser.add_argument("--model", help="the folder of a reader; by default the shipped one")
    parser.add_argument("--threshold", type=float, help="the least probability; by default that of the reader's card")
    parser.add_argument("--split", default="dev", choices=("dev", "train"))
    parser.add_argument("--write", type=Path, help="a file for all answers, JSON lines")
    options = parser.parse_args()
    card = json.loads((Path(options.model or SHIPPED_READER) / "card.json").read_text(encoding="utf-8"))
    threshold = card["threshold"] if options.threshold is None else options.threshold
    reader = ExtractiveReader(options.model)
    reader.warm_up()
    print(f"| {options.split} | n | exact match | F1 | given at {threshold:.3f} | of these right | right, wrong | "
          "cpu-s: search, read |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        both = Path(folder) / "corpus.jsonl"
        both.write_bytes(b"".join((CHECKOUT / "demo" / f"{name}.jsonl").read_bytes() for name in ("local", "web")))
        sets = {
            name: Dataset(options.data / name / f"{options.split}.jsonl", options.data / name / "corpus.jsonl")
            for name in DATASETS
            if options.data.is_dir()
        } | {"demo": Dataset(CHECKOUT / "demo" / "questions.jsonl", both)}
        for name, dataset in sets.items():
            rows = measure(reader, dataset)
            kept += [{"dataset": name, **row} for row in rows]
            print(line(name, rows, threshold), flush=True)
    if options.write is not None:
        options.write.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), encoding="utf-8")


def measure(reader: ExtractiveReader, dataset: Dataset) -> list[dict]:
    """Answer all questions of a dataset.

    :param reader: The reader.
    :param dataset: The questions and their corpus.
    :returns: For each question the answer, its probability, its scores and the seconds of processor time.
    """
    questions, documents = dataset.read()
    by_id: dict[str, Document] = {one.id: one for one in documents}
    started = time.process_time()
    retrieved = retrieve(dataset)
    searching = (time.process_time() - started) / len(questions)
    rows = []
    for question in questions:
        started = time.process_time()
        found = reader.read(question.question, [by_id[one] for one in retrieved[question.id][:PASSAGES]])
        seconds = time.process_time() - started
        answer, probability = (found[0].text, found[0].probability) if found else ("", 0.0)
        golds = question.answers
        rows.append(
            {
                "id": question.id,
                "question": question.question,
                "golds": golds,
                "answer": answer,
                "probability": probability,
                "sentence": found[0].sentence if found else "",
                "em": em(answer, golds),
                "f1": f1(answer, golds),
                "right": float(bool(acc_word(answer, golds)) or f1(answer, golds) >= 0.8),
                "search": searching,
                "read": seconds,
            }
        )
    return rows


def line(name: str, rows: list[dict], threshold: float) -> str:
    """Write the line of a dataset.

    :param name: Its name.
    :param rows: See :func:`measure`.
    :param threshold: The least probability of an answer that is given.
    :returns: A row of the table.
    """
    given = [row for row in rows if row["answer"] and row["probability"] >= threshold]
    right = sum(row["right"] for row in given)
    shares = [with_interval([100 * row[score] for row in rows]) for score in ("em", "f1")]
    seconds = f"{mean(row['search'] for row in rows):.3f}, {mean(row['read'] for row in rows):.3f}"
    return (
        f"| {name} | {len(rows)} | {shares[0]} | {shares[1]} | {100 * len(given) / len(rows):.1f} | "
        f"{100 * right / max(1, len(given)):.1f} | {right:.0f}, {len(given) - right:.0f} | {seconds} |"
    )


def with_interval(values: list[float]) -> str:
    """Write a mean with its interval.

    :param values: A value a question.
    :returns: The mean, and the 95% interval in brackets.
    """
    draw = np.random.default_rng(7)
    means = np.array(values)[draw.integers(0, len(values), (10_000, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{mean(values):.1f} ({low:.1f} to {high:.1f})"


if __name__ == "__main__":
    main()
