"""Measure by how much the questions of `prefrag prove` flatter: the same bound on questions that people wrote.

    python -m prefrag.evaluation.own_files.make_documents FOLDER
    prefrag index FOLDER --collection own
    prefrag prove --collection own --output PROOF
    python -m benchmarks.proof own PROOF/proof.json [--read]

The written questions are those of `evaluation/own_files/dev.jsonl`, over the same documents, without a language model
and with the web closed. An answer that is given as Stated counts as wrong if no gold answer accepts it, or if the files
do not say it. As in a proof, a document counts once, here that of the answer's evidence. `--read` prints what is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from prefrag import pipelines
from prefrag.evaluation.metrics.answers import acc_word, fair
from prefrag.evaluation.own_files.checks import read_questions
from prefrag.evaluation.prove.figures import Bound, bound, hardest, say_percent


def main() -> None:
    """Print both bounds, and whether the shares differ beyond chance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("proof", type=Path, help="the proof.json of the same collection")
    parser.add_argument("--read", action="store_true", help="print the wrong answers")
    options = parser.parse_args()
    os.environ |= {"PREFRAG_INDEX": options.collection, "PREFRAG_WEB": "off"}
    questions = read_questions("dev")
    results = asyncio.run(_ask(questions))
    stated = [pair for pair in zip(questions, results, strict=True) if pair[1]["certainty"] == "stated"]
    written = bound_of((find_document(result), is_right(question, result)) for question, result in stated)
    cases = json.loads(options.proof.read_text(encoding="utf-8"))["cases"]
    sides = {"written": written, "generated": bound(cases), "generated, hardest third": bound(hardest(cases))}
    for name, side in sides.items():
        share = f"{side.wrong} of {side.documents} documents wrong, at most {say_percent(side.most)}"
        print(f"{name}: {share} ({side.answers} answers)")
    print(f"differ beyond chance: p = {compare(written, sides['generated']):.2f} (Fisher, two-sided)")
    for question, result in stated:
        if options.read and not is_right(question, result):
            print(f"{question['id']}: {question['question']}: {result['answer']} ({question['answers'] or 'nothing'})")


async def _ask(questions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    pipeline = pipelines.load("prefrag")
    return [
        await pipelines.ask_async(pipeline, question["question"], history=question.get("history"))
        for question in questions
    ]


def is_right(question: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Check whether a gold answer accepts an answer."""
    if not question["answerable"]:
        return False
    answer, golds = str(result["answer"]), question["answers"]
    return bool(acc_word(answer, golds) or fair(answer, golds))


def find_document(result: Mapping[str, Any]) -> str:
    """Return the file that an answer was read in."""
    files = {document["mark"]: str(document.get("file") or "") for document in result["documents"]}
    return next((files.get(evidence["mark"], "") for evidence in result["evidence"]), "")


def bound_of(answers: Iterable[tuple[str, bool]]) -> Bound:
    """Count the documents of answers, and those with any answer that is not right."""
    by_document: defaultdict[str, list[bool]] = defaultdict(list)
    for document, is_answer_right in answers:
        by_document[document].append(is_answer_right)
    wrong = sum(not all(own) for own in by_document.values())
    return Bound(wrong, len(by_document), sum(map(len, by_document.values())))


def compare(left: Bound, right: Bound) -> float:
    """Compute the chance of shares of wrong documents that differ as much as these."""
    # Loading it takes a second.
    from scipy.stats import fisher_exact

    table = [[side.wrong, side.documents - side.wrong] for side in (left, right)]
    return float(fisher_exact(table).pvalue)


if __name__ == "__main__":
    main()
