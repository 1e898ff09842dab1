"""Measure links by title: how often texts mention the titles of gold passages, and how long it takes to find links.

    python benchmarks/title_links.py [--data FOLDER] [--passages 1000000] [--elasticsearch URL]

`--data` (by default data/multihop in the checkout) has one folder per dataset, with corpus.jsonl and
train.jsonl. The large index holds these passages and copies of them with other words. Most of its titles are
capitalised words and phrases of the texts, so that texts mention many more titles than in a real corpus. The timed
search finds eight passages whose titles are mentioned by the question or by its first three BM25 passages. The time of
the BM25 search is not included.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import mean, median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from haystack import Document  # noqa: E402
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore  # noqa: E402
from retrieval import DATASETS, percentile_95, read_questions, repeat_passages, report  # noqa: E402

from benchmarks.places import MULTIHOP  # noqa: E402
from prefrag.collections.elastic_collection import ElasticCollection  # noqa: E402
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore  # noqa: E402
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever  # noqa: E402
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever  # noqa: E402
from prefrag.components.text.passage_record import read_passages  # noqa: E402
from prefrag.components.text.title_mentions import longest_mentions, title_key  # noqa: E402

BATCH = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument("--passages", type=int, default=1_000_000, help="size of the large index; 0 to leave it out")
    parser.add_argument("--elasticsearch", metavar="URL", help="measure this server too")
    parser.add_argument("--questions-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} does not exist: give the folder of the datasets with --data")
    questions = {name: read_questions(options.data / name / "train.jsonl")[:100] for name in DATASETS}
    if options.questions_of:
        texts = [question["question"] for some in questions.values() for question in some]
        time_questions("large index", TantivyDocumentStore(path=str(options.questions_of)), texts)
        report_memory()
        return

    corpora = {name: list(read_passages(options.data / name / "corpus.jsonl")) for name in DATASETS}
    everything = [passage for corpus in corpora.values() for passage in corpus]
    with tempfile.TemporaryDirectory() as folder:
        for name in DATASETS:
            mentions_of_gold(name, corpora[name], read_questions(options.data / name / "train.jsonl"))
            store = TantivyDocumentStore(path=str(Path(folder) / name))
            store.write_documents(corpora[name])
            texts = [question["question"] for question in questions[name]]
            time_questions(name, store, texts)
            if options.elasticsearch:
                with_server(options.elasticsearch, name, corpora[name], store, texts)
        if options.passages:
            path = Path(folder) / "large"
            write(TantivyDocumentStore(path=str(path)), islice(rename_passages(everything), options.passages))
            report("large index: size", f"{size(path):,.0f} MB", f"{options.passages:,} passages")
            # Ask in another process, so that the memory for writing the index is not counted.
            command = [sys.executable, __file__, "--data", str(options.data), "--questions-of", str(path)]
            subprocess.run(command, check=True)


def mentions_of_gold(name: str, corpus: list[Document], questions: list[dict]) -> None:
    """Print how often a question mentions a gold title, and how often its first gold passage mentions the others."""
    passages = {passage.id: passage for passage in corpus}
    title_keys = {key_of(passage) for passage in corpus}
    in_question, in_first, in_either, titles = [], [], [], []
    for question in questions:
        first, *others = (passages[passage_id] for passage_id in question["supporting_ids"])
        gold = {key_of(passage) for passage in others}
        in_text = set(longest_mentions(question["question"], title_keys))
        in_passage = set(longest_mentions(first.content or "", title_keys)) - {key_of(first)}
        titles.append(len(in_passage))
        in_question.append(bool(in_text & (gold | {key_of(first)})))
        if gold:
            in_first.append(bool(in_passage & gold))
            in_either.append(bool((in_passage | in_text) & gold))
    how = f"{len(questions)} train questions"
    report(f"{name}: question mentions a gold title", f"{100 * mean(in_question):.1f}%", how)
    how = f"{len(in_first)} train questions with several gold passages"
    report(f"{name}: first gold text mentions another", f"{100 * mean(in_first):.1f}%", how)
    report(f"{name}: first gold text or question does", f"{100 * mean(in_either):.1f}%", how)
    report(f"{name}: titles that the first gold text mentions", f"{mean(titles):.2f}", "mean, its own left out")


def key_of(passage: Document) -> str:
    return title_key(str(passage.meta["title"]))


def time_questions(
    name: str, store: TantivyDocumentStore, texts: list[str], retriever: TitleMentionRetriever | None = None
) -> None:
    """Time the search for passages whose titles are mentioned by a question or by its first passages."""
    retriever = retriever or TitleMentionRetriever(store)
    searched = [(query, store.search(query, top_k=3)) for query in texts]
    for query, documents in searched[:3]:
        retriever.run(query=query, documents=documents)
    times, cpu, counts = [], [], []
    for query, documents in searched:
        start, start_cpu = time.perf_counter(), time.process_time()
        counts.append(len(retriever.run(query=query, documents=documents)["documents"]))
        times.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    how = f"{len(texts)} train questions, one after the other; {mean(counts):.1f} passages found, mean"
    report(f"{name}: links p50", f"{median(times) * 1000:.2f} ms", how)
    report(f"{name}: links p95", f"{percentile_95(times) * 1000:.2f} ms", how)
    how = "of this process alone"
    report(f"{name}: links CPU p50", f"{median(cpu) * 1000:.2f} ms", how)
    report(f"{name}: links CPU p95", f"{percentile_95(cpu) * 1000:.2f} ms", how)


def with_server(url: str, name: str, corpus: list[Document], embedded: TantivyDocumentStore, texts: list[str]) -> None:
    """Time the same searches in an Elasticsearch index, which is deleted afterwards."""
    os.environ["PREFRAG_ELASTICSEARCH_URL"] = url
    index = f"prefrag-benchmark-{uuid.uuid4().hex[:8]}"
    mapping = ElasticsearchMultiMatchRetriever.recommended_mapping()
    store = ElasticsearchDocumentStore(hosts=url, index=index, custom_mapping=mapping, request_timeout=60)
    try:
        passages = ElasticCollection(index).passages(make=True)
        for start in range(0, len(corpus), passages.batch):
            passages.write(corpus[start : start + passages.batch])
        passages.finish()
        time_questions(f"Elasticsearch, {name}", embedded, texts, TitleMentionRetriever(store))
    finally:
        store.client.indices.delete(index=index, ignore_unavailable=True)


def write(store: TantivyDocumentStore, passages: Iterable[Document]) -> None:
    """Write passages in batches, as `prefrag index` does."""
    waiting = iter(passages)
    while some := list(islice(waiting, BATCH)):
        store.write_documents(some)


def rename_passages(passages: list[Document]) -> Iterator[Document]:
    """Yield the passages, then copies in other words. Titles of copies are words and phrases of the original texts."""
    randomness = random.Random(0)
    texts = [(passage.content or "").split() for passage in passages]
    for number, passage in enumerate(repeat_passages(passages)):
        if number < len(passages):
            yield passage
            continue
        words: list[str] = []
        while not words:
            text = randomness.choice(texts)
            start = randomness.randrange(len(text) or 1)
            if text and text[start][:1].isupper():
                words = text[start : start + randomness.randint(1, 4)]
        yield replace(passage, meta={**passage.meta, "title": " ".join(words)})


def size(path: Path) -> float:
    return sum(file.stat().st_size for file in path.iterdir()) / 1e6


def report_memory() -> None:
    """Print the memory of this process: its own, and mapped files, which the system can free at any time."""
    status = Path("/proc/self/status")
    if not status.exists():
        return
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    for name, field in (("its own", "RssAnon"), ("mapped files", "RssFile")):
        report(f"memory after the questions, {name}", f"{int(fields[field].split()[0]) / 1024:,.0f} MB", field)


if __name__ == "__main__":
    main()
