"""Where the passages of an index come from."""

from __future__ import annotations

import os

from haystack import Document


def origin_of(passage: Document) -> tuple[str, str | None]:
    """Tell where a passage comes from.

    :param passage: A passage of an index.
    :returns: `file` or `corpus` with its path, or `other` with None for what indexing did not bring.
    """
    if path := passage.meta.get("file_path"):
        return "file", str(path)
    if path := passage.meta.get("corpus"):
        return "corpus", str(path)
    return "other", None


def is_there(path: str) -> bool:
    """Tell whether a file or folder exists.

    :param path: Its path.
    :returns: False only when it is certain that it does not.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # A folder that may not be entered, or a server that does not answer, says nothing about the file.
        return True
    return True
