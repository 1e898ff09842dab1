"""The tree of commands and its help."""

from __future__ import annotations

import pytest

from tests.service.cli.running import prefrag

COMMANDS = (
    "ask",
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
