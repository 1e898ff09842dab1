"""Delete passages whose origin is gone from an index."""

from __future__ import annotations

import os

import numpy as np

from prefrag.pipelines.indexing.origin import is_there, origin_of
from prefrag.pipelines.indexing.passage_ids import contains_id, read_ids
from prefrag.pipelines.indexing.report import IndexReport, Skipped
from prefrag.pipelines.indexing.stores import PassageStore


def prune_passages(store: PassageStore, report: IndexReport) -> None:
    """Delete the passages of files that no longer exist and of lines that left a corpus.

    :param store: The index.
    :param report: The report to which deleted passages and unreadable corpora are added.
    """
    gone: list[str] = []
    pruned: set[str] = set()
    # Whether each file exists; the ids of each corpus, None when they cannot be read.
    files: dict[str, bool] = {}
    corpora: dict[str, np.ndarray | None] = {}
    for passage in store.all():
        kind, path = origin_of(passage)
        if path is None:
            continue
        if path not in files:
            files[path] = is_there(path)
        if not files[path]:
            gone.append(passage.id)
            pruned.add(path)
        elif kind == "corpus":
            if path not in corpora:
                corpora[path] = read_ids(path, report)
            known = corpora[path]
            if known is not None and not contains_id(known, passage.id):
                gone.append(passage.id)
    if pruned and (missing := _missing_root(files)):
        reason = (
            "nothing is pruned, because the folder of all indexed files is not there: is a drive not mounted? If the "
            "files are gone permanently, delete this folder from the index"
        )
        report.skipped.append(Skipped(missing, reason))
        return
    store.delete_in_batches(gone)
    report.deleted += len(gone)
    report.pruned += sorted(pruned - set(report.pruned))


def _missing_root(files: dict[str, bool]) -> str | None:
    """Find the common folder of all files when it is missing too."""
    if any(files.values()):
        return None
    try:
        root = os.path.commonpath([os.path.dirname(path) for path in files])
    except ValueError:
        # The files are on several Windows drives.
        return None
    return None if is_there(root) else root
