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

from haystack import Document

from benchmarks.stated_pairs import make_pairs, read_pairs
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
    gate = extractive_reader.find_doubt
    rows = []
    for is_gated in (False, True):
        extractive_reader.find_doubt = gate if is_gated else lambda *_: ""  # type: ignore[assignment]
        reader = ExtractiveReader()
        for place, pair in enumerate(pairs):
            for is_true in (True, False):
                question = pair.question if is_true else pair.other_question or pair.question
                text = pair.stated if is_true else pair.unstated
                # A new document each time: the reader caches what it has read of the same one.
                found = reader.read(question, [Document(content=text, meta={"title": pair.title})])
                rows.append(
                    {
                        "form": f"{pair.part}, {pair.form}{'' if place < written else ' (by rule)'}",
                        "part": f"{pair.part}{'' if place < written else ' (by rule)'}",
                        "question": question,
                        "text": text,
                        "is_true": is_true,
                        "is_gated": is_gated,
                        "answer": found[0].text if found else "",
                        "probability": found[0].probability if found else 0.0,
                        "is_stated": bool(found) and found[0].probability >= reader.threshold,
                        "place": place,
                    }
                )
    print("| part, form | n | does not state it: stated before, with the gate | states it: stated before, kept |")
    print("|---|---|---|---|")
    for key in ("form", "part"):
        groups: defaultdict[str, list[dict]] = defaultdict(list)
        for row in rows:
            groups[str(row[key])].append(row)
        for name, group in sorted(groups.items()):
            stated = {
                (true, gated): sum(
                    row["is_stated"] for row in group if (row["is_true"], row["is_gated"]) == (true, gated)
                )
                for true in (True, False)
                for gated in (True, False)
            }
            print(
                f"| {name} | {len(group) // 4} | {stated[False, False]}, {stated[False, True]} "
                f"| {stated[True, False]}, {stated[True, True]} |"
            )
    if options.write is not None:
        options.write.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
