"""The errors that reach a user, each with its exit code and HTTP status.

They live in the lowest folder, so that every other one can raise them.
"""

from __future__ import annotations

import errno
from typing import TypeVar

Found = TypeVar("Found", bound=BaseException)

# The disk is full, the quota is used up, or the file is as large as the system allows.
NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


class PrefragError(Exception):
    """Report a failure to the user: the message says what happened and what to do."""

    exit_code = 1
    http_status = 500


class BadInput(PrefragError, ValueError):
    """Refuse what the user gave."""

    exit_code = 2
    http_status = 422


class Missing(PrefragError, FileNotFoundError):
    """Report that a file, an index, a pipeline or a package is absent."""

    exit_code = 3


_STANDS_FOR: dict[type[Exception], type[PrefragError]] = {
    FileNotFoundError: Missing,
    ImportError: Missing,
    ValueError: BadInput,
}


def error_kind(error: Exception) -> type[PrefragError]:
    """Map an exception to one of these classes.

    It is its own class where that is in the tree, else the one for the built-in exceptions that components raise for a
    wrong setting, an absent file or an absent package, else the root.
    """
    if isinstance(error, PrefragError):
        return type(error)
    return next((kind for builtin, kind in _STANDS_FOR.items() if isinstance(error, builtin)), PrefragError)


def find_cause(error: BaseException, kind: type[Found]) -> Found | None:
    """Find the error of a kind that is this one, or the nearest one that it was raised from."""
    link: BaseException | None = error
    while link is not None and not isinstance(link, kind):
        link = link.__cause__
    return link
