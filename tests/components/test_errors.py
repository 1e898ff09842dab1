"""The errors: the exit code and HTTP status of each, and the built-in exceptions that also catch it."""

from http import HTTPStatus

from prefrag.components.errors import BadInput, Missing, PrefragError, error_kind
from prefrag.components.generators.chat_model import ModelServerError
from prefrag.components.pair_classifier.pair_scorer import ClassifierMissing
from prefrag.components.recording import NotRecorded
from prefrag.components.state.state import RunError
from prefrag.components.text.passage_record import PassageError
from prefrag.components.trees import TreesMissing
from prefrag.indexing.file_conversion import CannotRead
from prefrag.pipelines import RunFailed
from prefrag.pipelines.loading import PipelineMissing
from tests.for_each import for_each


@for_each(
    "kind, exit_code, builtin",
    (PrefragError, 1, Exception),
    (BadInput, 2, ValueError),
    (Missing, 3, FileNotFoundError),
    (PipelineMissing, 3, FileNotFoundError),
    (PipelineMissing, 3, ValueError),
    (ClassifierMissing, 3, FileNotFoundError),
    (TreesMissing, 3, FileNotFoundError),
    (ModelServerError, 1, RuntimeError),
    (NotRecorded, 1, LookupError),
    (RunError, 1, RuntimeError),
    (RunFailed, 1, RuntimeError),
    (CannotRead, 1, Exception),
    (PassageError, 2, ValueError),
)
def test_a_failure_has_an_exit_code_and_is_caught_as_the_builtin_one(
    kind: type[PrefragError], exit_code: int, builtin: type[Exception]
):
    assert kind.exit_code == exit_code
    assert issubclass(kind, PrefragError)
    assert issubclass(kind, builtin)


@for_each(
    "kind, status",
    (PrefragError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (BadInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (RunFailed, HTTPStatus.BAD_GATEWAY),
)
def test_a_failure_has_an_http_status(kind: type[PrefragError], status: HTTPStatus):
    assert kind.http_status == status


@for_each(
    "error, kind",
    (RunFailed("The server is down.", {}), RunFailed),
    (PipelineMissing("There is none."), PipelineMissing),
    (FileNotFoundError("There is none."), Missing),
    (ModuleNotFoundError("There is none."), Missing),
    (UnicodeDecodeError("utf-8", b"", 0, 1, "no text"), BadInput),
    (PermissionError("Not yours."), PrefragError),
    (KeyError("a"), PrefragError),
)
def test_any_exception_has_its_place_in_the_tree(error: Exception, kind: type[PrefragError]):
    assert error_kind(error) is kind


def test_a_message_is_printed_as_it_was_given():
    assert str(Missing("There is no index 'a'.")) == "There is no index 'a'."
    assert str(PipelineMissing("There is no pipeline 'a'.")) == "There is no pipeline 'a'."
