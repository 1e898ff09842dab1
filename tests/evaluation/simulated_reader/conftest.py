"""The simulated reader and its files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prefrag.evaluation.simulated_reader import SimulatedReader
from tests.evaluation.simulated_reader.trees_and_towns import PASSAGES, QUESTIONS


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    questions, corpus = tmp_path / "dev.jsonl", tmp_path / "corpus.jsonl"
    questions.write_text("\n".join(map(json.dumps, QUESTIONS)))
    lines = [
        {"id": key, "title": title, "text": text, "source": "web" if key in ("p2", "p6") else "local"}
        for key, title, text in PASSAGES
    ]
    corpus.write_text("\n".join(map(json.dumps, lines)))
    return {"questions": str(questions), "corpus": str(corpus)}


@pytest.fixture
def reader(files: dict[str, str]) -> Callable[..., SimulatedReader]:
    return lambda **settings: SimulatedReader(**files, **settings)
