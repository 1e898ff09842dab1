"""Measure what `prefrag` without a language model answers over the folder of a person.

    python -m benchmarks.person [--half even] [--read] [--write FILE]

The files and the 60 questions are in `evaluation/own_files/person`. The questions with an even number are for mending:
`--read` prints those of them that are missed. The other half is only counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefrag import pipelines
from prefrag.collections.indexing import index
from prefrag.collections.local_collection import LocalCollection
from prefrag.evaluation.metrics.answers import acc_word, fair
from prefrag.evaluation.own_files.checks import read_questions, squeeze
from prefrag.evaluation.own_files.office_documents import write_person

_INDEX = "person"


def main() -> None:
    """Print a line of counts for each half, and for both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("even", "odd"), help="ask only this half")
    parser.add_argument("--read", action="store_true", help="print what is missed of the even half")
    parser.add_argument("--write", type=Path, help="a JSON Lines file for the counts of each question")
    options = parser.parse_args()
    halves = [options.half] if options.half else ["even", "odd"]
    questions = [question for question in read_questions("person/questions") if half_of(question) in halves]
    with tempfile.TemporaryDirectory() as place:
        results = _ask(questions, Path(place))
    counted = [count_question(*pair) for pair in zip(questions, results, strict=True)]
    for name in (*halves, *(["both"] if len(halves) > 1 else [])):
        own = [
            counts for question, counts in zip(questions, counted, strict=True) if name in ("both", half_of(question))
        ]
        print(f"{name}: {write_counts(own)}")
    for question, result, counts in zip(questions, results, counted, strict=True):
        if options.read and half_of(question) == "even" and not _is_as_wished(question, counts):
            shown = [f"    {document}: {sentence}" for document, sentence in _shown(result)]
            heading = f"{question['id']} {question['question']} ({question.get('sentences', '')})"
            print(heading, f"  {result['certainty']}, {result['probability']}: {result['answer']}", *shown, sep="\n")
    if options.write is not None:
        lines = ({"id": question["id"], **counts} for question, counts in zip(questions, counted, strict=True))
        options.write.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def half_of(question: Mapping[str, Any]) -> str:
    """Return `even` (for mending) or `odd` (for the report), by the number of a question."""
    return "odd" if int(question["id"].rpartition("-")[2]) % 2 else "even"


def count_question(question: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, bool]:
    """Count what a result shows: where the right sentence stands, and whether an answer is given and right."""
    certainty = result["certainty"]
    if not question["answerable"]:
        return {
            "unanswerable": True,
            "unanswerable stated": certainty == "stated",
            "unanswerable probably": certainty == "probably",
        }
    places = [_is_sentence(question, *pair) for pair in _shown(result)]
    is_first = places[:1] == [True]
    answer, golds = str(result["answer"]), question["answers"]
    is_right = bool(acc_word(answer, golds) or fair(answer, golds))
    is_stated = certainty == "stated"
    is_probable = certainty == "probably"
    has_right_statement = is_stated and is_first and is_right
    counts = {
        "answerable": True,
        "first": is_first,
        "among three": any(places[:3]),
        "stated": is_stated,
        "stated, right": has_right_statement,
        "probably": is_probable,
        "probably, right": is_probable and is_first,
    }
    if question["type"] == "row":
        counts["rows"] = True
        counts["rows stated, right"] = has_right_statement
        counts["another row stated"] = is_stated and not is_first
        counts["another row probably"] = is_probable and not is_first
    return counts


def write_counts(counted: list[dict[str, bool]]) -> str:
    """Add up the counts of questions, and write them in the order in which they appear."""
    names = dict.fromkeys(name for counts in sorted(counted, key=len, reverse=True) for name in counts)
    texts = []
    for name in names:
        texts.append(f"{name} {sum(counts.get(name, False) for counts in counted)}")
    return ", ".join(texts)


def _ask(questions: list[dict[str, Any]], place: Path) -> list[dict[str, Any]]:
    os.environ |= {"PREFRAG_DATA_DIR": str(place / "data"), "PREFRAG_INDEX": _INDEX, "PREFRAG_WEB": "off"}
    for name in ("PREFRAG_LLM_BASE_URL", "PREFRAG_LLM_MODEL", "PREFRAG_LLM_GGUF", "PREFRAG_JUDGE_BASE_URL"):
        os.environ.pop(name, None)
    write_person(place / "files")
    index([place / "files"], LocalCollection(_INDEX))
    pipeline = pipelines.load("prefrag")

    async def ask_all() -> list[dict[str, Any]]:
        return [await pipelines.ask_async(pipeline, question["question"]) for question in questions]

    results = asyncio.run(ask_all())
    return [json.loads(json.dumps(result).replace(f"{place / 'files'}/", "")) for result in results]


def _shown(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the documents and sentences that are shown, in their order."""
    files = {document["mark"]: str(document.get("file") or "") for document in result["documents"]}
    return [(files.get(one["mark"], ""), one["sentence"]) for one in result["evidence"]]


def _is_sentence(question: Mapping[str, Any], document: str, sentence: str) -> bool:
    parts = [part for wanted in question["sentences"] for part in wanted.split(" | ")]
    # A mail in a mailbox has the name of its file with a number.
    is_file = document.startswith(question["document"])
    return is_file and all(squeeze(part) in squeeze(sentence) for part in parts)


def _is_as_wished(question: Mapping[str, Any], counts: Mapping[str, bool]) -> bool:
    if not question["answerable"]:
        return not (counts["unanswerable stated"] or counts["unanswerable probably"])
    return counts["rows stated, right"] if question["type"] == "row" else counts["first"]


if __name__ == "__main__":
    main()
