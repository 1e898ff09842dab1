"""Find out where the passages of an index come from."""

from __future__ import annotations

import os

from haystack import Document

# The metadata that names the origin of a passage, and what it is called.
ORIGIN_FIELDS = {"file_path": "file", "corpus": "corpus"}


def origin_of(passage: Document) -> tuple[str, str | None]:
    """Find the origin of a passage."""
    for field, kind in ORIGIN_FIELDS.items():
        if path := passage.meta.get(field):
            return kind, str(path)
    return "other", None


def is_there(path: str) -> bool:
    """Check whether a file or folder exists."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # An unreadable folder or an unreachable server does not show that the file is gone.
        return True
    return True
