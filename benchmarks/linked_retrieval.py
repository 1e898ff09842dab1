"""Measure the retrieval of `dr_rag_linked`: the recall of gold passages, the time, and the transfer to new datasets.

    python benchmarks/linked_retrieval.py [--data FOLDER] [--seeds 5] [--model FILE]

Each dataset is a folder in `--data` (by default data/multihop in the checkout) with corpus.jsonl,
train.jsonl and dev.jsonl. For each seed, trees are trained on the train questions and measured on the dev questions.
Some trees are trained on all datasets, some on all but the measured dataset. Trees of all datasets are also measured
with all corpora in one index. Recall is in percent, the mean over questions. A question with more than k gold passages
counts as having k. Then come the number of documents and the recall of each selection, and the time of a question, with
the shipped trees or the trees of `--model`.

The recall at 5 has a 95% interval from 10,000 bootstrap samples of the dev questions. The interval shows how much
depends on these questions. The spread over the seeds shows how much depends on the random draws of the training.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))
# Questions are measured one at a time, on one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from benchmarks.places import MULTIHOP  # noqa: E402
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore  # noqa: E402
from prefrag.components.loop.question_as_query import QuestionAsQuery  # noqa: E402
from prefrag.components.pair_classifier.pair_classifier import PairClassifier  # noqa: E402
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer  # noqa: E402
from prefrag.components.state.state_builder import StateBuilder  # noqa: E402
from prefrag.evaluation.datasets import load_questions, read_passages  # noqa: E402
from prefrag.evaluation.question import Question  # noqa: E402
from prefrag.evaluation.report.intervals import intervals  # noqa: E402
from prefrag.training.pair_classifier import Pool, fit, pools, shares_found  # noqa: E402
from prefrag.training.pair_classifier.pool import linked_retrieval  # noqa: E402
from prefrag.training.pair_classifier.trees import MEASURED_AT  # noqa: E402

DATASETS = ("hotpotqa", "musique", "2wikimultihopqa", "bioasq")
DEPTHS = (3, 4, 5, 6)


def main() -> None:
    """Run the measurements and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument("--seeds", type=int, default=5, help="how many trainings are averaged")
    parser.add_argument("--model", help="trees for the selections and the times, instead of the shipped trees")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} does not exist: give the folder of the datasets with --data")

    with tempfile.TemporaryDirectory() as folder:
        stores = {name: TantivyDocumentStore(path=str(Path(folder) / name)) for name in DATASETS}
        everything = TantivyDocumentStore(path=str(Path(folder) / "everything"))
        for name, store in stores.items():
            passages = list(read_passages(options.data / name / "corpus.jsonl"))
            store.write_documents(passages)
            everything.write_documents(passages)
        dev_questions = {name: load_questions(options.data / name / "dev.jsonl") for name in DATASETS}
        train, dev, in_one = {}, {}, {}
        for name, store in stores.items():
            train[name] = list(pools(name, load_questions(options.data / name / "train.jsonl"), store))
            dev[name] = list(pools(name, dev_questions[name], store))
            in_one[name] = list(pools(name, dev_questions[name], everything))

        seeds = range(options.seeds)
        pools_of_all = [pool for pools_of_dataset in train.values() for pool in pools_of_dataset]
        on_all = [fit(pools_of_all, seed) for seed in seeds]
        heading = " / ".join(str(k) for k in DEPTHS)
        print(f"Recall at {heading}, {options.seeds} seeds. In brackets: the 95% interval of the recall at 5 over the")
        print("questions. After ±: its standard deviation over the seeds.")
        for name in DATASETS:
            others = [pool for other in DATASETS if other != name for pool in train[other]]
            without = [fit(others, seed) for seed in seeds]
            print(f"{name}: {len(dev[name])} dev questions, {stores[name].count_documents():,} passages")
            print(f"  BM25                           {measure_bm25(dev[name])}")
            print(f"  trees                          {measure_trees(dev[name], on_all)}")
            print(f"  trees that never saw {name:9.9} {measure_trees(dev[name], without)}")
            size = f"({everything.count_documents():,} passages)"
            print(f"  BM25, all corpora in one index {measure_bm25(in_one[name])}   {size}")
            print(f"  trees, the same                {measure_trees(in_one[name], on_all)}", flush=True)
        for name in DATASETS:
            print_selections(name, dev_questions[name], stores[name], options.model)
        for name in DATASETS:
            print_times(name, dev_questions[name], stores[name], options.model)
        print_times("bioasq, one index", dev_questions["bioasq"], everything, options.model)


