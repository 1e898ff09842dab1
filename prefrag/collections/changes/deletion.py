"""Delete passages from an index.

:func:`delete_documents` deletes what a user names. :func:`prune` deletes the passages of files, and of lines of
corpora, that no longer exist. The files themselves are never deleted here. An unmounted drive looks like a folder of
deleted files, so pruning leaves out folders that are missing or have no files.
"""

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
from prefrag.components.text.distinct import distinct
from prefrag.errors import BadInput
from prefrag.indexing.discovery import printable, real_path
from prefrag.indexing.report import Deletion, IndexReport, OnPlan, PrunePlan, Skipped

# At most this many paths are looked up together. More would be slow, because the store compares each match with each
# path.
_PATHS_A_LOOKUP = 200


def delete_documents(targets: Iterable[str], collection: Collection | DocumentStore = LocalCollection()) -> Deletion:
    """Delete passages from a collection, or from any document store. The files themselves stay on the disk.

    :param targets: What to delete. A target is the ID of a passage, or the path of a file, a corpus or a folder. A
        folder stands for everything that was indexed below it. The path need not exist any more.
    :param collection: The collection or the document store.
    :returns: The number of deleted passages, and the targets for which no passage was found.
    :raises BadInput: If a target is empty, `.`, `..` or `/`. Then nothing is deleted.
    """
    passages = passages_of(collection, change=True)
    by_target = find_passages(passages, distinct(targets))
    ids = {passage_id for ids_of_target in by_target.values() for passage_id in ids_of_target}
    passages.delete_in_batches(ids)
    passages.finish()
    unknown = [target for target, ids_of_target in by_target.items() if not ids_of_target]
    return Deletion(len(ids), unknown)


def prune(
    collection: Collection | DocumentStore = LocalCollection(), *, on_plan: OnPlan | None = None, dry_run: bool = False
) -> IndexReport:
    """Delete the passages of files that no longer exist, and of lines that were removed from a corpus.

    - If a corpus has a line that cannot be read, all its passages stay. The line may contain any of them.
    - If a folder is missing or has no files, the passages of its files stay. A drive is probably not mounted.

    :param collection: The collection or the document store.
    :param on_plan: A function that is called with the plan before anything is deleted. None if nobody wants the plan.
    :param dry_run: Whether to delete nothing.
    :returns: A report. Its ``deleted`` is the number of deleted passages, ``pruned`` lists the missing files, and
        ``skipped`` says which corpora and folders were left out.
    """
    started = time.perf_counter()
    report = IndexReport()
    if isinstance(collection, Collection):
        # First finish interrupted uploads. Before that, an uploaded file may not be where the index expects it.
        collection.settle()
    passages = passages_of(collection, change=True)
    prune_passages(passages, report, on_plan=on_plan, dry_run=dry_run)
    passages.finish()
    report.seconds = time.perf_counter() - started
    return report


def find_passages(store: PassageStore, targets: Sequence[str]) -> dict[str, set[str]]:
    """Find the passages of each target.

    :param store: The passages.
    :param targets: The IDs of passages, and the paths of files, corpora and folders.
    :returns: The IDs of the passages, by the target.
    :raises BadInput: If a target is empty, `.`, `..` or `/`.
    """
    by_target: dict[str, set[str]] = {target: set() for target in targets}
    for passage_id in store.by_id(list(targets)):
        by_target[passage_id].add(passage_id)
    targets_without_id = [target for target in targets if not by_target[target]]
    for target in targets_without_id:
        if not _is_specific(target):
            raise BadInput(
                f"{target!r} names no document: give the id of a passage, or a path that names a file or folder. "
                "Nothing was deleted."
            )

    # The targets that are no ID, by their real paths.
    by_path: dict[str, list[str]] = {}
    for target in targets_without_id:
        by_path.setdefault(printable(real_path(target)), []).append(target)
    _add_passages(by_target, store, by_path)

    # The targets that are neither an ID nor an indexed file may be folders. If a path has several targets, all of them
    # have the same passages, so only the first is looked at.
    folders = {path: targets_of_path for path, targets_of_path in by_path.items() if not by_target[targets_of_path[0]]}
    if folders:
        # The targets to which each file in these folders belongs. A file may be in several of the folders.
        inside: dict[str, list[str]] = {}
        for _, path in store.count_origins():
            folders_above = set(map(str, Path(path or "").parents))
            for folder in folders.keys() & folders_above:
                inside.setdefault(str(path), []).extend(folders[folder])
        _add_passages(by_target, store, inside)
    return by_target


