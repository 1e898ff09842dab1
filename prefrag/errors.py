"""The errors that reach a user, each with an exit code for the command line and an HTTP status for the server.

All other modules may import this module. The message of such an error says what happened and what the user can do.
"""

import errno
from typing import TypeVar

# The class of the error that `find_cause` looks for.
Found = TypeVar("Found", bound=BaseException)

# The numbers of the system errors for a full disk, a used-up quota, and a file that is as large as the system allows.
NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


class PrefragError(Exception):
    """The base class of errors that the user sees. The message says what happened and what to do.

    :param exit_code: The exit code of a command that ends with this error.
    :param http_status: The HTTP status of the server's reply.
    """

    exit_code = 1
    http_status = 500


class BadInput(PrefragError, ValueError):
    """Raised for input that the user has to correct."""

    exit_code = 2
    http_status = 422


class Missing(PrefragError, FileNotFoundError):
    """Raised when a file, an index, a pipeline or a package is missing."""

    exit_code = 3


# The class of this module that stands for a built-in exception.
_STANDS_FOR: dict[type[Exception], type[PrefragError]] = {
    FileNotFoundError: Missing,
    ImportError: Missing,
    ValueError: BadInput,
}


def error_kind(error: Exception) -> type[PrefragError]:
    """Find the class of this module that stands for an exception.

    For example, ``error_kind(ImportError())`` returns :class:`Missing`.

    :param error: The exception.
    :returns: For a :class:`PrefragError`, its own class. For a ``ValueError``, a ``FileNotFoundError`` or an
        ``ImportError``, :class:`BadInput` or :class:`Missing`. For all others, :class:`PrefragError`.
    """
    if isinstance(error, PrefragError):
        return type(error)
    for builtin, kind in _STANDS_FOR.items():
        if isinstance(error, builtin):
            return kind
    return PrefragError


def find_cause(error: BaseException, kind: type[Found]) -> Found | None:
    """Find an error of a class among an error and its causes.

    :param error: The error. Its causes are the errors that ``raise ... from`` names.
    :param kind: The class to look for.
    :returns: The error itself or its nearest cause of this class; None if there is none.
    """
    link: BaseException | None = error
    seen: set[int] = set()
    # An error that was raised a second time may be one of its own causes, so the chain may be a loop.
    while link is not None and id(link) not in seen:
        if isinstance(link, kind):
            return link
        seen.add(id(link))
        link = link.__cause__
    return None
