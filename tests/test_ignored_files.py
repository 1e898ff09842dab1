"""Ruff leaves out what git ignores, so a committed file that git ignores would be checked by nobody."""

import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_no_committed_file_is_ignored():
    command = ["git", "-C", str(CHECKOUT), "ls-files", "--cached", "--ignored", "--exclude-standard"]

    # Outside of a checkout nothing is committed, and git says so.
    ignored = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()

    assert ignored == []
