"""Bring an index in step with what has changed in a folder; files on a drive that is gone stay in the index."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from prefrag.indexing import index
from prefrag.indexing.deletion import delete_documents, select_below
from prefrag.indexing.discovery import OTHER_KIND, is_corpus, printable, real_path
from prefrag.indexing.report import IndexReport, OnProgress
from prefrag.indexing.stores import is_there, open_passages

# The device and inode of each drive's folder; the empty folder that a drive was mounted on has others.
Drives = Mapping[str, tuple[int, int]]


def find_drives(folder: Path) -> Drives:
    """Find a folder and the drives that are mounted below it."""
    with os.scandir(folder):
        below = [each for each, _, _ in os.walk(folder) if os.path.ismount(each)]
    return {each: _recognise(each) for each in {str(folder), *below}}


def is_mounted(drive: str, drives: Drives) -> bool:
    """Check whether a drive is still the same, and can be read."""
    try:
        with os.scandir(drive):
            return _recognise(drive) == drives[drive]
    except OSError:
        return False


def follow_changes(
    collection: str, folder: Path, changed: Iterable[str], drives: Drives, on_progress: OnProgress | None = None
) -> IndexReport:
    """Index what is new or has changed below a folder, then delete what is gone.

    The folder itself among ``changed`` stands for everything in it. Nothing is deleted below a drive that is gone, and
    files of kinds that are not read are not reported. Raises FileNotFoundError if a file vanishes meanwhile; the same
    call again does the rest.
    """
    listed = sorted(set(changed))
    there = [path for path in listed if os.path.exists(path)]
    gone = [path for path in listed if not is_there(path)]
    report = IndexReport()
    if there:
        is_whole = str(folder) in there
        prunes = _holds_known_file(collection, folder) if is_whole else any(map(_is_corpus, there))
        prunes = prunes and all(is_mounted(drive, drives) for drive in drives)
        report = index(there, index=collection, prune=prunes, on_progress=on_progress, top=folder)
        report.skipped = [each for each in report.skipped if each.reason != OTHER_KIND]
    # Checked last: a drive that is there now was also there when its files were searched for.
    lost = tuple(drive.rstrip(os.sep) + os.sep for drive in drives if not is_mounted(drive, drives))
    below = select_below([str(folder)])
    # A link may lead out of the folder: files there are not deleted from the index with the link.
    real = {path: printable(real_path(path)) for path in gone}
    if outdated := [each for each in real.values() if below(each) and not f"{each}{os.sep}".startswith(lost)]:
        report.deleted += delete_documents(outdated, index=collection).passages
    return report


def _recognise(folder: str) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _is_corpus(path: str) -> bool:
    # Single lines of a corpus may disappear, so a corpus that is still there may need pruning.
    return os.path.isfile(path) and is_corpus(Path(path))


def _holds_known_file(collection: str, folder: Path) -> bool:
    """Check whether any indexed file is still there: if not, another drive may have taken the place of the folder."""
    below = select_below([str(folder)])
    known = [path for _, path in open_passages("tantivy", collection).count_origins() if path and below(path)]
    return any(map(is_there, known))
