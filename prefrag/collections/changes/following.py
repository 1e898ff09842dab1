"""Update an index after changes in a folder.

The command `prefrag FOLDER` calls :func:`follow_changes` when files in the folder have changed. A file on a drive that
is no longer mounted looks like a deleted file, but it must stay in the index. So the mount points below the folder are
noted at the beginning.
"""

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

# The device and the inode of each mount point, by its path. They change when the drive is unmounted.
Drives = Mapping[str, tuple[int, int]]


def find_drives(folder: Path) -> Drives:
    """Find the mount points below a folder.

    :param folder: The folder.
    :returns: The mount points. The folder itself is always one of them, even if no drive is mounted there.
    :raises OSError: If the folder cannot be read.
    """
    with os.scandir(folder):
        mount_points = {place for place, _, _ in os.walk(folder) if os.path.ismount(place)}
    mount_points.add(str(folder))
    return {place: _device_and_inode(place) for place in mount_points}


def is_mounted(drive: str, drives: Drives) -> bool:
    """Check whether a mount point can be read, and still has the same drive.

    :param drive: The path of the mount point.
    :param drives: The mount points that :func:`find_drives` found earlier.
    :returns: Whether the same drive is mounted.
    """
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

    Links that lead out of the folder are followed only if `PREFRAG_FOLLOW_LINKS` is on. The files of a drive that is no
    longer mounted stay in the index.

    :param collection: The collection of the folder.
    :param folder: The folder.
    :param changed: The paths of new, changed and missing files. If the folder itself is in this list, all its files are
        checked for changes.
    :param drives: The mount points that :func:`find_drives` found earlier.
    :param on_progress: A function that is called after every write and every file. None if nobody wants the progress.
    :returns: A report of what was done, without the files of kinds that are not read.
    :raises FileNotFoundError: If a file disappears during the call. Then call this function again.
    """
    listed = sorted(set(changed))
    existing = [path for path in listed if os.path.exists(path)]
    gone = [path for path in listed if not is_there(path)]
    report = IndexReport()

    if existing:
        checks_all_files = str(folder) in existing
        if checks_all_files:
            may_be_pruned = _holds_known_file(collection, folder)
        else:
            # Only a corpus needs pruning, because lines of it may have been removed.
            may_be_pruned = any(_is_corpus(path) for path in existing)
        # The files of a lost drive look like deleted files.
        prunes = may_be_pruned and all(is_mounted(drive, drives) for drive in drives)
        links = settings.follow_links
        report = index(existing, collection, prune=prunes, on_progress=on_progress, top=folder, links=links)
        if checks_all_files and not links:
            read_through_links = _read_through(report.left_links, collection, folder)
            if read_through_links:
                report.unlinked = delete_documents(read_through_links, collection).passages
                report.deleted += report.unlinked
        report.skipped = [skip for skip in report.skipped if skip.reason != OTHER_KIND]

    # Check the drives only now. A drive that is still mounted now was also mounted when its files were looked for
    # above.
    lost_drives = [drive for drive in drives if not is_mounted(drive, drives)]
    lost_beginnings = tuple(drive.rstrip(os.sep) + os.sep for drive in lost_drives)
    is_below = select_below([str(folder)])
    outdated = []
    for path in gone:
        # A missing file is deleted from the index only if its real path is below the folder.
        place = printable(real_path(path))
        is_on_lost_drive = f"{place}{os.sep}".startswith(lost_beginnings)
        if is_below(place) and not is_on_lost_drive:
            outdated.append(place)
    if outdated:
        report.deleted += delete_documents(outdated, collection).passages
    return report


def _read_through(links: Iterable[str], collection: LocalCollection, folder: Path) -> list[str]:
    """Return the indexed files that an earlier version read through links. That version followed all links.

    :param links: The places outside the folder to which links in the folder lead.
    :param collection: The collection of the folder.
    :param folder: The folder.
    """
    targets = set(links)
    if not targets:
        return []

    is_inside = select_below([str(folder), str(real_path(collection.uploads))])
    read_through_links = []
    for _, path in collection.passages().count_origins():
        if path and not is_inside(path):
            # A link may lead to the file or to a folder above it.
            places = {path, *map(str, Path(path).parents)}
            if targets & places:
                read_through_links.append(path)
    return read_through_links


def _device_and_inode(folder: str) -> tuple[int, int]:
    """Return two numbers that tell which drive is mounted in a folder."""
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _is_corpus(path: str) -> bool:
    """Check whether a file is a corpus. A changed corpus may need pruning, because lines may have been removed."""
    return os.path.isfile(path) and is_corpus(Path(path))


def _holds_known_file(collection: LocalCollection, folder: Path) -> bool:
    """Check whether any indexed file of the folder exists.

    If none exists, the drive may be unmounted, or another drive may be mounted there.
    """
    is_below = select_below([str(folder)])
    paths = [path for _, path in collection.passages().count_origins() if path and is_below(path)]
    return any(is_there(path) for path in paths)
