"""Run a command of the command line in this process."""

from functools import cache
from typing import Any

from typer import main, testing

from prefrag.cli.main import app

# Building all commands takes longer than running most of them.
testing._get_command = cache(main.get_command)


def prefrag(*arguments: object) -> Any:
    """Run a command; the result has its output and its exit code."""
    return testing.CliRunner().invoke(app, [str(argument) for argument in arguments])
