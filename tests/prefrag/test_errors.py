"""The errors: the exit code and HTTP status of each, and the built-in exceptions that also catch it."""

from http import HTTPStatus

from prefrag.components.generators.chat_model import ModelServerError
from prefrag.components.pair_classifier.pair_scorer import ClassifierMissing
from prefrag.components.recording import NotRecorded
from prefrag.components.state.state import RunError
from prefrag.components.text.passage_record import PassageError
from prefrag.components.trees import TreesMissing
from prefrag.errors import BadInput, Missing, PrefragError, error_kind, find_cause
from prefrag.indexing.file_conversion import CannotRead
from prefrag.pipelines import RunFailed
from prefrag.pipelines.loading import PipelineMissing
from tests.for_each import for_each


@for_each(
    "kind, exit_code, status, builtin",
    (PrefragError, 1, HTTPStatus.INTERNAL_SERVER_ERROR, Exception),
    (BadInput, 2, HTTPStatus.UNPROCESSABLE_ENTITY, ValueError),
    (Missing, 3, None, FileNotFoundError),
    (PipelineMissing, 3, None, FileNotFoundError),
    (PipelineMissing, 3, None, ValueError),
    (ClassifierMissing, 3, None, FileNotFoundError),
    (TreesMissing, 3, None, FileNotFoundError),
    (ModelServerError, 1, None, RuntimeError),
    (NotRecorded, 1, None, LookupError),
    (RunError, 1, None, RuntimeError),
    (RunFailed, 1, HTTPStatus.BAD_GATEWAY, RuntimeError),
    (CannotRead, 1, None, Exception),
    (PassageError, 2, None, ValueError),
)
def test_failures_have_a_code_a_status_and_a_builtin_kind(
    kind: type[PrefragError], exit_code: int, status: HTTPStatus | None, builtin: type[Exception]
):
    assert kind.exit_code == exit_code
    assert status is None or kind.http_status == status
    assert issubclass(kind, PrefragError)
    assert issubclass(kind, builtin)
    for printed in (Missing, PipelineMissing):
        assert str(printed("There is no collection 'a'.")) == "There is no collection 'a'.", "as it was given"


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


def test_a_cause_is_looked_for_once_in_a_circle_of_causes():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first

    assert find_cause(first, OSError) is None
    assert find_cause(second, ValueError) is second
