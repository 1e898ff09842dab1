"""The tree of commands and its help."""

from __future__ import annotations

import pytest

from prefrag.version import find_version
from tests.cli.running import prefrag
from tests.python_process import run_python

COMMANDS = (
    "ask",
    "chat",
    "doctor",
    "mcp",
    "index",
    "documents list",
    "pipelines",
    "serve",
    "evaluate",
    "report",
    "train pairs",
    "train questions",
)


@pytest.mark.parametrize("command", ["", "documents", "train", *COMMANDS])
def test_help_lists_the_exit_codes(command: str):
    assert "Exit codes" in prefrag(*command.split(), "--help").stdout


def test_the_version_is_one_line():
    result = prefrag("--version")

    assert result.exit_code == 0
    assert result.stdout == f"prefrag {find_version()}\n"


def test_completion_is_offered_at_the_root_alone():
    assert "--install-completion" in prefrag("--help").stdout
    assert "--install-completion" not in prefrag("documents", "--help").stdout


def test_help_and_completion_import_nothing_heavy():
    code = "import sys; import prefrag.cli.main; print([m for m in ('haystack', 'httpx', 'hayhooks', 'mcp', 'torch') if m in sys.modules])"

    assert run_python(code).stdout == "[]\n"