def _add_passages(by_target: dict[str, set[str]], store: PassageStore, by_path: dict[str, list[str]]) -> None:
    """Add the passages of files and corpora to targets.

    :param by_target: The IDs of the passages of each target. They are extended.
    :param store: The passages.
    :param by_path: The targets to which a file or corpus belongs, by its path.
    """
    paths = list(by_path)
    for start in range(0, len(paths), _PATHS_A_LOOKUP):
        for origin in ("file_path", "corpus"):
            for passage in store.where(origin, paths[start : start + _PATHS_A_LOOKUP]):
                for target in by_path[passage.meta[origin]]:
                    by_target[target].add(passage.id)


def _is_specific(target: str) -> bool:
    """Check that a target is not empty, `.`, `..` or the root of the file system.

    A script with an unset variable gives an empty target, which would stand for the whole working folder.
    """
    path = Path(target.strip())
    real = real_path(target.strip())
    has_name = any(part not in (".", "..") for part in path.parts)
    is_root = real == Path(real.anchor)
    return has_name and not is_root


def prune_passages(
    store: PassageStore,
    report: IndexReport,
    *,
    concerns: Callable[[str], bool] = lambda path: True,
    on_plan: OnPlan | None = None,
    dry_run: bool = False,
) -> None:
    """Prune a store as :func:`prune` does, but only the passages of some paths.

    :param store: The passages.
    :param report: The report. It is extended.
    :param concerns: A function that checks whether the passages of a path may be pruned. By default, all may.
    :param on_plan: A function that is called with the plan before anything is deleted. None if nobody wants the plan.
    :param dry_run: Whether to delete nothing.
    """
    outdated, exists = _find_outdated(store, report, concerns)

    # The passages of a missing file stay if its folder is missing or has no files. An unmounted drive looks the same.
    missing_paths = {path for _, path in outdated if not exists[path]}
    spared = _find_lost_folders(exists, missing_paths)
    for folder in sorted(set(spared.values())):
        reason = (
            "nothing in this folder was pruned, because it is missing or has no files: is a drive not mounted? If its "
            f"files are gone permanently, delete it from the index: prefrag documents delete {folder}{os.sep}"
        )
        _report_once(Skipped(folder, reason), report)
    to_delete = [(passage_id, path) for passage_id, path in outdated if path not in spared]
    if not to_delete:
        return

    missing_files = Counter(path for _, path in to_delete if not exists[path])
    shortened_corpora = Counter(path for _, path in to_delete if exists[path])
    plan = PrunePlan(dict(sorted(missing_files.items())), dict(sorted(shortened_corpora.items())))
    if on_plan is not None:
        on_plan(plan)
    if not dry_run:
        store.delete_in_batches([passage_id for passage_id, _ in to_delete])
        report.deleted += len(to_delete)
        report.pruned += [path for path in plan.gone if path not in report.pruned]


def _find_outdated(
    store: PassageStore, report: IndexReport, concerns: Callable[[str], bool]
) -> tuple[list[tuple[str, str]], dict[str, bool]]:
    """Find the passages of missing files, and of lines that are no longer in their corpus.

    Uploaded documents are left out, because they may be on another machine.

    :param store: The passages.
    :param report: The report. Corpora that cannot be read are added.
    :param concerns: A function that checks whether the passages of a path may be pruned.
    :returns: The ID and the path of each passage, and whether each indexed file or corpus exists, by its path.
    """
    outdated: list[tuple[str, str]] = []
    # Whether each file or corpus exists. Each is looked for only once.
    exists: dict[str, bool] = {}
    # The IDs that each corpus has now, by its path. None if all its passages stay.
    corpora: dict[str, np.ndarray | None] = {}
    for passage in store.all():
        kind, path = origin_of(passage)
        if path is None or path.startswith(UPLOADED):
            continue
        if path not in exists:
            exists[path] = is_there(path)
        if not concerns(path):
            continue
        if not exists[path]:
            outdated.append((passage.id, path))
        elif kind == "corpus":
            if path not in corpora:
                corpora[path] = _read_ids_to_keep(path, report)
            ids = corpora[path]
            if ids is not None and not contains_id(ids, passage.id):
                outdated.append((passage.id, path))
    return outdated, exists


