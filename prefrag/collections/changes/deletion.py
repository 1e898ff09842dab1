"""Delete the passages that a user names, and passages whose file, or whose line in a corpus, no longer exists."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from haystack.document_stores.types import DocumentStore

from prefrag.collections.collection import Collection
from prefrag.collections.corpora import contains_id, read_ids
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.opening import passages_of
from prefrag.collections.stores import UPLOADED, PassageStore, is_there, origin_of
from prefrag.errors import BadInput
from prefrag.indexing.discovery import printable, real_path
from prefrag.indexing.report import Deletion, IndexReport, OnPlan, PrunePlan, Skipped

# The maximum number of paths in one lookup. More would be slow, because the store compares each match with each path.
_PATHS_A_LOOKUP = 200


def delete_documents(targets: Iterable[str], collection: Collection | DocumentStore = LocalCollection()) -> Deletion:
    """Delete passages from a collection, or from any document store. The files themselves stay on the disk.

    A target is the id of a passage, or the path of a file, a corpus or a folder. A folder stands for everything that
    was indexed below it. The path need not exist any more. Returns the number of deleted passages, and the targets for
    which no passage was found. Raises :class:`BadInput` and deletes nothing if a target is empty, `.`, `..` or `/`.
    """
    passages = passages_of(collection, change=True)
    by_target = find_passages(passages, list(dict.fromkeys(targets)))
    ids = set().union(*by_target.values())
    passages.delete_in_batches(ids)
    passages.finish()
    return Deletion(len(ids), [target for target, of_target in by_target.items() if not of_target])


def prune(
    collection: Collection | DocumentStore = LocalCollection(), *, on_plan: OnPlan | None = None, dry_run: bool = False
) -> IndexReport:
    """Delete the passages of files that no longer exist, and of lines that were removed from a corpus.

    If a corpus has an unreadable line, all its passages stay, because the line may contain any of them. If a folder is
    missing or has no files, the passages of its files stay, because a drive is probably not mounted. ``on_plan`` is
    called with the plan before anything is deleted. With ``dry_run``, nothing is deleted. The report counts the
    `deleted` passages, lists missing files as `pruned`, and says in `skipped` which corpora and folders were left out.
    """
    started = time.perf_counter()
    report = IndexReport()
    if isinstance(collection, Collection):
        # First finish interrupted uploads. Until then, an uploaded file is not where the index expects it.
        collection.settle()
    passages = passages_of(collection, change=True)
    prune_passages(passages, report, on_plan=on_plan, dry_run=dry_run)
    passages.finish()
    report.seconds = time.perf_counter() - started
    return report


def find_passages(store: PassageStore, targets: Sequence[str]) -> dict[str, set[str]]:
    """Find the passages of each target. A target is the id of a passage, or the path of a file, corpus or folder."""
    by_target: dict[str, set[str]] = {target: set() for target in targets}
    for passage_id in store.by_id(list(targets)):
        by_target[passage_id].add(passage_id)
    unnamed = [target for target in targets if not by_target[target] and not _is_specific(target)]
    if unnamed:
        raise BadInput(
            f"{unnamed[0]!r} names no document: give the id of a passage, or a path that names a file or folder. "
            "Nothing was deleted."
        )
    by_path: dict[str, list[str]] = {}
    for target in targets:
        if not by_target[target]:
            by_path.setdefault(printable(real_path(target)), []).append(target)
    _add_passages(by_target, store, by_path)
    folders = {path: targets_of_path for path, targets_of_path in by_path.items() if not by_target[targets_of_path[0]]}
    if folders:
        inside: dict[str, list[str]] = {}
        for _, path in store.count_origins():
            for folder in folders.keys() & map(str, Path(path or "").parents):
                inside.setdefault(str(path), []).extend(folders[folder])
        _add_passages(by_target, store, inside)
    return by_target


def _add_passages(by_target: dict[str, set[str]], store: PassageStore, by_path: dict[str, list[str]]) -> None:
    """``by_path`` maps paths of files and corpora to targets. Add the passages of each path to its targets."""
    paths = list(by_path)
    for start in range(0, len(paths), _PATHS_A_LOOKUP):
        for origin in ("file_path", "corpus"):
            for passage in store.where(origin, paths[start : start + _PATHS_A_LOOKUP]):
                for target in by_path[passage.meta[origin]]:
                    by_target[target].add(passage.id)


def _is_specific(target: str) -> bool:
    """Check that a target is not empty, `.`, `..` or the root of the file system.

    If a script uses an unset variable, the target is empty and would stand for the whole working folder.
    """
    path = Path(target.strip())
    real = real_path(target.strip())
    has_name = not set(path.parts) <= {".", ".."}
    return has_name and real != Path(real.anchor)


def prune_passages(
    store: PassageStore,
    report: IndexReport,
    *,
    concerns: Callable[[str], bool] = lambda path: True,
    on_plan: OnPlan | None = None,
    dry_run: bool = False,
) -> None:
    """Prune a store as :func:`prune` does, but only the passages of paths for which ``concerns`` returns true.

    Passages of a missing file stay if its folder is missing or has no files, because an unmounted drive looks the same.
    """
    gone: list[tuple[str, str]] = []
    files: dict[str, bool] = {}  # maps each path to whether the file or corpus exists
    corpora: dict[str, np.ndarray | None] = {}  # maps each corpus to its ids, or to None if all its passages stay
    for passage in store.all():
        kind, path = origin_of(passage)
        if path is None or path.startswith(UPLOADED):
            continue
        if path not in files:
            files[path] = is_there(path)
        if not concerns(path):
            continue
        if not files[path]:
            gone.append((passage.id, path))
        elif kind == "corpus":
            if path not in corpora:
                corpora[path] = _read_ids_to_keep(path, report)
            ids = corpora[path]
            if ids is not None and not contains_id(ids, passage.id):
                gone.append((passage.id, path))

    spared = _find_lost_folders(files, {path for _, path in gone if not files[path]})
    for folder in sorted(set(spared.values())):
        reason = (
            "nothing in this folder was pruned, because it is missing or has no files: is a drive not mounted? If its "
            f"files are gone permanently, delete it from the index: prefrag documents delete {folder}{os.sep}"
        )
        skipped = Skipped(folder, reason)
        if skipped not in report.skipped:
            report.skipped.append(skipped)
    gone = [(passage_id, path) for passage_id, path in gone if path not in spared]
    if not gone:
        return
    missing_files = Counter(path for _, path in gone if not files[path])
    shortened_corpora = Counter(path for _, path in gone if files[path])
    plan = PrunePlan(dict(sorted(missing_files.items())), dict(sorted(shortened_corpora.items())))
    if on_plan is not None:
        on_plan(plan)
    if not dry_run:
        store.delete_in_batches([passage_id for passage_id, _ in gone])
        report.deleted += len(gone)
        report.pruned += [path for path in plan.gone if path not in report.pruned]


def find_vanished(store: PassageStore, concerns: Callable[[str], bool]) -> list[str]:
    """Find the missing files whose passages :func:`prune` would delete."""
    files = [path for _, path in store.count_origins() if path is not None]
    gone = [path for path in files if concerns(path) and not is_there(path)]
    spared = _find_lost_folders(files, gone)
    return sorted(path for path in gone if path not in spared)


def select_below(paths: Iterable[str]) -> Callable[[str], bool]:
    """Make a function that checks whether a path is below a folder in ``paths``, or beside a file in ``paths``."""
    folders = tuple(path.rstrip(os.sep) + os.sep for path in paths if os.path.isdir(path))
    beside = {os.path.dirname(path) for path in paths if not os.path.isdir(path)}
    return lambda path: path.startswith(folders) or os.path.dirname(path) in beside


def _read_ids_to_keep(corpus: str, report: IndexReport) -> np.ndarray | None:
    ids = read_ids(corpus, report)
    if ids is None or len(ids):
        return ids
    reason = "it was not pruned, because it is empty now: if that is intended, delete it from the index"
    skipped = Skipped(corpus, reason)
    if skipped not in report.skipped:
        report.skipped.append(skipped)
    return None


def _find_lost_folders(files: Iterable[str], gone: Iterable[str]) -> dict[str, str]:
    """Find the missing files whose folder is missing or has no files. Returns this folder for each file."""
    holders = {os.path.dirname(path) for path in files}
    holds: dict[str, bool] = {}
    lost = {}
    for path in gone:
        above = [os.path.dirname(path)]
        # The root of the file system is above itself.
        while os.path.dirname(above[-1]) != above[-1]:
            above.append(os.path.dirname(above[-1]))
        root = next(folder for folder in reversed(above) if folder in holders)
        # A drive may be mounted in a folder below `root`, the topmost folder of indexed files. When it is unmounted,
        # that folder stays, but is empty. So check both `root` and the nearest folder that exists.
        nearest = next((folder for folder in above if is_there(folder)), root)
        for folder in (root, nearest):
            if folder not in holds:
                holds[folder] = _holds_file(folder)
            if not holds[folder]:
                lost[path] = folder
                break
    return lost


def _holds_file(folder: str) -> bool:
    # Ignore hidden files, because an unused mount point may have some. If a folder cannot be listed, it may have files.
    errors: list[OSError] = []
    for _, _, names in os.walk(folder, onerror=errors.append):
        if not all(name.startswith(".") for name in names):
            return True
    return not all(isinstance(error, FileNotFoundError | NotADirectoryError) for error in errors)
