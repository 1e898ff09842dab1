"""Measure the processor time of a question to `prefrag` without a language model, with an empty and with a full cache.

    python -m benchmarks.without_model [--data FOLDER] [--only hotpotqa] [--limit 50]

Asks the dev questions of a dataset. The whole corpus is in the user's documents, and the web is off. Each question is
asked twice in a row. The second time, the encoder's results for all passages are in the cache. The time of the encoder
is measured separately, by the clock of its thread.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import statistics
import time
from pathlib import Path
from typing import Any

# Questions are measured one at a time, on one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import onnxruntime

from benchmarks.places import MULTIHOP
from prefrag import pipelines
from prefrag.evaluation.corpora import ensure_indexes


class TimedSession(onnxruntime.InferenceSession):  # type: ignore[misc]
    """A session that adds up the processor time of all runs of the encoder."""

    seconds, runs = 0.0, 0

    def run(self, *arguments: Any, **options: Any) -> Any:
        """Run the encoder."""
        started = time.thread_time()
        try:
            return super().run(*arguments, **options)
        finally:
            TimedSession.seconds += time.thread_time() - started
            TimedSession.runs += 1


async def measure(data: Path, limit: int) -> None:
    """Ask the questions of a dataset, and print the processor time per question."""
    os.environ |= {"PREFRAG_INDEX": ensure_indexes(data / "corpus.jsonl", split=False).local, "PREFRAG_WEB": "off"}
    for name in ("PREFRAG_LLM_BASE_URL", "PREFRAG_LLM_MODEL", "PREFRAG_JUDGE_BASE_URL"):
        os.environ.pop(name, None)
    lines = (data / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    first, *questions = [json.loads(line)["question"] for line in lines][: limit + 1]
    pipeline = pipelines.load("prefrag")
    pipeline.warm_up()
    await pipelines.ask_async(pipeline, first)
    cold, encoder, warm, searches = [], [], [], []
    TimedSession.runs = 0
    for question in questions:
        started, read = time.process_time(), TimedSession.seconds
        result = await pipelines.ask_async(pipeline, question)
        encoder.append((TimedSession.seconds - read) * 1_000)
        cold.append((time.process_time() - started) * 1_000 - encoder[-1])
        searches.append(result["counts"]["total"])
        started, read = time.process_time(), TimedSession.runs
        await pipelines.ask_async(pipeline, question)
        warm.append((time.process_time() - started) * 1_000)
        assert TimedSession.runs == read
    of_cold = f"{statistics.mean(cold):.1f} and {statistics.median(cold):.1f} ms"
    of_warm = f"{statistics.mean(warm):.1f} and {statistics.median(warm):.1f} ms"
    print(
        f"{data.name}, {len(questions)} questions, {statistics.mean(searches):.1f} searches each, processor time per "
        f"question (mean and median): all but the encoder {of_cold}; with a full cache {of_warm}; encoder "
        f"{statistics.mean(encoder):.0f} ms in {TimedSession.runs / len(questions):.1f} runs"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument("--only", nargs="+", default=["hotpotqa"], help="the datasets to measure")
    parser.add_argument("--limit", type=int, default=50)
    chosen = parser.parse_args()
    logging.disable(logging.INFO)
    onnxruntime.InferenceSession = TimedSession
    for name in chosen.only:
        asyncio.run(measure(chosen.data / name, chosen.limit))
