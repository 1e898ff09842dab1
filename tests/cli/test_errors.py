"""How a failed command ends: one line on stderr, and the exit code of the failure."""

import errno

import pytest
import typer
from typer.testing import CliRunner

from prefrag.cli.errors import report_errors
from prefrag.errors import PrefragError
from prefrag.pipelines import RunFailed
from prefrag.pipelines.loading import PipelineMissing
from tests.for_each import for_each


def end(error: BaseException) -> tuple[int, str]:
    """The exit code and the text on stderr after a command raised an error."""
    app = typer.Typer()

    @app.command()
    @report_errors()
    def command() -> None:
        raise error

    result = CliRunner().invoke(app)
    assert result.stdout == ""
    return result.exit_code, " ".join(result.stderr.split())


@for_each(
    "error, code, line",
    (PipelineMissing("There is none."), 3, "Error: There is none."),
    (RunFailed("The server is down.", {}), 1, "Error: The server is down."),
    (RunFailed("The filters do not fit.", {}, http_status=422), 2, "Error: The filters do not fit."),
    (FileNotFoundError("There is no file."), 3, "Error: There is no file."),
    (ImportError("It needs an extra."), 3, "Error: It needs an extra."),
    (ValueError("It is too large."), 2, "Error: It is too large."),
    (OSError("The disk is full."), 1, "Error: The disk is full."),
    pytest.param(PrefragError(), 1, "Error: PrefragError", id="without a message"),
    pytest.param(ValueError("first\n  second"), 2, "Error: first second", id="of several lines"),
    pytest.param(KeyboardInterrupt(), 130, "Error: Interrupted.", id="interrupted at work"),
    pytest.param(typer.Abort(), 130, "Error: Interrupted.", id="interrupted at a question"),
    pytest.param(BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, "", id="a reader that leaves early"),
    pytest.param(typer.Exit(4), 4, "", id="an exit code of the command itself"),
)
def test_an_error_is_one_line_and_a_code(error: BaseException, code: int, line: str):
    assert end(error) == (code, line)


def test_debug_lets_the_traceback_through(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_DEBUG", "1")

    with pytest.raises(ValueError, match="too large"), report_errors():
        raise ValueError("It is too large.")
