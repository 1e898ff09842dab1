"""Measure what `prefrag` without a language model answers over the folders of four invented organisations.

    python -m benchmarks.folders [--folder engineers] [--read]

A company that builds cold rooms, a village school, a publisher and a veterinary practice: some fifty files each, and a
hundred questions that were written before any was asked, 60 that the files answer and 40 that they do not. `--read`
prints each answer that is wrong. Whoever changes a rule after reading them can no longer count that folder as unread:
`benchmarks/folders/README.md` says which have been read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefrag import pipelines
from prefrag.collections.indexing import index
from prefrag.collections.local_collection import LocalCollection
from prefrag.evaluation.metrics.answers import acc_word

FOLDERS = Path(__file__).with_name("folders")


def main() -> None:
    """Print the counts of each folder, and how often an answer of each probability is right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = sorted(path.name for path in FOLDERS.iterdir() if path.is_dir())
    parser.add_argument("--folder", choices=names, action="append", help="ask only about this folder")
    parser.add_argument("--read", action="store_true", help="print the answers that are wrong")
    options = parser.parse_args()
    bins: dict[int, list[bool]] = {}
    for name in options.folder or names:
        questions = [json.loads(line) for line in (FOLDERS / name / "questions.jsonl").read_text("utf-8").splitlines()]
        with tempfile.TemporaryDirectory() as place:
            results = _ask(FOLDERS / name / "files", questions, Path(place))
        counts: Counter[str] = Counter()
        for question, result in zip(questions, results, strict=True):
            outcome = judge(question, result)
            counts[outcome] += 1
            bins.setdefault(min(9, int(10 * (result["probability"] or 0))), []).append(_is_right(question, result))
            if options.read and outcome.endswith("wrong"):
                print(f"{question['id']} {outcome}: {question['question']} {question['answers']}: {_answer_of(result)}")
        print(f"{name}: {', '.join(f'{outcome} {number}' for outcome, number in sorted(counts.items()))}")
    for tenth, rights in sorted(bins.items()):
        print(f"probability from {tenth / 10}: {sum(rights)} of {len(rights)} right")


def judge(question: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Say what a person gets: how sure the answer is shown, and whether it is right.

    :param question: The question; no `answers` if the files do not answer it.
    :param result: The result of the pipeline.
    :returns: Such as "stated, right", "probably, wrong", "nothing, answerable" and "nothing, unanswerable".
    """
    shown = result["certainty"]
    if shown not in ("stated", "probably"):
        return "nothing, answerable" if question["answers"] else "nothing, unanswerable"
    return f"{shown}, {'right' if _is_right(question, result) else 'wrong'}"


def _is_right(question: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    return bool(question["answers"]) and bool(acc_word(_answer_of(result), question["answers"]))


def _answer_of(result: Mapping[str, Any]) -> str:
    """Return the answer or, if it is not given, the reader's best guess."""
    return str(result["answer"] or result["guess"] or "")


def _ask(files: Path, questions: list[dict[str, Any]], place: Path) -> list[dict[str, Any]]:
    os.environ |= {"PREFRAG_DATA_DIR": str(place), "PREFRAG_INDEX": files.parent.name, "PREFRAG_WEB": "off"}
    for name in ("PREFRAG_LLM_BASE_URL", "PREFRAG_LLM_MODEL", "PREFRAG_LLM_GGUF", "PREFRAG_JUDGE_BASE_URL"):
        os.environ.pop(name, None)
    index([files], LocalCollection(files.parent.name))
    pipeline = pipelines.load("prefrag")

    async def ask_all() -> list[dict[str, Any]]:
        return [await pipelines.ask_async(pipeline, question["question"]) for question in questions]

    return asyncio.run(ask_all())


if __name__ == "__main__":
    main()
