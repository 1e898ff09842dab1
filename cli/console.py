"""Print on stdout and stderr: texts with Rich, results for scripts as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console


def console(stderr: bool = False) -> Console:
    """Make a Rich console for stdout or stderr. Output that does not go to a terminal is not wrapped."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=not (sys.stderr if stderr else sys.stdout).isatty())


def print_json(value: object) -> None:
    """Print JSON for scripts."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
