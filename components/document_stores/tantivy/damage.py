"""Report damaged index files, which make tantivy panic or raise a ValueError."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from haystack.document_stores.errors import DocumentStoreError

Method = TypeVar("Method", bound=Callable[..., Any])

_DAMAGE = ("An IO error occurred", "Data corrupted")


def report_damage(method: Method) -> Method:
    """Make a method of a store raise a DocumentStoreError if the files of its index are damaged.

    A panic of tantivy is a BaseException, but not an `Exception`: a caller's `except Exception` would not catch it.
    """

    @wraps(method)
    def call(store: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return method(store, *arguments, **options)
        except BaseException as error:
            _raise_if_damaged(store, error)
            raise

    @wraps(method)
    def iterate(store: Any, *arguments: Any, **options: Any) -> Any:
        try:
            yield from method(store, *arguments, **options)
        except BaseException as error:
            _raise_if_damaged(store, error)
            raise

    return iterate if inspect.isgeneratorfunction(method) else call  # type: ignore[return-value]


def _raise_if_damaged(store: Any, error: BaseException) -> None:
    # The class is compared by its name, because it cannot be imported.
    is_panic = type(error).__name__ == "PanicException"
    if is_panic or (isinstance(error, ValueError) and str(error).startswith(_DAMAGE)):
        raise DocumentStoreError(
            f"The index {store._path()} is damaged ({error}): delete the folder and index the documents again."
        ) from error
