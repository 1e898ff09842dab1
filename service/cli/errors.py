"""End a command with its exit code, and with one line on stderr for an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from prefrag.components.errors import error_kind

# The codes 1 to 3 are those of the error tree.
ANSWERED, SKIPPED, INTERRUPTED = 0, 4, 130
EXIT_CODES = (
    "Exit codes: 0 answered or done, 1 the run failed, 2 wrong use, 3 something needed is missing (a file, an index, "
    "a pipeline, an extra), 4 indexed but some files were skipped, 130 interrupted."
)
DEBUG_VARIABLE = "PREFRAG_DEBUG"


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn an error into one line and an exit code; with ``PREFRAG_DEBUG=1`` raise it with its traceback."""
    try:
        yield
    except typer.Exit:
        raise
    except (KeyboardInterrupt, typer.Abort):
        _end("Interrupted.", INTERRUPTED)
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE) == "1":
            raise
        _end(str(error) or type(error).__name__, getattr(error, "exit_code", error_kind(error).exit_code))


def _end(message: str, code: int) -> NoReturn:
    from rich.text import Text

    from prefrag.components.text.one_line import one_line
    from prefrag.service.cli.console import console

    console(stderr=True).print(Text("Error: ", "bold red") + Text(one_line(message), "red"))
    raise typer.Exit(code)
