"""Measure the selections of DR-RAG's pair classifier: recall of gold passages, number of documents, and time.

    python benchmarks/pair_selection.py [--data FOLDER] [--seeds 5] [--transformer FOLDER] [--questions dev]

Each dataset is a folder in `--data` (by default data/multihop in the checkout) with corpus.jsonl,
train.jsonl and dev.jsonl. The candidates are retrieved as in `dr_rag_cis` and `dr_rag_cfs`. Three engines are measured:
the shipped trees, trees trained again with other seeds, and the transformer that `prefrag train pairs --engine
transformer` wrote into the folder `--transformer`, at the threshold of its card. With a transformer, questions are
printed for which only one engine selects all gold passages. Recall is in percent, the mean over questions, with a 95%
interval from 10,000 bootstrap samples of the questions. The milliseconds are the median processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))
# Questions are measured one at a time, on one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from haystack import Document  # noqa: E402

from benchmarks.places import MULTIHOP  # noqa: E402
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore  # noqa: E402
from prefrag.components.pair_classifier.pair_classifier import PairClassifier  # noqa: E402
from prefrag.components.pair_classifier.transformer_pair_scorer import TransformerPairScorer  # noqa: E402
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer  # noqa: E402
from prefrag.evaluation.datasets import load_questions, read_passages  # noqa: E402
from prefrag.evaluation.question import Question  # noqa: E402
from prefrag.evaluation.report.intervals import intervals  # noqa: E402
from prefrag.training.pair_classifier import fit, pools  # noqa: E402
from prefrag.training.pair_classifier.pool import two_stage_candidates  # noqa: E402

DATASETS = ("hotpotqa", "musique", "2wikimultihopqa", "bioasq")
SELECTIONS = (("cis", 4), ("cis", 6), ("cfs", 4), ("cfs", 6))


@dataclass(frozen=True)
class Candidates:
    """The documents and pairs that the classifier selects from, for one question."""

    question: Question
    documents: list[Document]
    lists: list[list[Document]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument(
        "--seeds", type=int, default=5, help="how many trainings are averaged; 0 for only the shipped trees"
    )
    parser.add_argument("--transformer", type=Path, help="the folder of a trained transformer")
    parser.add_argument("--questions", default="dev", help="the name of the questions' file, without `.jsonl`")
    parser.add_argument("--limit", type=int, help="use only this many questions of each dataset")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} does not exist: give the folder of the datasets with --data")
    transformer = threshold = None
    if options.transformer is not None:
        card = json.loads((options.transformer / "card.json").read_text(encoding="utf-8"))
        threshold = card["threshold"]
        transformer = TransformerPairScorer(str(options.transformer), backend="onnx", **card["tokens"])

    with tempfile.TemporaryDirectory() as folder:
        stores = {name: TantivyDocumentStore(path=str(Path(folder) / name)) for name in DATASETS}
        train: list[Any] = []
        for name, store in stores.items():
            store.write_documents(list(read_passages(options.data / name / "corpus.jsonl")))
            if options.seeds:
                train += pools(name, load_questions(options.data / name / "train.jsonl"), store)
        boosters = [Path(folder) / f"{seed}.json" for seed in range(options.seeds)]
        for seed, file in enumerate(boosters):
            fit(train, seed, "pair").save_model(file)
        for name, store in stores.items():
            questions = load_questions(options.data / name / f"{options.questions}.jsonl")[: options.limit]
            print(f"{name}: {len(questions)} {options.questions} questions", flush=True)
            shipped = TreePairScorer(None, store, "pair")
            for selection, k in SELECTIONS:
                candidates = [
                    Candidates(question, *two_stage_candidates(question.question, store, k)) for question in questions
                ]
                trees = select(candidates, PairClassifier(shipped, selection, k))  # type: ignore[arg-type]
                print(f"  {selection}, k {k}: trees, shipped  {write(trees)}", flush=True)
                again = [
                    select(candidates, PairClassifier(TreePairScorer(str(file), store), selection, k))  # type: ignore[arg-type]
                    for file in boosters
                ]
                if again:
                    print(f"  {selection}, k {k}: trees, {len(again)} seeds  {write_all(again)}", flush=True)
                if transformer is not None and threshold is not None:
                    engine = PairClassifier(transformer, selection, k, threshold=threshold)  # type: ignore[arg-type]
                    selected = select(candidates, engine)
                    print(f"  {selection}, k {k}: transformer     {write(selected)}", flush=True)
                    print_difference(candidates, trees, selected)


@dataclass(frozen=True)
class Selected:
    """For each question, the share of gold passages that are selected, the number of documents, and the time."""

    shares: list[float]
    documents: list[int]
    milliseconds: list[float]


def select(candidates: Sequence[Candidates], classifier: PairClassifier) -> Selected:
    classifier.warm_up()
    result = Selected([], [], [])
    for pool in candidates:
        began = time.process_time()
        documents = classifier.run(pool.question.question, pool.documents, pool.lists)["documents"]
        result.milliseconds.append(1000 * (time.process_time() - began))
        gold = set(pool.question.supporting_ids)
        result.shares.append(len(gold & {document.id for document in documents}) / max(1, len(gold)))
        result.documents.append(len(documents))
    return result


def write(selected: Selected) -> str:
    """Describe the means, with the interval of the recall."""
    [recall] = intervals(100 * np.asarray(selected.shares)[:, None])
    shares = f"recall {100 * mean(selected.shares):.1f} ({recall.low:.1f} to {recall.high:.1f})"
    return f"{shares}, {mean(selected.documents):.1f} documents, {median(selected.milliseconds):.1f} ms"


def write_all(runs: Sequence[Selected]) -> str:
    """Describe the means over several trainings, and their spread."""
    recalls = [100 * mean(selected.shares) for selected in runs]
    documents = mean(mean(selected.documents) for selected in runs)
    return f"recall {mean(recalls):.1f} ± {np.std(recalls):.1f}, {documents:.1f} documents"


def print_difference(candidates: Sequence[Candidates], trees: Selected, transformer: Selected) -> None:
    """Print the questions for which only one of the two engines selects all gold passages."""
    complete = [(first == 1.0, second == 1.0) for first, second in zip(trees.shares, transformer.shares, strict=True)]
    for label, wanted in (("trees", (True, False)), ("transformers", (False, True))):
        only = [pool.question.question for pool, engines in zip(candidates, complete, strict=True) if engines == wanted]
        print(f"    only {label} select all gold passages: {len(only)}" + "".join(f"\n      {q}" for q in only[:4]))


if __name__ == "__main__":
    main()