def measure_bm25(gathered: Sequence[Pool]) -> str:
    """Measure the recall of a BM25 search for the question."""
    shares = {}
    for k in DEPTHS:
        shares[k] = []
        for pool in gathered:
            ids = {document.id for document in pool.documents[:k]}
            shares[k].append(len(pool.gold & ids) / min(k, len(pool.gold)))
    return write_means(shares)


def measure_trees(gathered: Sequence[Pool], boosters: Sequence[Any]) -> str:
    """Measure the mean recall of several trees."""
    shares = {}
    for k in DEPTHS:
        shares[k] = np.array([shares_found(gathered, booster, k)[1] for booster in boosters])
    spread = 100 * shares[MEASURED_AT].mean(axis=1).std()
    means = {k: of_depth.mean(axis=0) for k, of_depth in shares.items()}
    return f"{write_means(means)} ± {spread:.1f}"


def write_means(shares: Mapping[int, Sequence[float] | np.ndarray]) -> str:
    """Write the mean recall at each depth, and the interval of the recall at 5."""
    [at_5] = intervals(100 * np.asarray(shares[MEASURED_AT])[:, None])
    means = " / ".join(f"{100 * np.mean(of_depth):.1f}" for of_depth in shares.values())
    return f"{means} ({at_5.low:.1f} to {at_5.high:.1f})"


def print_selections(name: str, questions: Sequence[Question], store: TantivyDocumentStore, model: str | None) -> None:
    """Print the number of documents and the recall of each selection."""
    for selection, k in (("fill", 4), ("fill", 6), ("cfs", 4), ("cfs", 6), ("cis", 6)):
        engine = TreePairScorer(model, store, "passage" if selection == "fill" else "pair")
        retrieval = linked_retrieval(store, PairClassifier(engine, selection, k))  # type: ignore[arg-type]
        start = StateBuilder(["local"], "local", top_k=k)
        sizes, recalls = [], []
        for question in questions:
            state = QuestionAsQuery().run(start.run(question.question)["state"])["state"]
            documents = retrieval.run(state)["state"].step.documents
            gold = set(question.supporting_ids)
            sizes.append(len(documents))
            recalls.append(len(gold & {document.id for document in documents}) / min(k, len(gold)))
        print(f"{name}: {selection}, k {k}: {mean(sizes):.1f} documents, recall {100 * mean(recalls):.1f}", flush=True)


def print_times(name: str, questions: Sequence[Question], store: TantivyDocumentStore, model: str | None) -> None:
    """Print how long a question takes, with both stages of the retrieval and the selection."""
    retrieval = linked_retrieval(store, PairClassifier(TreePairScorer(model, store), "fill", 5))
    retrieval.warm_up()
    start = StateBuilder(["local"], "local", top_k=5)
    wall, worked, gathered = [], [], []
    for question in questions:
        state = QuestionAsQuery().run(start.run(question.question)["state"])["state"]
        began, cpu = time.perf_counter(), time.process_time()
        retrieval.run(state)
        worked.append(1000 * (time.process_time() - cpu))
        wall.append(1000 * (time.perf_counter() - began))
    # The retrieval alone is measured in a loop of its own, because a search that was just made is cached.
    for question in questions:
        state = QuestionAsQuery().run(start.run(question.question)["state"])["state"]
        cpu = time.process_time()
        retrieval.gather(state)
        gathered.append(1000 * (time.process_time() - cpu))
    print(
        f"{name}: {median(wall):.1f} ms per question (median; fastest {min(wall):.1f}, slowest {max(wall):.1f});"
        f" processor {median(worked):.1f}, of which retrieval {median(gathered):.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
