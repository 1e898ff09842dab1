"""A corpus of three passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    passages = [{"id": f"p{n}", "title": f"Buoy {n}", "text": f"Buoy {n} floats off Pellhaven."} for n in range(3)]
    file = tmp_path / "corpus.jsonl"
    file.write_text("\n".join(map(json.dumps, passages)), encoding="utf-8")
    return file
