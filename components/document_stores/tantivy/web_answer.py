"""The answer whether questions may go to the web, in a file beside the settings of an index."""

from __future__ import annotations

import json
import os
from pathlib import Path

from haystack.document_stores.errors import DocumentStoreError

from prefrag.components.document_stores.tantivy.index import index_exists

# Not in the settings themselves, whose every change makes all processes open the index again.
_FILE = "prefrag-web.json"


def read_web_consent(path: Path) -> bool | None:
    """Read the answer.

    :param path: The folder of the index.
    :returns: The answer; None where there is none that can be understood.
    """
    try:
        answer = json.loads((path / _FILE).read_text(encoding="utf-8"))["web"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return answer if isinstance(answer, bool) else None


def keep_web_consent(path: Path, answer: bool) -> None:
    """Keep the answer, in place of an earlier one.

    :param path: The folder of the index.
    :param answer: Whether questions may go to the web.
    :raises DocumentStoreError: When there is no index, or the disk refuses.
    """
    if not index_exists(path):
        raise DocumentStoreError(f"There is no index in {path}: index documents first.")
    written = path / f".{_FILE}.{os.getpid()}"
    try:
        written.write_text(json.dumps({"web": answer}) + "\n", encoding="utf-8")
        written.replace(path / _FILE)
    except OSError as error:
        raise DocumentStoreError(f"Cannot write to the index {path} ({error.strerror}).") from error
