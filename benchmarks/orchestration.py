"""CPU that a PrefRAG run adds to its model and retrieval calls.

Three retrievals, two judge calls and four reasoner calls over the shipped YAML, with a model and sources that answer
from a script at once, so that what is left is the engine, the components and the prompts.

    python -m benchmarks.orchestration [--runs 200]
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import time

from prefrag import pipelines
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


if __name__ == "__main__":
    # The web is a script.
    os.environ["PREFRAG_WEB"] = "on"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    logging.disable(logging.INFO)
    asyncio.run(measure(parser.parse_args().runs))
