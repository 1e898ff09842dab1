"""CPU that a PrefRAG run adds to its model and retrieval calls.

Three retrievals, two judge calls and four reasoner calls over the shipped YAML, with a model and sources that answer
from a script at once, so that what is left is the engine, the components and the prompts.

    python -m benchmarks.orchestration [--runs 200]

With a folder of questions and their corpus, half of it on the web, the tokens that such runs read over HTTP instead:
four characters each, and as cached whatever an earlier prompt of the same run begins with.

    python -m benchmarks.orchestration --data hotpotqa [--pipeline prefrag] [--reply-format text] [--runs 60]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import statistics
import sys
import time
from pathlib import Path

from benchmarks.load import free_port, process
from prefrag import pipelines
from prefrag.evaluation.corpora import evaluation_indexes
from tests import fakes
from tests.pipelines.scripted import answer, scripted, search, verdict

QUESTION = "In which year did the yard that built alpha win the prize?"
# About the length of the passages of the public multi-hop corpora.
TEXT = "A passage of some eighty words that says one thing or another about its subject. " * 6


async def measure(runs: int) -> None:
    documents = {"local": {f"alpha{n}": TEXT for n in range(5)}, "web": {f"delta{n}": TEXT for n in range(5)}}
    query = " ".join([*documents["local"], *documents["web"]])
    pipeline = scripted(
        search(query), search(query), search(query), answer(), verdicts=(verdict(True),) * 2, documents=documents
    )
    spent: list[float] = []
    for _ in range(runs + 20):
        fakes.CALLS.clear()
        started = time.process_time()
        result = await pipelines.ask_async(pipeline, QUESTION)
        spent.append((time.process_time() - started) * 1_000)
    assert result["usage"]["calls"] == {"reasoner": 4, "judge": 2}, result["usage"]
    assert result["counts"]["total"] == 3
    spent = sorted(spent[20:])
    print(
        f"CPU a run over {runs} runs (time.process_time, scripted model and sources): "
        f"median {statistics.median(spent):.1f} ms, 95th percentile {spent[int(0.95 * len(spent))]:.1f} ms"
    )


def count_tokens(data: Path, pipeline: str, reply_format: str, runs: int) -> None:
    found = evaluation_indexes(data / "corpus.jsonl", split=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1"
    os.environ |= {"PREFRAG_LLM_BASE_URL": url, "PREFRAG_LLM_MODEL": "simulated"}
    os.environ |= {"PREFRAG_INDEX": found.local, "PREFRAG_WEB_INDEX": str(found.web)}
    questions = [json.loads(line)["question"] for line in (data / "dev.jsonl").open(encoding="utf-8")][:runs]
    server = Path(__file__).with_name("model_server.py")
    used = []
    command = [sys.executable, str(server), "--port", str(port), "--delay-ms", "0"]
    with process(*command, ready=f"{url}/models"):
        asked = pipelines.load(pipeline, replace={"Reasoner.reply_format": reply_format})
        for number, question in enumerate(questions):
            used.append(pipelines.ask(f"{question} (Q-{100_000 + number})", pipeline=asked)["usage"])
    read, cached = (statistics.mean(usage[name] for usage in used) for name in ("prompt_tokens", "cached_tokens"))
    calls = statistics.mean(sum(usage["calls"].values()) for usage in used)
    print(
        f"{pipeline}, {reply_format}, {len(used)} questions of {data.name}: {calls:.1f} calls and {read:,.0f} tokens "
        f"of prompts a question, of which {read - cached:,.0f} are new and {cached / read:.0%} cached"
    )


if __name__ == "__main__":
    # The web is a script.
    os.environ["PREFRAG_WEB"] = "on"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pipeline", default="prefrag")
    parser.add_argument("--reply-format", default="text")
    logging.disable(logging.INFO)
    chosen = parser.parse_args()
    if chosen.data is None:
        asyncio.run(measure(chosen.runs))
    else:
        count_tokens(chosen.data, chosen.pipeline, chosen.reply_format, chosen.runs)
