"""A two-hop question, its passages, and the set-up of a pipeline that is evaluated on it."""

import json
from pathlib import Path
from typing import Any

from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.pipeline_under_test.setup import Setup

LIGHTHOUSE = {"id": "p1", "title": "Ardal Light", "text": "Ardal Light was built by Mona Reeve.", "source": "local"}
BUILDER = {"id": "p2", "title": "Mona Reeve", "text": "Mona Reeve was born in Pellhaven.", "source": "web"}
BOTH = {"id": "p3", "title": "Pellhaven", "text": "Pellhaven is a port.", "source": "both"}
QUESTION = {
    "id": "q1",
    "question": "Where was the builder of Ardal Light born?",
    "answers": ["Pellhaven"],
    "supporting_ids": ["p1", "p2"],
}
# This server is never called; naming it avoids loading a model.
SERVER = {"llm": "http://localhost:9/v1", "model": "large"}


def jsonl(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def setup(pipeline: Any = "prefrag", questions: Path | None = None, **settings: Any) -> Setup:
    return Setup(pipeline, Experiment(**settings), questions)


def blocks(value: Any, kind: str) -> list[dict[str, Any]]:
    """Return the parameters of every block of a class, wherever it stands."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    parameters = [block for part in parts for block in blocks(part, kind)]
    if isinstance(value, dict) and str(value.get("type", "")).endswith(f".{kind}"):
        parameters.append(value["init_parameters"])
    return parameters
