"""Evaluation: datasets, metrics, the runner, the simulated reader and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prefrag.evaluation.question import Hop, Question

if TYPE_CHECKING:
    from prefrag.evaluation.pipeline_under_test.experiment import Experiment
    from prefrag.evaluation.runs.runner import Run, run

__all__ = ["Experiment", "Hop", "Question", "Run", "run"]


def __getattr__(name: str) -> Any:
    # The runner imports Haystack, which would slow down the help of the command line.
    if name in ("Experiment", "Run", "run"):
        from prefrag.evaluation.runs import runner

        return getattr(runner, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
