"""Runs over questions about boxes, and the folders that they leave."""

import json
from pathlib import Path
from typing import Any

from prefrag import evaluation
from tests.evaluation.answering import questions

QUESTIONS = questions(12)


def run(path: Path, chosen: Any = QUESTIONS, **settings: Any) -> evaluation.Run:
    return evaluation.run(str(path), chosen, **{"progress": False, **settings})


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]


def read(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / name).read_text(encoding="utf-8"))
