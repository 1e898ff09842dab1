"""The tree of commands and its help."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.service.cli.running import prefrag

COMMANDS = ("ask", "index", "documents list", "pipelines", "serve", "evaluate", "report", "train pairs")


@pytest.mark.parametrize("command", ["", "documents", "train", *COMMANDS])
def test_help_lists_the_exit_codes(command: str):
    assert "Exit codes" in prefrag(*command.split(), "--help").stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from tests.service.cli.running import prefrag\n"
        f"for command in {COMMANDS}:\n"
        "    assert prefrag(*command.split(), '--help').exit_code == 0, command\n"
        "heavy = 'haystack', 'numpy', 'fastapi', 'openai', 'httpx', 'tantivy', 'yaml', 'matplotlib', 'scipy'\n"
        "print([name for name in heavy if name in sys.modules])"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
