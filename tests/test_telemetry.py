"""Whoever imports a part of the project first: nothing is told to anyone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "prefrag.components.state.state",
        "prefrag.evaluation.runs.runner",
        "prefrag.evaluation.datasets",
        "prefrag.pipelines",
        "prefrag.service.cli.main",
        "prefrag.training",
    ],
)
def test_telemetry_is_off_unless_somebody_switches_it_on(module: str):
    code = (
        f"import {module}, haystack, haystack.telemetry._telemetry as told\n"
        "assert told.telemetry is None, told.telemetry"
    )
    surroundings = {key: value for key, value in os.environ.items() if key != "HAYSTACK_TELEMETRY_ENABLED"}

    done = subprocess.run([sys.executable, "-c", code], env=surroundings, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