def _report_once(skipped: Skipped, report: IndexReport) -> None:
    """Add what was skipped to the report, unless it is there already."""
    if skipped not in report.skipped:
        report.skipped.append(skipped)


def find_vanished(store: PassageStore, concerns: Callable[[str], bool]) -> list[str]:
    """Find the missing files whose passages :func:`prune` would delete.

    :param store: The passages.
    :param concerns: A function that checks whether the passages of a path may be pruned.
    :returns: The paths in alphabetical order.
    """
    files = [path for _, path in store.count_origins() if path is not None]
    gone = [path for path in files if concerns(path) and not is_there(path)]
    spared = _find_lost_folders(files, gone)
    return sorted(path for path in gone if path not in spared)


def select_below(paths: Iterable[str]) -> Callable[[str], bool]:
    """Make a function that checks whether a path is inside some folders, or beside some files.

    For example, if ``/a`` is a folder and ``/b/x.txt`` is a file, the function is true for ``/a/c/y.txt`` and for
    ``/b/z.txt``.

    :param paths: The folders and files. A path that does not exist counts as a file.
    :returns: The function.
    """
    # The beginnings of the paths inside the folders.
    beginnings = []
    # The folders of the files.
    folders_of_files = set()
    for path in paths:
        if os.path.isdir(path):
            beginnings.append(path.rstrip(os.sep) + os.sep)
        else:
            folders_of_files.add(os.path.dirname(path))

    folders = tuple(beginnings)

    def is_selected(path: str) -> bool:
        return path.startswith(folders) or os.path.dirname(path) in folders_of_files

    return is_selected


def _read_ids_to_keep(corpus: str, report: IndexReport) -> np.ndarray | None:
    """Read the IDs of a corpus. Return None, and report the corpus, if it is empty or cannot be read as a whole."""
    ids = read_ids(corpus, report)
    if ids is None or len(ids):
        return ids
    reason = "it was not pruned, because it is empty now: if that is intended, delete it from the index"
    _report_once(Skipped(corpus, reason), report)
    return None


def _find_lost_folders(files: Iterable[str], gone: Iterable[str]) -> dict[str, str]:
    """Return the missing files whose folder is missing or has no files, each with this folder.

    :param files: All indexed files.
    :param gone: The indexed files that are missing.
    """
    folders_of_files = {os.path.dirname(path) for path in files}
    # Whether a folder has files. Each folder is read only once.
    has_files: dict[str, bool] = {}
    lost = {}
    for path in gone:
        # All folders above the file, from the innermost to the root of the file system.
        above = [os.path.dirname(path)]
        # The root of the file system is its own parent, so the loop ends there.
        while os.path.dirname(above[-1]) != above[-1]:
            above.append(os.path.dirname(above[-1]))

        topmost = [folder for folder in above if folder in folders_of_files][-1]
        # A drive may be mounted in a folder below the topmost folder with indexed files. When the drive is unmounted,
        # that folder stays, but it is empty. So check both the topmost and the nearest folder that exists.
        nearest = next((folder for folder in above if is_there(folder)), topmost)
        for folder in (topmost, nearest):
            if folder not in has_files:
                has_files[folder] = _has_file(folder)
            if not has_files[folder]:
                lost[path] = folder
                break
    return lost


def _has_file(folder: str) -> bool:
    """Check whether a folder or one of its subfolders has a file.

    Hidden files do not count, because an unused mount point may have some. A folder that cannot be read counts as a
    folder with files.
    """
    errors: list[OSError] = []
    for _, _, names in os.walk(folder, onerror=errors.append):
        if not all(name.startswith(".") for name in names):
            return True
    could_not_be_read = any(not isinstance(error, FileNotFoundError | NotADirectoryError) for error in errors)
    return could_not_be_read
