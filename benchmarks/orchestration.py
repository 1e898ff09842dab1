"""Measure the CPU time that a PrefRAG run adds to its model and retrieval calls.

A run of the shipped YAML has three retrievals, two judge calls and four reasoner calls. The model and the sources
answer at once from a script, so that only the engine, the components and the prompts take time.

    python -m benchmarks.orchestration [--runs 200]

`--data` names a folder with questions and their corpus, which is divided between the local source and the web. Then the
benchmark counts the tokens of prompts instead. A token is four characters. It counts as cached if an earlier prompt of
the run is the same up to that token. Queries and verdicts come from the script, or from the simulated reader.

    python -m benchmarks.orchestration --data hotpotqa [--simulated]

With ``--http``, the processor time of these runs is measured. The model server runs in another process and replies at
once.

    python -m benchmarks.orchestration --data hotpotqa --http
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
from typing import Any, ClassVar

from haystack import component
from haystack.dataclasses import ChatMessage

from benchmarks.load import free_port, process
from benchmarks.model_server import QUESTION as ASKED
from benchmarks.model_server import PrefragScript
from prefrag import pipelines
from prefrag.evaluation.corpora import ensure_indexes
from prefrag.evaluation.simulated_reader import SimulatedReader
from tests import fakes
from tests.pipelines.scripted import answer, scripted, search, verdict

QUESTION = "In which year did the yard that built alpha win the prize?"
# The passages are about as long as those of the public multi-hop corpora.
TEXT = "A passage of some eighty words that says one thing or another about its subject. " * 6


async def measure(runs: int) -> None:
    documents = {
        "local": dict.fromkeys([f"alpha{number}" for number in range(5)], TEXT),
        "web": dict.fromkeys([f"delta{number}" for number in range(5)], TEXT),
    }
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
        f"CPU per run over {runs} runs (time.process_time, scripted model and sources): "
        f"median {statistics.median(spent):.1f} ms, 95th percentile {spent[int(0.95 * len(spent))]:.1f} ms"
    )


@component
class CountedModel:
    """A model that replies from the script or the simulated reader, and counts the tokens of its prompts."""

    model_host, served_by, context_window = "localhost", "one", 131_072
    sent: ClassVar[dict[str, list[str]]] = {}
    script = PrefragScript()

    def __init__(self, data: str, simulated: bool):
        self.data = data
        self.simulated = simulated
        self._reader = SimulatedReader(f"{data}/dev.jsonl", f"{data}/corpus.jsonl")

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
        """Reply to a prompt, and put the counts into the ``usage`` of the reply."""
        prompt = "\n".join(message.text or "" for message in messages)
        if self.simulated:
            reply = self._reader.run(messages, generation_kwargs)["replies"][0]
        else:
            reply = ChatMessage.from_assistant(self.script(prompt))
        earlier = self.sent.setdefault(ASKED.findall(prompt)[-1], [])
        # `commonprefix` compares by character. That is wrong for paths, but right for prompts.
        cached = max((len(os.path.commonprefix([prompt, text])) for text in earlier), default=0)  # noqa: RUF071
        earlier.append(prompt)
        reply.meta["usage"] = {"prompt_tokens": len(prompt) // 4, "cached_tokens": cached // 4}
        return {"replies": [reply]}


async def measure_http(questions: list[str]) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}/v1"
    os.environ |= {"PREFRAG_LLM_BASE_URL": address, "PREFRAG_LLM_MODEL": "simulated", "PREFRAG_LLM_CONTEXT": "32000"}
    command = (sys.executable, "-m", "benchmarks.model_server", "--port", str(port), "--delay-ms", "0")
    with process(*command, ready=f"{address}/models"):
        pipeline = pipelines.load("prefrag")
        pipeline.warm_up()
        spent: list[float] = []
        for number, question in enumerate([*questions[:10], *questions]):
            started = time.process_time()
            result = await pipelines.ask_async(pipeline, f"{question} (Q-{100_000 + number})")
            spent.append((time.process_time() - started) * 1_000)
            assert result["usage"]["llm_calls"] == 6, result["usage"]
    first, spent = spent[0], sorted(spent[10:])
    percentile_95 = spent[int(0.95 * len(spent))]
    print(
        f"{len(spent)} questions over HTTP, processor time: median {statistics.median(spent):.1f} ms, 95th percentile "
        f"{percentile_95:.1f} ms, minimum {spent[0]:.1f} ms; the first question took {first:.1f} ms"
    )


def split_corpus(data: Path) -> None:
    indexes = ensure_indexes(data / "corpus.jsonl", split=True)
    os.environ |= {"PREFRAG_INDEX": indexes.local, "PREFRAG_WEB_INDEX": str(indexes.web)}


def read_questions(data: Path) -> list[str]:
    lines = (data / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def count_tokens(data: Path, simulated: bool) -> None:
    parameters = {"data": str(data), "simulated": simulated}
    model = {"type": "benchmarks.orchestration.CountedModel", "init_parameters": parameters}
    pipeline = pipelines.load("prefrag", replace={"ChatModel": model})
    used = []
    for number, question in enumerate(read_questions(data)):
        # The token tells the script which run a prompt belongs to.
        token = "" if simulated else f" (Q-{100_000 + number})"
        used.append(pipelines.ask(question + token, pipeline)["usage"])
    calls = statistics.mean(usage["llm_calls"] for usage in used)
    read = statistics.mean(usage["prompt_tokens"] for usage in used)
    cached = statistics.mean(usage["cached_tokens"] for usage in used)
    print(
        f"{len(used)} questions of {data.name}: {calls:.1f} calls and {read:,.0f} prompt tokens per question, of "
        f"which {read - cached:,.0f} are new and {cached / read:.0%} cached"
    )


if __name__ == "__main__":
    # The web may be on, because here it is a script or an index, so that nothing leaves the machine.
    os.environ |= {"HAYSTACK_DESERIALIZATION_ALLOWLIST": "prefrag,duckduckgo_api_haystack,benchmarks,tests"}
    os.environ["PREFRAG_WEB"] = "on"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--http", action="store_true")
    logging.disable(logging.INFO)
    chosen = parser.parse_args()
    if chosen.data is None:
        asyncio.run(measure(chosen.runs))
    else:
        split_corpus(chosen.data)
        if chosen.http:
            asyncio.run(measure_http(read_questions(chosen.data)))
        else:
            count_tokens(chosen.data, chosen.simulated)
