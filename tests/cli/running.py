"""The command line, run in this process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from prefrag.cli.main import app


def prefrag(*arguments: object) -> Any:
    """Run a command; what it prints and its exit code are in the result."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])
