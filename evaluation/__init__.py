"""Datasets, metrics, the runner, the simulated reader and the report: numbers that anyone can reproduce."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from evaluation.question import Hop, Question

# Questions are private: Haystack's telemetry is off unless somebody switches it on. It reads this when it is imported.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

if TYPE_CHECKING:
    from evaluation.runner import Run, run

__all__ = ["Hop", "Question", "Run", "run"]


def __getattr__(name: str) -> Any:
    # The runner brings Haystack with it, for which the help of the command line need not wait.
    if name in ("Run", "run"):
        from evaluation import runner

        return getattr(runner, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
