"""Record which files of an index could not be read, and why. The record is a file in the folder of the index."""

import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from prefrag.collections.stores import is_there
from prefrag.indexing.discovery import OTHER_KIND
from prefrag.indexing.report import IndexReport

_FILE = "prefrag-skipped.json"
MOST_KEPT = 1_000


def read_skipped(index: Path) -> dict[str, str]:
    """Find the recorded reason for each file that was skipped or read only in part. Missing files are left out."""
    try:
        reasons = json.loads((index / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    texts = reasons.items() if isinstance(reasons, dict) else ()
    return {path: reason for path, reason in texts if isinstance(reason, str) and is_there(path)}


def keep_skipped(index: Path, report: IndexReport, paths: Collection[str]) -> None:
    """Record which files were skipped when ``paths`` were indexed. Earlier records of files elsewhere stay."""
    earlier = read_skipped(index)
    below = tuple(path.rstrip(os.sep) + os.sep for path in paths)
    reasons = {path: reason for path, reason in earlier.items() if path not in paths and not path.startswith(below)}
    for skip in report.read_in_part:
        reasons[skip.path] = f"read in part: {skip.reason}"
    for skip in report.skipped:
        if skip.reason != OTHER_KIND:
            reasons.setdefault(skip.path, skip.reason if skip.line is None else f"line {skip.line}: {skip.reason}")
    reasons = dict(list(reasons.items())[-MOST_KEPT:])
    if reasons == earlier:
        return
    written = index / f".{_FILE}.{os.getpid()}"
    # If the record cannot be written, go on. The index is complete without it.
    with suppress(OSError):
        written.write_text(json.dumps(reasons), encoding="utf-8")
        written.replace(index / _FILE)
