"""Turn an error of a command into one line on stderr and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from prefrag.cli.console import console
from prefrag.components.text.one_line import one_line
from prefrag.errors import PrefragError, error_kind

# The exit code if a question was answered, or if a command has done its work. Codes 1 to 3 come from the exception
# classes.
ANSWERED = 0
# The exit code if documents were indexed, but some files were skipped.
SKIPPED = 4
# The exit code after Ctrl-C.
INTERRUPTED = 130
# All exit codes, for the end of each help text.
EXIT_CODES = (
    "Exit codes: 0 answered or done, 1 the run failed, 2 wrong use, 3 something needed is missing (a file, "
    "a collection, a pipeline, an extra), 4 indexed but some files were skipped, 130 interrupted."
)


@contextmanager
def report_errors() -> Iterator[None]:
    """Report an error in the context on a single line, and exit with its code.

    With ``PREFRAG_DEBUG=1``, the error is raised instead, so that its traceback is shown.

    :raises typer.Exit: With the exit code, after an error.
    """
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        # A program that reads the output may stop early, such as `head`. Typer then ends quietly, with code 1.
        raise
    except (KeyboardInterrupt, typer.Abort):
        print_error(PrefragError("Interrupted."))
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        # Heavy modules are imported where they are used, so that --help is instant.
        from prefrag.components.document_stores.tantivy.index_location import explain_closed_data
        from prefrag.settings import settings

        if settings.debug:
            raise
        shown = explain_closed_data(error)
        print_error(shown)
        raise typer.Exit(find_exit_code(shown)) from error


def print_error(error: Exception) -> None:
    """Print an error and its notes on a single line on stderr.

    :param error: The error. Without a message, the name of its class is printed.
    """
    from rich.text import Text

    sentences = [str(error) or type(error).__name__]
    for note in getattr(error, "__notes__", ()):
        if note.strip():
            sentences.append(note.strip())
    message = one_line(". ".join(sentences))
    console(stderr=True).print(Text("Error: ", "bold red") + Text(message, "red"))


def find_exit_code(error: Exception) -> int:
    """Return the exit code of an error.

    :param error: The error. Errors of our own classes have a code. Python's own errors for a wrong setting or something
        missing get the codes of our classes for this. All others get the code 1.
    """
    return int(getattr(error, "exit_code", error_kind(error).exit_code))
