"""How a command ends: one line on stderr, and the exit code of the failure."""

from __future__ import annotations

import errno

import pytest
import typer
from typer.testing import CliRunner

from prefrag.cli.errors import report_errors
from prefrag.components.errors import PrefragError
from prefrag.pipelines import RunFailed
from prefrag.pipelines.loading import PipelineMissing


def end(error: BaseException) -> tuple[int, str]:
    """The exit code and what stands on stderr after a command raised an error."""
    app = typer.Typer()

    @app.command()
    @report_errors()
    def command() -> None:
        raise error

    result = CliRunner().invoke(app)
    assert result.stdout == ""
    return result.exit_code, " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PipelineMissing("There is none."), 3),
        (RunFailed("The server is down.", {}), 1),
        (RunFailed("The filters do not fit.", {}, http_status=422), 2),
        (FileNotFoundError("There is no file."), 3),
        (ImportError("It needs an extra."), 3),
        (ValueError("It is too large."), 2),
        (OSError("The disk is full."), 1),
    ],
)
def test_an_error_is_one_line_and_a_code(error: Exception, code: int):
    assert end(error) == (code, f"Error: {error}")


def test_an_error_without_a_message_is_named():
    assert end(PrefragError()) == (1, "Error: PrefragError")


def test_a_message_of_several_lines_is_printed_as_one():
    assert end(ValueError("first\n  second")) == (2, "Error: first second")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort()], ids=["at work", "at a question"])
def test_an_interrupted_command_ends_with_130(error: BaseException):
    assert end(error) == (130, "Error: Interrupted.")


def test_a_reader_that_leaves_early_is_no_error_to_report():
    assert end(BrokenPipeError(errno.EPIPE, "Broken pipe")) == (1, "")


def test_an_exit_code_of_the_command_itself_stays():
    assert end(typer.Exit(4)) == (4, "")


def test_debug_lets_the_traceback_through(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_DEBUG", "1")

    with pytest.raises(ValueError, match="too large"), report_errors():
        raise ValueError("It is too large.")
