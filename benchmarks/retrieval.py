"""Measure the embedded index: indexing, opening, searching, and recall. Compare in-memory BM25 and Elasticsearch.

    python benchmarks/retrieval.py [--data FOLDER] [--passages 61000] [--elasticsearch URL]

`--data` (by default data/multihop in the checkout) has one folder per dataset, with corpus.jsonl and
dev.jsonl. To reach the number of passages, the passages are repeated with other ids. In the copies, half of the words
are spelt differently. So the vocabulary grows as in real text, and the other half of the words still matches questions.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import mean, median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from haystack import Document  # noqa: E402
from haystack.document_stores.in_memory import InMemoryDocumentStore  # noqa: E402
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore  # noqa: E402

from benchmarks.places import MULTIHOP  # noqa: E402
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore  # noqa: E402
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker  # noqa: E402
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever  # noqa: E402
from prefrag.components.text.passage_record import read_passages  # noqa: E402

DATASETS = ("hotpotqa", "musique", "2wikimultihopqa", "bioasq")
Search = Callable[[str, int], list[Document]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument("--passages", type=int, default=61_000, help="how many passages to index")
    parser.add_argument(
        "--in-memory-queries", type=int, default=10, help="how many questions in-memory BM25 gets (a second each)"
    )
    parser.add_argument("--elasticsearch", metavar="URL", help="measure this server too")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} does not exist: give the folder of the datasets with --data")

    corpora = {name: list(read_passages(options.data / name / "corpus.jsonl")) for name in DATASETS}
    questions = {name: read_questions(options.data / name / "dev.jsonl") for name in DATASETS}
    passages = list(islice(repeat_passages([p for corpus in corpora.values() for p in corpus]), options.passages))
    texts = [question["question"] for name in DATASETS for question in questions[name]]

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "all")
        store = TantivyDocumentStore(path=path)
        seconds = measure_time(lambda: store.write_documents(passages))
        report("indexed", f"{len(passages) / seconds:,.0f} passages/s", f"{len(passages):,} in one write_documents")
        in_batches = TantivyDocumentStore(path=str(Path(folder) / "batches"))

        def write_in_batches() -> None:
            for begin in range(0, len(passages), 5000):
                in_batches.write_documents(passages[begin : begin + 5000])

        seconds = measure_time(write_in_batches)
        report("indexed in batches", f"{len(passages) / seconds:,.0f} passages/s", "5,000 a write_documents")
        size = sum(file.stat().st_size for file in Path(path).iterdir())
        report("size on disk", f"{size / 1e6:.0f} MB", "files of the index")
        times = [reopen(path) for _ in range(5)]
        first = mean(first for first, _ in times)
        opened = mean(opened for _, opened in times)
        report("reopened", f"{opened * 1000:.1f} ms", "open and count, in a new process, mean of 5")
        report("reopened, first search", f"{first * 1000:.1f} ms", "open and first top-5, in a new process, mean of 5")

        def embedded(query: str, top_k: int) -> list[Document]:
            return store.search(query, top_k=top_k)

        embedded_median = time_queries("embedded", embedded, texts)
        filters = {"field": "meta.copy", "operator": "==", "value": 1}
        time_queries("embedded, filter ==", lambda query, k: store.search(query, k, filters), texts)
        rare = {"field": "meta.rank", "operator": ">", "value": 0.999}
        time_queries("embedded, rare filter by size", lambda query, k: store.search(query, k, rare), texts[:10])

        in_memory = InMemoryDocumentStore()
        in_memory.write_documents(passages)
        few = texts[:: max(1, len(texts) // options.in_memory_queries)][: options.in_memory_queries]
        memory_median = time_queries("in-memory BM25", lambda query, k: in_memory.bm25_retrieval(query, top_k=k), few)
        report("in-memory / embedded", f"{memory_median / embedded_median:,.0f} times", "ratio of the medians above")

        if options.elasticsearch:
            with_server(options.elasticsearch, passages, texts, corpora, questions)

        for name in DATASETS:
            own = TantivyDocumentStore(path=str(Path(folder) / name))
            own.write_documents(corpora[name])
            recall(f"embedded, {name}", own.search, questions[name])


def with_server(
    url: str,
    passages: list[Document],
    texts: list[str],
    corpora: dict[str, list[Document]],
    questions: dict[str, list[dict]],
) -> None:
    """Measure an Elasticsearch server, with new indexes that are deleted afterwards."""
    prefix = f"prefrag-benchmark-{uuid.uuid4().hex[:8]}"

    def fill(name: str, documents: list[Document]) -> tuple[Search, float]:
        index = f"{prefix}-{name}"
        mapping = ElasticsearchMultiMatchRetriever.recommended_mapping()
        store = ElasticsearchDocumentStore(hosts=url, index=index, custom_mapping=mapping, request_timeout=60)
        store.client.info()
        start = time.perf_counter()
        for n in range(0, len(documents), 5000):
            store.write_documents(documents[n : n + 5000], refresh=False)
        store.client.indices.refresh(index=index)
        seconds = time.perf_counter() - start
        retriever = ElasticsearchMultiMatchRetriever(store)
        return lambda query, k: retriever.run(query=query, top_k=k)["documents"], seconds

    try:
        search, seconds = fill("all", passages)
        how = "5,000 per write_documents, refresh=False, one refresh at the end"
        report("Elasticsearch indexed", f"{len(passages) / seconds:,.0f} passages/s", how)
        time_queries("Elasticsearch", search, texts)
        for name in DATASETS:
            search, _ = fill(name, corpora[name])
            recall(f"Elasticsearch, {name}", search, questions[name])
    finally:
        client = ElasticsearchDocumentStore(hosts=url, index=f"{prefix}-all").client
        for name in ("all", *DATASETS):
            client.indices.delete(index=f"{prefix}-{name}", ignore_unavailable=True)


def repeat_passages(passages: list[Document]) -> Iterable[Document]:
    """Yield the passages, and then endless copies of them with other ids and other words."""
    copy = 0
    while True:
        for n, passage in enumerate(passages):
            meta = {**passage.meta, "copy": copy, "rank": (n * 7919 % 104_729) / 104_729}
            if copy:
                meta["title"] = respell(str(meta["title"]), copy)
                yield replace(
                    passage, id=f"{passage.id}-{copy}", content=respell(passage.content or "", copy), meta=meta
                )
            else:
                yield replace(passage, meta=meta)
        copy += 1


def respell(text: str, copy: int) -> str:
    """Change the spelling of the words with an even number of letters, in each copy in another way."""
    letter = chr(ord("a") + copy % 26)

    def change(match: re.Match[str]) -> str:
        if len(match[0]) % 2:
            return match[0]
        begin, vowel, rest = match.groups()
        return f"{begin}{letter}{vowel}{vowel}{rest}"

    return re.sub(r"\b(\w*?)([aeiou])(\w+)", change, text)


def read_questions(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def reopen(path: str) -> tuple[float, float]:
    """Return the seconds that a new process needs to open an index and search, and to open it and count passages."""
    code = """
