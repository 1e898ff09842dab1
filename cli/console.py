"""Print on stdout and stderr. Texts for people are printed with Rich, and results for scripts as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console


def console(stderr: bool = False) -> Console:
    """Make a Rich console. Lines are wrapped only if they go to a terminal.

    :param stderr: Whether to print on stderr. By default, stdout.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, soft_wrap=not stream.isatty())


def print_json(value: object) -> None:
    """Print a value as JSON on stdout, for scripts.

    :param value: Any value that JSON can express.
    """
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
