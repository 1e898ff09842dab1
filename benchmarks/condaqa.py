"""Measure what the reader's trees say to yes-or-no questions over passages that state, deny, or leave open.

    python -m benchmarks.condaqa [--data ../shared/data/reading/more/condaqa.jsonl] [--own FILE]

The questions are CondaQA's: each passage as published, paraphrased, with another scope of its negation, and without it.
The passages are halved. On one half, the lowest probability is chosen from which 95 of 100 answers (yes or no) are
right; what it gives is counted on the other. `not stated` is never right to answer. `--own` is a JSON Lines file of the
same form over other documents (`question`, `text`, `label`, `passage`), measured with the same probability.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from haystack import Document

from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reader.question_form import asks_yes_no

_CONDAQA = Path(__file__).resolve().parent.parent.parent / "shared/data/reading/more/condaqa.jsonl"
_LABELS = {"YES": "yes", "NO": "no", "DON'T KNOW": "not stated"}
_ASKED = 0.95  # the share of right answers that is asked for
_LEAST = 20  # over how many answers this share must be seen


def main() -> None:
    """Print the share that is right if every question is answered, and if only the surest are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=_CONDAQA)
    parser.add_argument("--own", type=Path, help="questions over other documents, in the same form")
    options = parser.parse_args()
    rows = read_rows(options.data)
    halves = []
    for half in (0, 1):
        halves.append([row for row in rows if row["passage"] % 2 == half])
    threshold = choose_threshold(halves[0])
    print(f"threshold chosen on {len(halves[0])} questions: {threshold if threshold else 'none reaches 95 of 100'}")
    for name, part in (("other half", halves[1]), *([("own", read_rows(options.own))] if options.own else [])):
        labels = Counter(row["label"] for row in part)
        print(f"{name}, {len(part)} questions, {dict(labels)}")
        print(f"  the commonest label: {labels.most_common(1)[0][1] / len(part):.3f}")
        print(f"  always answered, right: {with_interval(part)}")
        sure = [row for row in part if threshold and row["probability"] >= threshold]
        print(f"  from the threshold on: {len(sure)} answered, right: {with_interval(sure)}")


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Answer the yes-or-no questions of a file, each over its own text.

    :param file: JSON Lines with ``question``, ``text``, ``label`` and ``passage``.
    :returns: For each question its passage, its label, and the reader's answer with its probability.
    """
    reader, rows = ExtractiveReader(), []
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        label = _LABELS.get(record["label"])
        if label is None or not asks_yes_no(record["question"]):
            continue
        answers = reader.read(record["question"], [Document(content=record["text"])])
        if answers:
            answer, probability = answers[0].text, answers[0].probability
            rows.append({"passage": record["passage"], "label": label, "answer": answer, "probability": probability})
    return rows


def choose_threshold(rows: Sequence[dict[str, Any]]) -> float | None:
    """Find the lowest probability from which 95 of 100 answers are right.

    :param rows: The answered questions.
    :returns: The probability, or None if there is none with at least twenty answers.
    """
    ranked = sorted(rows, key=lambda row: -row["probability"])
    right = np.cumsum([row["answer"] == row["label"] for row in ranked])
    steps = [row["probability"] for row in ranked] + [-1.0]
    fits = [
        place
        for place, number in enumerate(right, 1)
        # All answers of one probability are given, or none.
        if place >= _LEAST and number >= _ASKED * place and steps[place] < steps[place - 1]
    ]
    return steps[fits[-1] - 1] if fits else None


def with_interval(rows: Sequence[dict[str, Any]]) -> str:
    """Describe the share of right answers, with the 95% interval of a bootstrap over passages.

    :param rows: The answered questions.
    :returns: The share and its interval, or a dash without questions.
    """
    groups: defaultdict[int, list[bool]] = defaultdict(list)
    for row in rows:
        groups[row["passage"]].append(row["answer"] == row["label"])
    if not groups:
        return "-"
    # A row for each passage: its right answers, and all its answers.
    sums = np.array([(sum(group), len(group)) for group in groups.values()])
    drawn = np.random.default_rng(7).integers(0, len(sums), (10_000, len(sums)))
    draws = sums[drawn].sum(axis=1)
    low, high = np.quantile(draws[:, 0] / draws[:, 1], (0.025, 0.975))
    share = sums[:, 0].sum() / sums[:, 1].sum()
    return f"{share:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
