"""Measure the answers of the extractive reader when a newer document changes a fact, with dates and without dates.

    python -m benchmarks.newer_answers

The questions are in `evaluation/own_files/changed.yaml`. Each of them has two documents.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from haystack import Document

from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.text.title_mentions import normalize_words

QUESTIONS = Path(__file__).resolve().parent.parent / "evaluation" / "own_files" / "changed.yaml"


def main() -> None:
    """Print a line for each set of questions, with and without dates."""
    reader = ExtractiveReader()
    questions = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
    for name, dated in (("without dates", False), ("with dates", True)):
        for seen in (True, False):
            for changes in (True, False):
                those = [
                    question for question in questions if question["seen"] is seen and ("before" in question) is changes
                ]
                counts = Counter(_kind(reader, question, dated) for question in those)
                is_seen = "seen" if seen else "unseen"
                is_changed = "changed" if changes else "the same"
                kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
                print(f"{name}, {is_seen}, {is_changed}, n {len(those)}: {kinds}")


def _kind(reader: ExtractiveReader, question: dict[str, Any], dated: bool) -> str:
    documents = []
    for passage in question["documents"]:
        hidden = () if dated else ("date", "standing")
        meta = {key: value for key, value in passage.items() if key != "text" and key not in hidden}
        documents.append(Document(content=passage["text"], meta={"source": "local", **meta}))
    answers = reader.read(question["question"], documents)
    if not answers or answers[0].probability < reader.probable:
        return "not found"
    answer = f" {normalize_words(answers[0].text)} "
    right = f" {normalize_words(question['answer'])} "
    is_right = right in answer or answer in right
    shown = "stated" if answers[0].probability >= reader.threshold else "sentence"
    return f"{shown} {'right' if is_right else 'wrong'}"


if __name__ == "__main__":
    main()
