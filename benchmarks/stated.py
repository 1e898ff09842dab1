"""Measure whether the extractive reader calls an answer stated that its text only has the words of.

    python -m benchmarks.stated [--reading ../shared/data/reading/train.jsonl] [--number 50] [--write FILE]

The pairs are those of `evaluation/own_files/stated_pairs.yaml`; with `--reading` also pairs made by rule from questions
over single passages. Each text is read alone, as a file of its own. For each form: how many texts that do not state the
answer get a stated one, with and without the gate by form, and how many of their twins that state it.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from haystack import Document

from benchmarks.pairs_by_rule import make_pairs
from benchmarks.stated_pairs import read_pairs
from prefrag.components.reader import extractive_reader
from prefrag.components.reader.extractive_reader import ExtractiveReader


def main() -> None:
    """Print a line for each form, for the parts and for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reading", type=Path, help="questions over single passages, from which pairs are made")
    parser.add_argument("--number", type=int, default=50, help="how many pairs of each form to make")
    parser.add_argument("--write", type=Path, help="a JSON Lines file for each answer")
    options = parser.parse_args()
    pairs = read_pairs()
    written = len(pairs)
    if options.reading is not None:
        pairs += make_pairs(options.reading, options.number)
    gate, doubts = extractive_reader.find_doubt, []

    def note(*place: Any) -> str:
        doubts.append(gate(*place))
        return ""

    # The reader is left ungated, and what the gate says of the answer is noted: a doubt makes it at most probable.
    extractive_reader.find_doubt = note
    reader, rows = ExtractiveReader(), []
    for place, pair in enumerate(pairs):
        for is_true in (True, False):
            question = pair.question if is_true else pair.other_question or pair.question
            text = pair.stated if is_true else pair.unstated
            doubts.clear()
            answers = reader.read(question, [Document(content=text, meta={"title": pair.title})])
            best = answers[0] if answers else None
            by_rule = "" if place < written else " (by rule)"
            rows.append(
                {
                    "form": f"{pair.part}, {pair.form}{by_rule}",
                    "part": f"{pair.part}{by_rule}",
                    "question": question,
                    "title": pair.title,
                    "text": text,
                    "is_true": is_true,
                    "answer": best.text if best else "",
                    "probability": best.probability if best else 0.0,
                    "is_stated": best is not None and best.probability >= reader.threshold,
                    "doubt": "".join(doubts),
                }
            )
    print("| part, form | n | does not state it: stated before, with the gate | states it: stated before, kept |")
    print("|---|---|---|---|")
    for key in ("form", "part"):
        groups: defaultdict[str, list[dict]] = defaultdict(list)
        for row in rows:
            groups[str(row[key])].append(row)
        for name, group in sorted(groups.items()):
            before = [row for row in group if row["is_stated"]]
            counts = []
            for is_true in (False, True):
                of_kind = [row for row in before if row["is_true"] == is_true]
                undoubted = [row for row in of_kind if not row["doubt"]]
                counts.append(f"{len(of_kind)}, {len(undoubted)}")
            print(f"| {name} | {len(group) // 2} | {counts[0]} | {counts[1]} |")
    if options.write is not None:
        options.write.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
