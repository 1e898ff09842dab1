"""`make serve` starts the demo only if nothing was ever indexed, and `make audit` says what it could not do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.markdown import CHECKOUT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


@pytest.mark.parametrize(
    ("listed", "named", "served"),
    [(0, None, "serve"), (3, None, "serve --demo"), (1, None, "serve"), (3, "archive", "serve")],
    ids=["an index", "none", "a damaged one", "a named one that is missing"],
)
def test_make_serve_serves_the_demo_only_where_there_is_no_index(
    listed: int, named: str | None, served: str, tmp_path: Path
):
    (tmp_path / "bin").mkdir()
    for name, script in {"python": "", "prefrag": f'[ "$1" = documents ] && exit {listed}\necho "$@"'}.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    (tmp_path / ".core").touch()
    environment = {name: value for name, value in os.environ.items() if name != "PREFRAG_INDEX"}
    if named:
        environment["PREFRAG_INDEX"] = named

    command = ["make", "--no-print-directory", "serve", f"VENV={tmp_path}"]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=60)

    assert done.stdout.strip() == served, done.stderr


def test_make_audit_without_a_network_says_it_checked_nothing():
    command = ["make", "--no-print-directory", "audit", "PYTHON=false"]

    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=60)

    assert (done.returncode, "The packages were not checked" in done.stdout) == (0, True)


def test_make_audit_asks_another_database_if_one_is_named():
    command = ["make", "--no-print-directory", "--dry-run", "audit", "OSV=http://127.0.0.1:9/v1/query"]

    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=60)

    assert '--vulnerability-service osv --osv-url "http://127.0.0.1:9/v1/query"' in done.stdout
    assert '[ -n "http://127.0.0.1:9/v1/query" ]' in done.stdout
