"""Choose the threshold of Adaptive Retrieval that gives the most right answers on train, and measure it on dev.

Answers each question with one retrieval (`vanilla_local`) and without any (`no_retrieval`). Counts the passages that
mention the things named in the question, and chooses the threshold as the authors' notebook does. `--memory` is the
share of questions that the simulated reader knows by heart. It does not know popular subjects more often, so it should
always retrieve. Its figures only show what a threshold saves and costs. A real model shows the worth of the method.

    python -m benchmarks.popularity hotpotqa musique --data FOLDER
    python -m benchmarks.popularity hotpotqa --data FOLDER --llm http://127.0.0.1:8000/v1
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

from prefrag import evaluation
from prefrag.components.adaptive_rag.popularity_router import EVENT, PopularityRouter
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.state.state import RunSettings, State
from prefrag.evaluation.corpora import ensure_indexes

THRESHOLDS = (0, 1, 3, 10, 30, 100)


@dataclass(frozen=True)
class Answered:
    """A question that was answered both with and without a retrieval."""

    popularity: float  # the number of passages; -1 if the question names nothing, so that it is always retrieved
    retrieved: bool  # whether the answer with a retrieval was right
    known: bool  # whether the answer without a retrieval was right


def answer_both_ways(folder: Path, split: str, llm: str, memory: float) -> list[Answered]:
    """Run both pipelines on the questions of a split, and count the passages that mention the things in a question."""
    questions, corpus = folder / f"{split}.jsonl", folder / "corpus.jsonl"
    policy = {"memory": memory} if llm == "simulated" else {}
    right = {}
    for name in ("vanilla_local", "no_retrieval"):
        ended = evaluation.run(name, questions, corpus=corpus, llm=llm, split=False, progress=False, **policy)
        right[name] = {
            prediction["id"]: (prediction["question"], bool(prediction["scores"]["acc"]))
            for prediction in ended.predictions
        }
    collection = ensure_indexes(corpus, split=False).local
    router = PopularityRouter(TantivyBM25Retriever(TantivyDocumentStore(index=collection)))

    def count(question: str) -> float:
        ((_, state),) = router.run(State(question, RunSettings(sources=("local",), preferred="local"))).items()
        (event,) = (event for event in state.events if event.kind == EVENT)
        return min(event.data["counts"].values(), default=-1)

    return [
        Answered(count(question), is_right, right["no_retrieval"][key][1])
        for key, (question, is_right) in right["vanilla_local"].items()
    ]


def measure(answered: list[Answered], threshold: float) -> tuple[float, float]:
    """For a threshold, return the percentage of right answers and the percentage of questions with a retrieval."""
    searches = 0
    right = 0
    for question in answered:
        if question.popularity < threshold:
            searches += 1
            right += question.retrieved
        else:
            right += question.known
    return 100 * right / len(answered), 100 * searches / len(answered)


def choose(answered: list[Answered]) -> float:
    """Return the threshold with the most right answers. Among equals, take the lowest, with the fewest searches."""
    candidates = sorted({0.0, math.inf, *(question.popularity for question in answered if question.popularity >= 0)})
    return max(candidates, key=lambda threshold: (measure(answered, threshold)[0], -threshold))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--llm", default="simulated")
    parser.add_argument("--memory", type=float, default=0.0)
    options = parser.parse_args()
    print("| dataset | tuned on train |", " | ".join(f"from {threshold}" for threshold in THRESHOLDS), "| always |")
    print("|---|---|" + "---|" * (len(THRESHOLDS) + 1))
    for name in options.datasets:
        train, dev = (
            answer_both_ways(options.data / name, split, options.llm, options.memory) for split in ("train", "dev")
        )
        best = choose(train)
        cells = [measure(dev, threshold) for threshold in (best, *THRESHOLDS, math.inf)]
        words = [f"{accuracy:.1f} ({searched:.0f}%)" for accuracy, searched in cells]
        print(f"| {name} ({len(dev)}) | {best:g}: {words[0]} |", " | ".join(words[1:]), "|", flush=True)


if __name__ == "__main__":
    main()
