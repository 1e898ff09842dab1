"""Measure the processor time of each part of the retrieval of `dr_rag_linked` in a large index, and the memory.

    python benchmarks/linked_retrieval_at_scale.py [--data FOLDER] [--passages 1000000] [--index FOLDER]

The index is the large index of `title_links.py`. It holds the corpora of `--data` (by default data/multihop in the
checkout) and copies of them with other words. Titles in the copies are words and phrases of the texts, so
texts mention many more titles than in a real corpus. `--index` keeps the index for the next run, or uses it if it
exists. A separate process asks each question once, one after the other. Its processor time is measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from statistics import mean, median
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))
# Questions are measured one at a time, on one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from retrieval import DATASETS, percentile_95, read_questions, report  # noqa: E402
from title_links import rename_passages, report_memory, size, write  # noqa: E402

from benchmarks.places import MULTIHOP  # noqa: E402
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore  # noqa: E402
from prefrag.components.document_stores.tantivy.index import index_exists  # noqa: E402
from prefrag.components.loop.question_as_query import QuestionAsQuery  # noqa: E402
from prefrag.components.pair_classifier.pair_classifier import PairClassifier  # noqa: E402
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer  # noqa: E402
from prefrag.components.state.state_builder import StateBuilder  # noqa: E402
from prefrag.components.text.passage_record import read_passages  # noqa: E402
from prefrag.training.pair_classifier.pool import linked_retrieval  # noqa: E402

PARTS = ("first stage, by words", "second stage, by words", "linking", "scoring", "the rest", "together")


def main() -> None:
    """Make the index, ask the questions in a new process, and print how much time they took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument("--passages", type=int, default=1_000_000, help="passages of the index")
    parser.add_argument("--index", type=Path, help="where to keep the index; an existing index is used")
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} does not exist: give the folder of the datasets with --data")
    if options.ask:
        ask(TantivyDocumentStore(path=str(options.index)), options.data)
        report_memory()
        return

    with tempfile.TemporaryDirectory() as folder:
        path = options.index or Path(folder) / "large"
        if not index_exists(path):
            everything = [p for name in DATASETS for p in read_passages(options.data / name / "corpus.jsonl")]
            write(TantivyDocumentStore(path=str(path)), islice(rename_passages(everything), options.passages))
        passages = TantivyDocumentStore(path=str(path)).count_documents()
        report("size of the index", f"{size(path):,.0f} MB", f"{passages:,} passages")
        # Ask in another process, so that the memory for writing the index is not counted.
        command = [sys.executable, __file__, "--data", str(options.data), "--index", str(path), "--ask"]
        subprocess.run(command, check=True)


def ask(store: TantivyDocumentStore, data: Path) -> None:
    """Ask a hundred questions of each dataset."""
    texts = [
        question["question"] for name in DATASETS for question in read_questions(data / name / "train.jsonl")[:100]
    ]
    retrieval = linked_retrieval(store, PairClassifier(TreePairScorer(None, store), "fill", 5))
    retrieval.warm_up()
    by_words, linking = (Timed(part.retriever, "run") for part in (retrieval.source, retrieval.links))
    scoring = Timed(retrieval.classifier.engine, "score")
    start = StateBuilder(["local"], "local", top_k=5)
    spent: dict[str, list[float]] = {name: [] for name in PARTS}
    searches = []
    for question in texts:
        state = QuestionAsQuery().run(start.run(question)["state"])["state"]
        for part in (by_words, linking, scoring):
            part.seconds.clear()
        began = time.process_time()
        retrieval.run(state)
        together = time.process_time() - began
        first, *second = by_words.seconds
        parts = (first, sum(second), sum(linking.seconds), sum(scoring.seconds))
        searches.append((1 + len(second), len(linking.seconds)))
        for name, seconds in zip(PARTS, (*parts, together - sum(parts), together), strict=True):
            spent[name].append(seconds)
    words, titles = (mean(counts) for counts in zip(*searches, strict=True))
    how = f"{len(texts)} train questions; {words:.1f} searches by words and {titles:.1f} by titles each, mean"
    for name, seconds in spent.items():
        report(f"{name}: CPU p50", f"{1000 * median(seconds):.1f} ms", how)
        report(f"{name}: CPU p95", f"{1000 * percentile_95(seconds):.1f} ms", how)


class Timed:
    """Replaces a method of an object by one that records the processor time of each call in seconds."""

    def __init__(self, part: Any, method: str) -> None:
        self.seconds: list[float] = []
        self._call = getattr(part, method)
        setattr(part, method, self)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the method and add its time."""
        began = time.process_time()
        try:
            return self._call(*arguments, **named)
        finally:
            self.seconds.append(time.process_time() - began)


if __name__ == "__main__":
    main()
