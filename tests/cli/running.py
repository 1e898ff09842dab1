"""The command line, run in this process."""

from __future__ import annotations

from functools import cache
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from prefrag.cli.main import app

# The tree of all commands takes longer to build than most of them run.
_build = cache(get_command)


class _Runner(CliRunner):
    def invoke(self, *arguments: Any, **options: Any) -> Any:
        return super(CliRunner, self).invoke(_build(app), *arguments, **options)


def prefrag(*arguments: object) -> Any:
    """Run a command; what it prints and its exit code are in the result."""
    return _Runner().invoke([str(argument) for argument in arguments])
