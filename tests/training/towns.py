"""Towns and their rivers: two-hop questions, and the two files of a dataset."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.training.dataset import Dataset

ONE_PASSAGE = Experiment(llm=SIMULATED, top_k=1)
TOWNS = [a + b + c for a in ("Bel", "Cor", "Dun") for b in ("ba", "mo", "ri", "sa") for c in ("den", "lo", "wick")]


def river(town: str) -> str:
    return town[::-1].title()


def ask_for_river(town: str, *supporting_ids: str) -> dict[str, Any]:
    question = f"How long is the river of {town}?"
    return {"id": f"q-{town}", "question": question, "answers": ["many miles"], "supporting_ids": supporting_ids}


def write_lines(file: Path, records: Iterable[Any]) -> Path:
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def write_dataset(folder: Path, questions: Iterable[Any], corpus: Iterable[Any]) -> Dataset:
    folder.mkdir(parents=True, exist_ok=True)
    return Dataset(write_lines(folder / "questions.jsonl", questions), write_lines(folder / "corpus.jsonl", corpus))


def write_rivers(folder: Path, sources: Sequence[tuple[str, str]], *more: dict[str, str]) -> Dataset:
    """Write questions that each need a town and its river.

    :param sources: For each town, the source of its passage and the source of its river's passage.
    :param more: Further passages.
    """
    corpus = []
    for name, (source, river_source) in zip(TOWNS, sources, strict=False):
        text = f"{name} is a town on the river {river(name)}."
        corpus.append({"id": name, "title": name, "text": text, "source": source})
        text = f"{river(name)} is a river of many miles."
        corpus.append({"id": f"r-{name}", "title": river(name), "text": text, "source": river_source})
    questions = [ask_for_river(name, name, f"r-{name}") for name in TOWNS[: len(sources)]]
    return write_dataset(folder, questions, [*corpus, *more])
