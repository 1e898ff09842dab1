"""Find the passages that a user wants to delete."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from prefrag.components.errors import BadInput
from prefrag.indexing.discovery import printable, real_path
from prefrag.indexing.origin import origin_of
from prefrag.indexing.stores import PassageStore


def find_passages(store: PassageStore, targets: Sequence[str]) -> dict[str, set[str]]:
    """Find the passages that are named by their ids, files, corpora or folders."""
    found: dict[str, set[str]] = {target: set() for target in targets}
    for passage_id in store.by_id(list(targets)):
        found[passage_id].add(passage_id)
    if unnamed := [target for target in targets if not found[target] and not _names_something(target)]:
        raise BadInput(
            f"{unnamed[0]!r} names no document: give the id of a passage, or the path of a file or folder by its name. "
            "Nothing was deleted."
        )
    by_path: dict[str, list[str]] = {}
    for target in targets:
        if not found[target]:
            by_path.setdefault(printable(real_path(target)), []).append(target)
    for origin in ("file_path", "corpus"):
        for passage in store.where(origin, list(by_path)):
            for target in by_path[passage.meta[origin]]:
                found[target].add(passage.id)
    folders = {path.rstrip(os.sep) + os.sep: known for path, known in by_path.items() if not found[known[0]]}
    if folders:
        for passage in store.all():
            path = origin_of(passage)[1] or ""
            for folder in filter(path.startswith, folders):
                for target in folders[folder]:
                    found[target].add(passage.id)
    return found


def _names_something(target: str) -> bool:
    """Check whether a target is more than the working folder, its parents, or the root of the file system.

    An unset variable in a script is an empty text, which would be the working folder.
    """
    real = real_path(target.strip())
    return bool(set(Path(target.strip()).parts) - {".", ".."}) and real != Path(real.anchor)
