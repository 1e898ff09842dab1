"""Measure indexing and searching at the size of an encyclopedia, with generated passages of natural length.

    python benchmarks/wikipedia_size.py [--passages 300000 1000000 3000000] [--index FOLDER] [--script latin]

Words are drawn by the Zipf-Mandelbrot law, on average 100 per passage. Most of the common words are left out by an
English index. A tenth of the rarer words are names, and titles consist of names. Each passage mentions the titles of
two other passages. For each size, passages are added to the index, and a new process asks the questions. A query is the
title of a passage and six of its words. The figures for 5.2 and 24 million passages are extrapolated: a power of the
size is fitted to the measured values.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))
# `prefrag` also sets this, but it must be set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from haystack import Document  # noqa: E402
from retrieval import percentile_95, report  # noqa: E402
from title_links import report_memory, size  # noqa: E402

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore  # noqa: E402
from prefrag.components.loop.question_as_query import QuestionAsQuery  # noqa: E402
from prefrag.components.pair_classifier.pair_classifier import PairClassifier  # noqa: E402
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer  # noqa: E402
from prefrag.components.state.state_builder import StateBuilder  # noqa: E402
from prefrag.components.text.title_mentions import FUNCTION_WORDS  # noqa: E402
from prefrag.training.pair_classifier.pool import linked_retrieval  # noqa: E402

VOCABULARY = 600_000  # words
NAMES_FROM = 3_000  # from this rank on, every tenth word is a name
TOGETHER = 10_000  # passages that are made at a time
SCRIPTS = {
    "latin": ("bdfgklmnprstvz", "aeiou"),
    "cyrillic": ("бвгдзклмнпрстж", "аеиоу"),
    "cjk": ("山水火木金土日月", "人口手目耳"),
}
WIKIPEDIA = (5_200_000, 24_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, nargs="+", default=[300_000, 1_000_000, 3_000_000])
    parser.add_argument("--index", type=Path, help="a new folder for the index")
    parser.add_argument("--script", choices=SCRIPTS, default="latin", help="the letters of the words")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        ask(TantivyDocumentStore(path=str(options.index)), options.questions)
        return
    measured: dict[str, list[float]] = {"indexing: CPU, s": [], "index, MB": []}
    with tempfile.TemporaryDirectory() as folder:
        path = options.index or Path(folder) / "made"
        made, spent = 0, 0.0
        for passages in sorted(options.passages):
            store, waiting = TantivyDocumentStore(path=str(path)), make_passages(made, passages, options.script)
            while some := list(islice(waiting, TOGETHER)):
                began = time.process_time()
                store.write_documents(some)
                spent += time.process_time() - began
            made = passages
            measured["indexing: CPU, s"].append(spent)
            measured["index, MB"].append(size(path))
            report(f"{passages:,} passages: indexed", f"{passages / spent:,.0f} per CPU second", "all up to this size")
            report(f"{passages:,} passages: index", f"{size(path):,.0f} MB", options.script)
            command = [sys.executable, __file__, "--index", str(path), "--ask", "--questions", str(options.questions)]
            asked = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            print(asked, end="", flush=True)
            for line in asked.splitlines():
                if " ms " in line:
                    name, _, value = line.partition("  ")
                    measured.setdefault(f"{name}, ms", []).append(float(value.split()[0]))
    if len(options.passages) > 1:
        extrapolate(sorted(options.passages), measured)


def make_passages(first: int, last: int, script: str) -> Iterator[Document]:
    """Make the passages with these numbers. Each batch has its own seed, so any range can be made alone.

    :param first: The number of the first passage, a multiple of :data:`TOGETHER`.
    :param last: The number of the last passage, plus one.
    :param script: One of :data:`SCRIPTS`.
    """
    words = _vocabulary(script)
    ranks = np.arange(1, VOCABULARY + 1)
    reached = np.cumsum(1 / (ranks + 2.7) ** 1.05)
    reached /= reached[-1]
    between = "" if script == "cjk" else " "
    for start in range(first, last, TOGETHER):
        randomness = np.random.default_rng(start)
        lengths = np.clip(randomness.lognormal(math.log(88), 0.5, TOGETHER), 20, 400).astype(int)
        drawn = np.searchsorted(reached, randomness.random(lengths.sum()))
        ends = np.cumsum(lengths)
        mentioned = randomness.integers(0, last, (TOGETHER, 2))
        for place in range(min(TOGETHER, last - start)):
            text = [words[rank] for rank in drawn[ends[place] - lengths[place] : ends[place]].tolist()]
            for at, other in enumerate(mentioned[place].tolist()):
                text.insert((at + 1) * len(text) // 3, _title(other, words, between))
            number = start + place
            title = _title(number, words, between)
            yield Document(id=f"p{number}", content=f"{between.join(text)}.", meta={"title": title})


def _vocabulary(script: str) -> list[str]:
    """Make words, the most frequent first. An index leaves out the first of them, such as "the"."""
    consonants, vowels = SCRIPTS[script]
    syllables = ["".join(pair) for pair in product(consonants, vowels)]
    made = ["".join(some) for length in (2, 3, 4) for some in product(syllables, repeat=length)][:VOCABULARY]
    words = [*sorted(FUNCTION_WORDS), *made] if script == "latin" else made
    vocabulary = []
    for rank, word in enumerate(words[:VOCABULARY]):
        is_name = rank >= NAMES_FROM and rank % 10 == 0
        vocabulary.append(word.capitalize() if is_name else word)
    return vocabulary


def _title(number: int, words: list[str], between: str) -> str:
    """Make the title of a passage from one or two names, so that a few passages share a title."""
    names = (VOCABULARY - NAMES_FROM) // 10
    first, second = number * 7_919 % names, number // names * 104_729 % names
    parts = [first] if number % 3 == 0 else [first, (first + second + 1) % names]
    return between.join(words[NAMES_FROM + 10 * part] for part in parts)


def ask(store: TantivyDocumentStore, questions: int) -> None:
    """Search for passages by their words, with a plain search and with linked retrieval, one query after the other."""
    total = store.count_documents()
    retrieval = linked_retrieval(store, PairClassifier(TreePairScorer(None, store), "fill", 5))
    retrieval.warm_up()
    start = StateBuilder(["local"], "local", top_k=5)
    queries = [_query(store, number * total // questions) for number in range(questions)]
    for query in queries[:3]:
        store.search(query, top_k=5)
    plain, linked = [], []
    for query in queries:
        began = time.process_time()
        store.search(query, top_k=5)
        plain.append(1000 * (time.process_time() - began))
        state = QuestionAsQuery().run(start.run(query)["state"])["state"]
        began = time.process_time()
        retrieval.run(state)
        linked.append(1000 * (time.process_time() - began))
    for name, spent in (("top 5", plain), ("linked", linked)):
        report(f"{name}: CPU p50", f"{median(spent):.2f} ms", f"{total:,} passages, {questions} queries")
        report(f"{name}: CPU p95", f"{percentile_95(spent):.2f} ms", f"{total:,} passages, {questions} queries")
    report_memory()


def _query(store: TantivyDocumentStore, number: int) -> str:
    [passage] = store.documents_by_id([f"p{number}"])
    words = sorted(set((passage.content or "").split()), key=lambda word: (-len(word), word))
    return f"{passage.meta['title']} {' '.join(words[:: max(1, len(words) // 6)][:6])}?"


def extrapolate(sizes: list[int], measured: dict[str, list[float]]) -> None:
    """Print estimates for larger sizes, by fitting a power of the size to the measured values (least squares)."""
    for name, values in measured.items():
        slope, level = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-3)), 1)
        for passages in WIKIPEDIA:
            value = math.exp(level + slope * math.log(passages))
            report(f"{name}, {passages:,} passages", f"{value:,.0f}", f"extrapolated: grows as size^{slope:.2f}")


if __name__ == "__main__":
    main()
