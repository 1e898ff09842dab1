"""The checks of `make test-haystack` on this checkout, with one YAML of each kind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import CHECKOUT

SCRIPT = CHECKOUT / "tests" / "hayhooks" / "wheel_alone.py"


@pytest.mark.slow
def test_one_yaml_of_each_kind_is_loaded_run_and_deployed(tmp_path: Path):
    own = {"PREFRAG_DATA_DIR": str(tmp_path), "PREFRAG_INDEX": "demo", "PREFRAG_WEB": "off", "PYTHONSAFEPATH": "1"}
    environment = {**os.environ, **own, "PYTHONPATH": str(CHECKOUT)}
    environment.pop("HAYSTACK_DESERIALIZATION_ALLOWLIST", None)

    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check", "--each-kind"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    counts = dict(line.split(": ") for line in done.stdout.splitlines()[1:])
    assert counts == {
        "loaded": "14 of 14",
        "round-tripped": "14 of 14",
        "run": "11 of 11",
        "deployed": "14 of 14",
        "answered under Hayhooks": "11 of 11",
    }
