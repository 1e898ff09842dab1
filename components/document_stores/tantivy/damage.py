"""Explain errors of damaged or unreadable index files.

Damaged files make tantivy panic or raise a ValueError. A panic is an error inside tantivy's Rust code. The decorator
:func:`report_damage` turns both into a DocumentStoreError that says what to do.
"""

import errno
import inspect
import os
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from haystack.document_stores.errors import DocumentStoreError

from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import cut_text

# The type of the decorated method.
Method = TypeVar("Method", bound=Callable[..., Any])

# The beginnings of tantivy's messages about damaged files.
_DAMAGE = ("An IO error occurred", "Data corrupted")
# The maximum number of characters of an error that a message quotes. An error of tantivy may repeat a whole file.
_MOST_CHARACTERS = 500
# The number of the operating system's error in an error of tantivy: 13 in "os error 13", 5 in "code: 5".
_SYSTEM_ERROR = re.compile(r"(?:os error |code: )(\d{1,5})")


def explain_failure(path: Path, error: BaseException) -> str:
    """Say why an index cannot be read, and what to do.

    :param path: The folder of the index.
    :param error: The error of the operating system or of tantivy.
    :returns: The message. It advises to make the index again only if the files are damaged. If the files cannot be
        read, for example because of their permissions, they can stay.
    """
    named_error = _SYSTEM_ERROR.search(str(error))
    number = None
    if isinstance(error, OSError):
        number = error.errno
    elif named_error:
        number = int(named_error[1])
    # A missing file (ENOENT) counts as damage.
    if number and number != errno.ENOENT:
        reason = os.strerror(number)
        return f"The index {path} cannot be read ({reason}): make its disk and its files readable. Its files can stay."
    reason = cut_text(one_line(str(error)), _MOST_CHARACTERS, "...")
    advice = "restore its files, or move the folder away and index the documents again."
    return f"The index {path} is damaged ({reason}): {advice}"


def report_damage(method: Method) -> Method:
    """Make a method of a store raise a DocumentStoreError if the files of its index are damaged.

    A panic of tantivy is a BaseException but not an `Exception`. So a caller's `except Exception` would not catch it.

    :param method: A method or a generator method of a store that has the method ``locate``.
    :returns: The method with its errors explained.
    """

    @wraps(method)
    def call(store: object, *arguments: object, **options: object) -> object:
        # For an ordinary method.
        try:
            return method(store, *arguments, **options)
        except BaseException as error:
            _raise_if_damaged(store, error)
            raise

    @wraps(method)
    def iterate(store: object, *arguments: object, **options: object) -> object:
        # For a generator method, whose errors come while its values are read.
        try:
            yield from method(store, *arguments, **options)
        except BaseException as error:
            _raise_if_damaged(store, error)
            raise

    return iterate if inspect.isgeneratorfunction(method) else call  # type: ignore[return-value]


def _raise_if_damaged(store: Any, error: BaseException) -> None:
    """Raise a DocumentStoreError if an error comes from damaged files. Do nothing for other errors."""
    # The class of a panic is compared by its name, because it cannot be imported.
    is_panic = type(error).__name__ == "PanicException"
    names_damage = isinstance(error, ValueError) and str(error).startswith(_DAMAGE)
    if is_panic or names_damage:
        raise DocumentStoreError(explain_failure(store.locate(), error)) from error