import sys, time
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
start = time.perf_counter()
store = TantivyDocumentStore(path=sys.argv[1])
store.search("Which river crosses the capital?", top_k=5) if sys.argv[2] == "search" else store.count_documents()
print(time.perf_counter() - start)
"""
    first, opened = (
        float(subprocess.check_output([sys.executable, "-c", code, path, what], cwd=CHECKOUT, text=True, timeout=60))
        for what in ("search", "count")
    )
    return first, opened


def time_queries(name: str, search: Search, texts: list[str]) -> float:
    """Time top-5 searches, and return the median seconds."""
    for query in texts[:3]:
        search(query, 5)
    wall, cpu = [], []
    for query in texts:
        start, start_cpu = time.perf_counter(), time.process_time()
        search(query, 5)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    how = f"{len(texts)} dev questions, top-5, one after the other"
    report(f"{name}: query p50", f"{median(wall) * 1000:.2f} ms", how)
    report(f"{name}: query p95", f"{percentile_95(wall) * 1000:.2f} ms", how)
    report(f"{name}: query CPU p95", f"{percentile_95(cpu) * 1000:.2f} ms", "of this process alone")
    return median(wall)


def percentile_95(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, int(0.95 * len(times)))]


def recall(name: str, search: Search, questions: list[dict]) -> None:
    """Print the mean share of gold passages among the first five results, without and with the title ranker."""
    ranker = TitleMatchRanker(top_k=5)
    alone, ranked = [], []
    for question in questions:
        query, gold = question["question"], set(question["supporting_ids"])
        alone.append(len(gold & {d.id for d in search(query, 5)}) / len(gold))
        candidates = ranker.run(query=query, documents=search(query, 50))["documents"]
        ranked.append(len(gold & {d.id for d in candidates}) / len(gold))
    report(f"{name}: recall at 5", f"{100 * mean(alone):.1f}%", f"{len(questions)} dev questions on their own corpus")
    report(
        f"{name}: recall at 5, ranked", f"{100 * mean(ranked):.1f}%", "the same with TitleMatchRanker, 50 candidates"
    )


def measure_time(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def report(name: str, value: str, how: str) -> None:
    print(f"{name:50} {value:>20}   ({how})", flush=True)


if __name__ == "__main__":
    main()
