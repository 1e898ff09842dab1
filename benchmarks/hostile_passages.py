"""Show what hostile passages achieve. Each is found alone, once on the web and once in the user's own documents.

Runs PrefRAG in the formats text, json and tools, MSPR, DR-RAG and Self-RAG. Each runs with three models: one behaves,
one quotes the passage before every reply, and one believes the passage and cites its forgeries. The last column counts
prompts that differ outside the quoted lines or contain a control token. The argument names the prompts: `product`,
`plain`, or `own` for the folder that docs/prompts.md shows.

    python -m benchmarks.hostile_passages [product|plain|own]
"""

from __future__ import annotations

import os
import sys
import tempfile

os.environ |= {"HAYSTACK_DESERIALIZATION_ALLOWLIST": "prefrag,duckduckgo_api_haystack,tests", "PREFRAG_WEB": "on"}

from tests.hostile_passages import PASSAGES
from tests.pipelines.hostile_runs import MODELS, MODES, REACHED, WAYS, run_hostile


def main(mode: str) -> None:
    if mode not in MODES:
        sys.exit(f"There is no mode {mode}: give {', '.join(MODES)}.")
    totals = dict.fromkeys(REACHED, 0)
    runs = 0
    print("| class | passages |", " | ".join(REACHED), "|\n|---|---|" + "---|" * len(REACHED))
    for kind, passages in PASSAGES.items():
        counts = dict.fromkeys(REACHED, 0)
        for passage in passages:
            reached = [run_hostile(*way, model, [passage], mode) for way in WAYS for model in MODELS]
            runs += len(reached)
            for name in REACHED:
                counts[name] += any(name in outcomes for outcomes in reached)
                totals[name] += any(name in outcomes for outcomes in reached)
        print(f"| {kind} | {len(passages)} |", " | ".join(str(counts[name]) for name in REACHED), "|", flush=True)
    number = sum(map(len, PASSAGES.values()))
    print(f"| all, in {runs:,} runs | {number} |", " | ".join(str(totals[name]) for name in REACHED), "|")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PREFRAG_DATA_DIR"] = folder
        main(sys.argv[1] if len(sys.argv) > 1 else "product")
