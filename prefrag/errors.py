"""The errors that reach a user, each with its exit code and HTTP status.

They are in ``components``, because all other folders may import from that folder.
"""

import errno
from typing import TypeVar

Found = TypeVar("Found", bound=BaseException)

# The error numbers for a full disk, a used-up quota, and a file as large as the system allows.
NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


class PrefragError(Exception):
    """The base class of errors that the user sees. The message says what happened and what to do."""

    exit_code = 1
    http_status = 500


class BadInput(PrefragError, ValueError):
    """The error for input that the user has to correct."""

    exit_code = 2
    http_status = 422


class Missing(PrefragError, FileNotFoundError):
    """The error when a file, an index, a pipeline or a package is missing."""

    exit_code = 3


_STANDS_FOR: dict[type[Exception], type[PrefragError]] = {
    FileNotFoundError: Missing,
    ImportError: Missing,
    ValueError: BadInput,
}


def error_kind(error: Exception) -> type[PrefragError]:
    """Find the class of this module that represents an exception.

    A :class:`PrefragError` keeps its own class. Built-in exceptions for a wrong setting, a missing file or a missing
    package become :class:`BadInput` or :class:`Missing`. All others become :class:`PrefragError`.
    """
    if isinstance(error, PrefragError):
        return type(error)
    return next((kind for builtin, kind in _STANDS_FOR.items() if isinstance(error, builtin)), PrefragError)


def find_cause(error: BaseException, kind: type[Found]) -> Found | None:
    """Find an error of the class ``kind``: the error itself, or the nearest of its causes."""
    link: BaseException | None = error
    seen: set[int] = set()
    # An error that was raised a second time may be among its own causes.
    while link is not None and id(link) not in seen:
        if isinstance(link, kind):
            return link
        seen.add(id(link))
        link = link.__cause__
    return None
