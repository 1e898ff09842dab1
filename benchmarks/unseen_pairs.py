"""Measure how sure an answer is called if a text only has its words, in forms that its writer chose freely.

    python -m benchmarks.unseen_pairs [--pairs FILE] [--write FILE]

`evaluation/own_files/unseen_pairs.jsonl` has 120 pairs of texts by each of two writers who knew no rule of the gate:
one text states the answer to the question, its twin has the same words and does not. Each text is read alone, as a file
of its own: first by the reader, then the answer is checked as if a small model had proposed it at once. Last, the doubt
that the gate finds first in each text is counted. In a twin that states the answer, a doubt is an error.

`--pairs benchmarks/written_pairs.jsonl` has 1,212 further pairs in nearly as many forms, by nine writers, each over
other kinds of documents. They are for training a sign of what is stated and for choosing between rules. What is chosen
by them is reported on the pairs above.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from haystack import Document

from prefrag.components.reader.doubts.doubtful_statement import find_doubt
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reasoner.answer_check import AnswerSigns, check_answer

PAIRS = Path(__file__).resolve().parent.parent / "evaluation" / "own_files" / "unseen_pairs.jsonl"
WRITTEN_PAIRS = Path(__file__).resolve().parent / "written_pairs.jsonl"
# The two texts of a pair, as its line names them.
TEXTS = ("states", "not")
# A small model that is sure of its answer: the mean log probability of the answer's tokens.
_SURE = -0.05


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Read the pairs of a JSON Lines file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def main(
    pairs: Annotated[Path, typer.Option(help="A JSON Lines file of pairs.")] = PAIRS,
    write: Annotated[Path | None, typer.Option(help="A JSON Lines file for the result of each text.")] = None,
) -> None:
    """Print how many texts of each kind the reader, and the check of a proposed answer, call stated."""
    reader = ExtractiveReader()
    reader.warm_up()
    counts: Counter[tuple[int, str, str]] = Counter()
    doubts: dict[str, Counter[str]] = {kind: Counter() for kind in TEXTS}
    results = []
    for pair in read_lines(pairs):
        question, answer = pair["question"], pair["answer"]
        for kind in TEXTS:
            begin = pair[kind].index(answer)
            doubt = find_doubt(question, pair["title"], pair[kind], begin, begin + len(answer))
            if doubt:
                doubts[kind][doubt] += 1

            documents = [Document(content=pair[kind], meta={"title": pair["title"]})]
            best = next(iter(reader.read(question, documents)), None)
            is_stated = best is not None and best.probability >= reader.threshold
            judged = reader.judge(question, documents, answer)
            check = check_answer(question, answer, documents, judged, AnswerSigns(mean_logprob=_SURE))

            counts[pair["writer"], kind, "read alone: stated"] += is_stated
            counts[pair["writer"], kind, f"proposed: {check.certainty}"] += 1
            results.append({**pair, "kind": kind, "is_stated": is_stated, "check": check.certainty})

    for (writer, kind, result), count in sorted(counts.items()):
        print(f"writer {writer}, {kind}, {result}: {count}")
    for doubt, count in doubts["not"].most_common():
        print(f"doubt {doubt!r}: {count} that do not state it, {doubts['states'][doubt]} that do")
    print(f"any doubt: {doubts['not'].total()} that do not state it, {doubts['states'].total()} that do")
    if write is not None:
        write.write_text("".join(f"{json.dumps(result)}\n" for result in results), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
