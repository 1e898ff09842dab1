"""The command line, run in this process."""

from functools import cache
from typing import Any

from typer import main, testing

from prefrag.cli.main import app

# The tree of all commands takes longer to build than most of them run.
testing._get_command = cache(main.get_command)


def prefrag(*arguments: object) -> Any:
    """Run a command; what it prints and its exit code are in the result."""
    return testing.CliRunner().invoke(app, [str(argument) for argument in arguments])
