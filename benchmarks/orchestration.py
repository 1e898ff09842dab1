"""CPU that a PrefRAG run adds to its model and retrieval calls.

Three retrievals, two judge calls and four reasoner calls over the shipped YAML, with a model and sources that answer
from a script at once, so that what is left is the engine, the components and the prompts.

    python -m benchmarks.orchestration [--runs 200]

With a folder of questions and their corpus, half of it on the web, the tokens that such runs read over HTTP instead:
four characters each, and as cached whatever an earlier prompt of the same run begins with.

    python -m benchmarks.orchestration --data hotpotqa [--pipeline prefrag] [--runs 60]
    python -m benchmarks.orchestration --data hotpotqa --simulated  # the queries and verdicts of the simulated reader
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
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

from haystack import component
from haystack.dataclasses import ChatMessage

from benchmarks.load import free_port, process
from benchmarks.model_server import count_prompt
from prefrag import pipelines
from prefrag.evaluation.corpora import evaluation_indexes
from prefrag.evaluation.simulated_reader import SimulatedReader
from prefrag.evaluation.simulated_reader.prompts import read_call
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


@component
class CountedReader(SimulatedReader):
    """The simulated reader, whose prompts are counted as those of the simulated model server."""

    sent: ClassVar[dict[str, list[str]]] = {}

    def _reply(self, messages: list[ChatMessage], *arguments: Any) -> ChatMessage:
        question = read_call(messages, *arguments, self._gold()).question
        prompt = "".join(f"<|{message.role.value}|>{message.text}" for message in messages)
        read, cached = count_prompt(prompt, self.sent.setdefault(question, []))
        reply = SimulatedReader._reply(self, messages, *arguments)
        reply.meta["usage"] |= {"prompt_tokens": read, "cached_tokens": cached}
        return reply


def count_tokens(data: Path, pipeline: str, runs: int, simulated: bool) -> None:
    found = evaluation_indexes(data / "corpus.jsonl", split=True)
    port = free_port()
    replace = {}
    url = f"http://127.0.0.1:{port}/v1"
    os.environ |= {"PREFRAG_LLM_BASE_URL": url, "PREFRAG_LLM_MODEL": "simulated"}
    os.environ |= {"PREFRAG_INDEX": found.local, "PREFRAG_WEB_INDEX": str(found.web)}
    questions = [json.loads(line)["question"] for line in (data / "dev.jsonl").open(encoding="utf-8")][:runs]
    used = []
    command = [sys.executable, "-m", "benchmarks.model_server", "--port", str(port), "--delay-ms", "0"]
    if simulated:
        files = {"questions": str(data / "dev.jsonl"), "corpus": str(data / "corpus.jsonl")}
        replace["ChatModel"] = {"type": "benchmarks.orchestration.CountedReader", "init_parameters": files}
    with nullcontext() if simulated else process(*command, ready=f"{url}/models"):
        asked = pipelines.load(pipeline, replace=replace)
        for number, question in enumerate(questions):
            # The scripts tell runs apart by it.
            token = "" if simulated else f" (Q-{100_000 + number})"
            used.append(pipelines.ask(f"{question}{token}", pipeline=asked)["usage"])
    read, cached = (statistics.mean(usage[name] for usage in used) for name in ("prompt_tokens", "cached_tokens"))
    calls = statistics.mean(sum(usage["calls"].values()) for usage in used)
    print(
        f"{pipeline}, {len(used)} questions of {data.name}: {calls:.1f} calls and {read:,.0f} tokens "
        f"of prompts a question, of which {read - cached:,.0f} are new and {cached / read:.0%} cached"
    )


if __name__ == "__main__":
    # The web is a script, or an index.
    os.environ |= {"HAYSTACK_DESERIALIZATION_ALLOWLIST": "prefrag,duckduckgo_api_haystack,benchmarks,tests"}
    os.environ["PREFRAG_WEB"] = "on"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pipeline", default="prefrag")
    parser.add_argument("--simulated", action="store_true")
    logging.disable(logging.INFO)
    chosen = parser.parse_args()
    if chosen.data is None:
        asyncio.run(measure(chosen.runs))
    else:
        count_tokens(chosen.data, chosen.pipeline, chosen.runs, chosen.simulated)
