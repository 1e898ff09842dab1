"""Record which files of an index could not be read, and why.

The record is a JSON file in the folder of the index. A collection shows it to users who look for a missing document.
"""

import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from prefrag.collections.stores import is_there
from prefrag.indexing.discovery import OTHER_KIND
from prefrag.indexing.report import IndexReport

# The name of the record.
_FILE = "prefrag-skipped.json"
# The record has at most this many files. The files that were added last stay.
MOST_KEPT = 1_000


def read_skipped(index: Path) -> dict[str, str]:
    """Read why files were skipped or read only in part.

    :param index: The folder of the index.
    :returns: The reasons by the paths of the files. Files that no longer exist are left out.
    """
    try:
        content = json.loads((index / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    reasons = {path: reason for path, reason in content.items() if isinstance(reason, str)}
    return {path: reason for path, reason in reasons.items() if is_there(path)}


def keep_skipped(index: Path, report: IndexReport, paths: Collection[str]) -> None:
    """Record which files were skipped. Earlier reasons for files outside ``paths`` stay.

    :param index: The folder of the index.
    :param report: The report of the indexing.
    :param paths: The files and folders that were indexed.
    """
    earlier = read_skipped(index)
    below = tuple(path.rstrip(os.sep) + os.sep for path in paths)
    reasons = {}
    for path, reason in earlier.items():
        was_indexed = path in paths or path.startswith(below)
        if not was_indexed:
            reasons[path] = reason
    for skip in report.read_in_part:
        reasons[skip.path] = f"read in part: {skip.reason}"
    for skip in report.skipped:
        if skip.reason != OTHER_KIND:
            reason = skip.reason if skip.line is None else f"line {skip.line}: {skip.reason}"
            reasons.setdefault(skip.path, reason)
    # If there are too many reasons, the earliest are dropped.
    newest_reasons = dict(list(reasons.items())[-MOST_KEPT:])
    if newest_reasons == earlier:
        return

    draft = index / f".{_FILE}.{os.getpid()}"
    # If the record cannot be written, go on. The index is complete without the record.
    with suppress(OSError):
        draft.write_text(json.dumps(newest_reasons), encoding="utf-8")
        draft.replace(index / _FILE)
