"""Update an index after changes in a folder. Files on a drive that is no longer mounted stay in the index."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from prefrag.collections.changes.deletion import delete_documents, select_below
from prefrag.collections.indexing import index
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import is_there
from prefrag.indexing.discovery import OTHER_KIND, is_corpus, printable, real_path
from prefrag.indexing.report import IndexReport, OnProgress
from prefrag.settings import settings

# Maps the path of each mount point to its device and inode, which change when the drive is unmounted.
Drives = Mapping[str, tuple[int, int]]


def find_drives(folder: Path) -> Drives:
    """Find the mount points below a folder. The folder itself is included, even if no drive is mounted there."""
    with os.scandir(folder):
        below = [place for place, _, _ in os.walk(folder) if os.path.ismount(place)]
    return {place: _device_and_inode(place) for place in {str(folder), *below}}


def is_mounted(drive: str, drives: Drives) -> bool:
    """Check whether a mount point has the same drive as when ``drives`` was made, and can be read."""
    try:
        with os.scandir(drive):
            return _device_and_inode(drive) == drives[drive]
    except OSError:
        return False


def follow_changes(
    collection: LocalCollection,
    folder: Path,
    changed: Iterable[str],
    drives: Drives,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Index the new and changed files of a folder, and delete missing files from the index.

    ``changed`` lists the paths of new, changed and missing files. If the folder itself is in this list, all its files
    are checked for changes. Links that lead out of the folder are followed only if `PREFRAG_FOLLOW_LINKS` is on. The
    files of a drive that is no longer mounted stay in the index. The report leaves out files of unsupported kinds.
    Raises FileNotFoundError if a file disappears during the call. Then call this again.
    """
    listed = sorted(set(changed))
    there = [path for path in listed if os.path.exists(path)]
    gone = [path for path in listed if not is_there(path)]
    report = IndexReport()
    if there:
        is_whole = str(folder) in there
        may_lack_passages = _holds_known_file(collection, folder) if is_whole else any(map(_is_corpus, there))
        prunes = may_lack_passages and all(is_mounted(drive, drives) for drive in drives)
        links = settings.follow_links
        report = index(there, collection, prune=prunes, on_progress=on_progress, top=folder, links=links)
        if is_whole and not links:
            outside = _read_through(report.left_links, collection, folder)
            if outside:
                report.unlinked = delete_documents(outside, collection).passages
                report.deleted += report.unlinked
        report.skipped = [skip for skip in report.skipped if skip.reason != OTHER_KIND]
    # Check the drives only now: a drive that is still mounted was also mounted when its files were looked for above.
    lost = tuple(drive.rstrip(os.sep) + os.sep for drive in drives if not is_mounted(drive, drives))
    below = select_below([str(folder)])
    # A path that leads out of the folder through a link is not deleted from the index.
    places = [printable(real_path(path)) for path in gone]
    outdated = [place for place in places if below(place) and not f"{place}{os.sep}".startswith(lost)]
    if outdated:
        report.deleted += delete_documents(outdated, collection).passages
    return report


def _read_through(links: Iterable[str], collection: LocalCollection, folder: Path) -> list[str]:
    """List the indexed files to which links lead out of the folder: an earlier version followed all links."""
    targets = set(links)
    if not targets:
        return []
    is_inside = select_below([str(folder), str(real_path(collection.uploads))])
    outside = [path for _, path in collection.passages().count_origins() if path and not is_inside(path)]
    return [path for path in outside if targets.intersection(map(str, (path, *Path(path).parents)))]


def _device_and_inode(folder: str) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _is_corpus(path: str) -> bool:
    # A changed corpus may need pruning, because some of its lines may have been removed.
    return os.path.isfile(path) and is_corpus(Path(path))


def _holds_known_file(collection: LocalCollection, folder: Path) -> bool:
    """Check whether any indexed file of the folder exists. If not, another drive, or none, may now be mounted there."""
    below = select_below([str(folder)])
    paths = [path for _, path in collection.passages().count_origins() if path and below(path)]
    return any(map(is_there, paths))
