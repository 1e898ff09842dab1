"""Count the questions of which nothing may be sent to the web, and the web queries that would not be sent.

    python -m benchmarks.web_queries [--data FOLDER]

The questions are from the four datasets (dev and train), the demo and `reading/dev`. The queries are what six methods
with the simulated reader write for the dev questions. Each corpus is divided between the sources.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.places import DATA
from prefrag import evaluation
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.web.query_form import query_form
from prefrag.components.web.query_origin import reason_to_withhold, web_query
from prefrag.components.web.question_in_message import is_question, split_question

CHECKOUT = Path(__file__).resolve().parent.parent
DATASETS = ("hotpotqa", "2wikimultihopqa", "musique", "bioasq")
METHODS = ("prefrag", "prefrag_without_preference", "react_mix", "mspr", "crag", "vanilla_mix")


def main() -> None:
    """Count questions and queries, and print a line for each file, and for each dataset with each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the datasets")
    data = parser.parse_args().data
    files = [data / "multihop" / name / f"{split}.jsonl" for name in DATASETS for split in ("dev", "train")]
    asked: Counter[bool] = Counter()
    for file in [*files, CHECKOUT / "demo" / "questions.jsonl", data / "reading" / "dev.jsonl"]:
        lines = file.read_text(encoding="utf-8").splitlines()
        questions = [json.loads(line)["question"] for line in lines]
        recognised = Counter(is_question(question) and split_question(question)[0] != "" for question in questions)
        asked += recognised
        print(f"{file.parent.name}/{file.name}: {recognised[False]} of {len(lines)} not recognised as questions")
    print(f"all: {asked[False]} of {asked.total()} not recognised as questions")
    queries: Counter[str] = Counter()
    admit = RetrievalSource._admit_async

    async def count(self: RetrievalSource, request: Any) -> None:
        # Count the queries here, because the web is an index, which lets every query pass.
        if self.external and request.state is not None and not request.is_closed:
            query, _ = web_query(request.query, request.state)
            queries[reason_to_withhold(query_form(query), request.state)] += 1
        await admit(self, request)

    RetrievalSource._admit_async = count  # type: ignore[method-assign]
    for name in DATASETS:
        for method in METHODS:
            before, folder = queries.copy(), data / "multihop" / name
            with tempfile.TemporaryDirectory() as output:
                evaluation.run(
                    method,
                    folder / "dev.jsonl",
                    corpus=folder / "corpus.jsonl",
                    llm="simulated",
                    output=f"{output}/run",
                )
            new = queries - before
            print(f"{name}, {method}: {new.total() - new['']} of {new.total()} queries not to be sent", flush=True)
    print(f"all: {queries.total() - queries['']} of {queries.total()} not to be sent; by origin: {dict(queries)}")


if __name__ == "__main__":
    main()
