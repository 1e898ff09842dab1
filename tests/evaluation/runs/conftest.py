"""What the tests of runs share."""

from pathlib import Path

import pytest

from tests.evaluation.answering import pipeline
from tests.evaluation.runs.boxes import QUESTIONS


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    """A pipeline that answers two of the twelve questions wrongly."""
    return pipeline(tmp_path, QUESTIONS, wrong=("q3", "q7"))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "boxes"
