"""The progress of an evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.answering import pipeline
from tests.evaluation.runs.boxes import QUESTIONS, run


def test_shows_the_scores_so_far(boxes: Path, capsys: pytest.CaptureFixture[str]):
    run(boxes, progress=True)

    assert "acc" in capsys.readouterr().err


def test_shows_the_first_error_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = pipeline(tmp_path, QUESTIONS, failures={"q1": 9, "q2": 9})
    run(path, retries=0, concurrency=1, progress=True)
    printed = " ".join(capsys.readouterr().err.split())
    run(path, retries=0, progress=False)

    assert printed.count("Question 'q") == 1
    assert "Question 'q1' failed: " in printed
    assert "the server is down" in printed
    assert capsys.readouterr().err == ""
