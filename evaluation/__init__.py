"""Measure how well a pipeline answers the questions of a benchmark.

:func:`run` runs a pipeline on questions and scores its answers. The packages below have the datasets, the metrics, the
    simulated reader, the runs, the report and the studies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prefrag.evaluation.question import Hop, Question

if TYPE_CHECKING:
    from prefrag.evaluation.pipeline_under_test.experiment import Experiment
    from prefrag.evaluation.runs.runner import Run, run

__all__ = ["Experiment", "Hop", "Question", "Run", "run"]


def __getattr__(name: str) -> object:
    # The runner is imported only here. It imports Haystack, which would slow down the help of the command line.
    if name in ("Experiment", "Run", "run"):
        from prefrag.evaluation.runs import runner

        return getattr(runner, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
