"""Index uploaded files in a single commit.

:func:`add_uploads` first converts all files and collects the changes to the index in memory (:class:`PendingChanges`).
Then it makes all changes in one step. So a search never finds only a part of an upload.
"""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from haystack import Document

from prefrag.collections.changes.uploaded_files import list_arrived
from prefrag.collections.collection import PATH_FIELDS, Collection
from prefrag.collections.corpora import index_corpus, readable_ids
from prefrag.collections.files import index_files
from prefrag.collections.stores import ORIGIN_FIELDS, PassageStore, origin_of
from prefrag.indexing.discovery import FoundFile, find_files
from prefrag.indexing.report import IndexReport, Skipped, Tally


def add_uploads(collection: Collection, incoming: Path, language: str | None = None) -> IndexReport:
    """Index the uploaded files in a folder. If this fails, nothing changes.

    If a file cannot be read, the file is skipped, and an earlier upload with the same name stays.

    :param collection: The collection.
    :param incoming: The folder, which `make_incoming` made.
    :param language: The language of the stemmer of a new collection. None means English.
    :returns: A report of what was indexed and what was skipped.
    :raises Busy: If somebody else is changing the documents of the collection for too long.
    :raises DocumentStoreError: If the store fails.
    """
    report = IndexReport()
    with collection.change() as changes:
        with closing(changes.open()) as stored:
            pending = PendingChanges(stored)
            files = _collect(pending, incoming, changes.folder, report)
        if not files:
            return report
        refused = changes.make(
            added={file.path.name: file.source or file.path for file in files},
            written=pending.written.values(),
            outdated=pending.outdated,
            language=language,
        )

    _report_refused(refused, pending.written, report)
    paths = [str(file.path) for file in files]
    collection.keep_skipped(IndexReport(read_in_part=report.read_in_part), paths)
    return report


def _report_refused(refused: Mapping[str, str], written: Mapping[str, Document], report: IndexReport) -> None:
    """Correct a report by the passages that the store refused.

    :param refused: The reasons why passages were refused, by their IDs.
    :param written: The passages that were to be written, by their IDs.
    :param report: The report.
    """
    if not refused:
        return
    # The IDs of the passages to write, by the path of their file or corpus.
    ids_by_path: dict[str, list[str]] = {}
    for passage_id, passage in written.items():
        _, path = origin_of(passage)
        ids_by_path.setdefault(str(path), []).append(passage_id)

    for path, ids in ids_by_path.items():
        refused_ids = [passage_id for passage_id in ids if passage_id in refused]
        if not refused_ids:
            continue
        first = refused_ids[0]
        # If a passage of a file is refused, the whole file is left out. Of a corpus, only the passage is left out.
        is_file = "file_path" in written[first].meta
        report.written -= len(ids) if is_file else len(refused_ids)
        reason = f"the store refused {len(refused_ids)} of its passages ({refused[first]})"
        report.skipped.append(Skipped(path, reason))


def _collect(pending: PendingChanges, incoming: Path, folder: Path, report: IndexReport) -> list[FoundFile]:
    """Convert the uploaded files in a folder, and collect the changes to the index.

    :param pending: The changes. They are extended.
    :param incoming: The folder with the uploaded files.
    :param folder: The folder in which the uploaded documents of the collection are listed.
    :param report: The report. Skipped files are added.
    :returns: The files that can be indexed.
    """
    if incoming.parent == folder:
        files = _name_here(incoming, folder, pending, report)
    else:
        # In Elasticsearch, uploaded files are listed under a path that exists on no machine.
        arrived = find_files(list_arrived(incoming), report)
        files = [replace(file, path=folder / file.path.name, source=file.path) for file in arrived]

    tally = Tally(report, 0, None)
    index_files([file for file in files if not file.is_corpus], pending, tally)
    for file in files:
        if file.is_corpus:
            index_corpus(file, local=pending, web=None, tally=tally)

    skipped_names = {Path(skip.path).name for skip in report.skipped if skip.line is None}
    pending.forget(str(file.path) for file in files if file.path.name in skipped_names)

    taken = []
    readable_files = [file for file in files if file.path.name not in skipped_names]
    for file in readable_files:
        deleted = pending.replace_earlier(file)
        if deleted is None:
            tally.skip(file.path, "other corpora already have all of its passages")
        else:
            report.deleted += deleted
            taken.append(file)
    return taken


def _name_here(incoming: Path, folder: Path, pending: PendingChanges, report: IndexReport) -> list[FoundFile]:
    """Find the uploaded files in a folder that can be read, and their earlier versions.

    The passages of an earlier version are shown under the path of the new file. If the content of a file has not
    changed, the path of the result is the path of the earlier version.

    :param incoming: The folder with the uploaded files.
    :param folder: The folder with all uploads of the collection.
    :param pending: The changes. They get the new paths of earlier versions.
    :param report: The report. Files that cannot be read are added.
    """
    # The paths of the earlier uploads with the same name, by the name in small letters.
    uploaded: dict[str, list[Path]] = {file.name.casefold(): [] for file in list_arrived(incoming)}
    for _, listed_path in pending.count_origins():
        if listed_path:
            listed = Path(listed_path)
            name = listed.name.casefold()
            if name in uploaded and folder in listed.parents:
                uploaded[name].append(listed)

    arrived = [_name_as_earlier(file, uploaded[file.name.casefold()]) for file in list_arrived(incoming)]
    files = []
    for file in find_files(arrived, report):
        path = incoming / file.path.name
        earlier = [other for other in uploaded[path.name.casefold()] if other.name == path.name]
        unchanged = [other for other in earlier if other.is_file() and filecmp.cmp(other, path, shallow=False)]
        if unchanged:
            files.append(replace(file, path=unchanged[0], source=path))
        else:
            pending.rename({str(other): str(path) for other in earlier})
            files.append(replace(file, path=path, source=path))
    return files


def _name_as_earlier(arrived: Path, uploaded: Iterable[Path]) -> Path:
    """Rename an uploaded file so that it has exactly the name of the file that it replaces. Return its path.

    For the file systems of macOS and Windows, "a.txt" and "A.TXT" are the same file. So there, they are two names of
    the same document.
    """
    for earlier in uploaded:
        same = earlier.with_name(arrived.name)
        if earlier.name != arrived.name and same.exists() and earlier.samefile(same):
            return arrived.rename(arrived.with_name(earlier.name))
    return arrived


class PendingChanges(PassageStore):
    """Collects changes to an index in memory.

    It is a store of passages like any other, but nothing is written to the index. The caller commits all changes
    together at the end, and only then do others see them.
    """

    def __init__(self, stored: PassageStore) -> None:
        """Start without changes.

        :param stored: The passages of the index.
        """
        self._stored = stored
        # The passages to write, by their IDs.
        self.written: dict[str, Document] = {}
        # The IDs of the passages to delete.
        self._deleted: set[str] = set()
        # The path of the new version of a file, by the path of an earlier version.
        self._new_paths: dict[str, str] = {}

    @property
    def outdated(self) -> set[str]:
        """The IDs of the passages to delete. A passage that is written again is not deleted."""
        return self._deleted - self.written.keys()

    def by_id(self, ids: list[str]) -> dict[str, Document]:
        """Get passages by their IDs, with the changes.

        :param ids: The IDs.
        :returns: The passages by their IDs. IDs without a passage are left out.
        """
        passages = {key: self._renamed(passage) for key, passage in self._stored.by_id(ids).items()}
        for key in ids:
            if key in self.written:
                passages[key] = self.written[key]
        return passages

    def where(self, field: str, values: Sequence[str | int], first: bool = False) -> Iterator[Document]:
        """Find passages of the index by the values of a metadata field. New passages are not found.

        :param field: The name of the metadata field.
        :param values: The values. A passage is found if its field has one of them. The path of a new version of a file
            also finds the passages of the earlier version.
        :param first: Whether to find only the first passage of each file.
        :returns: The passages.
        """
        earlier = [path for path, new in self._new_paths.items() if new in values]
        return map(self._renamed, self._stored.where(field, [*values, *earlier], first))

    def count_origins(self) -> Counter[tuple[str, str | None]]:
        """Count the passages of each file and corpus, without the changes.

        :returns: The number of passages, by the kind of origin and its path.
        """
        return self._stored.count_origins()

    def rename(self, paths: Mapping[str, str]) -> None:
        """Show the passages of earlier versions of a file under the path of the new version.

        :param paths: The path of the new version, by the path of each earlier version.
        """
        self._new_paths.update(paths)

    def _renamed(self, passage: Document) -> Document:
        """Return a passage with the path of the new version of its file, if there is a new version."""
        kind, path = origin_of(passage)
        if path not in self._new_paths:
            return passage
        meta = {**passage.meta, PATH_FIELDS[kind]: self._new_paths[path]}
        # The hash is removed, so that the passages of the earlier version never count as passages of the new version.
        meta.pop("file_hash", None)
        return replace(passage, meta=meta)

    def write(self, passages: list[Document]) -> dict[str, str]:
        """Add passages that are to be written when the changes are committed.

        :param passages: The passages.
        :returns: The reasons why passages were refused. Always empty here.
        """
        self.written.update((passage.id, passage) for passage in passages)
        return {}

    def delete(self, ids: list[str]) -> None:
        """Add passages that are to be deleted when the changes are committed.

        :param ids: The IDs of the passages.
        """
        self._deleted.update(ids)

    def forget(self, paths: Iterable[str]) -> None:
        """Drop the passages that were to be written for some files.

        :param paths: The paths of the files.
        """
        forgotten_paths = set(paths)
        remaining = {}
        for key, passage in self.written.items():
            _, path = origin_of(passage)
            if path not in forgotten_paths:
                remaining[key] = passage
        self.written = remaining

    def replace_earlier(self, file: FoundFile) -> int | None:
        """Delete the passages of the earlier version of a file.

        :param file: The new version of the file.
        :returns: How many passages are deleted and not written again. None, without any deletion, if the index would
            then have no passage of the file.
        """
        path = str(file.path)
        # The IDs of the passages of the earlier version, by the metadata field with the path. A file may have been a
        # corpus earlier, or the other way round.
        stored: dict[str, set[str]] = {}
        for field in ORIGIN_FIELDS:
            stored[field] = {passage.id for passage in self.where(field, [path])}
        if file.is_corpus:
            # The passages that the new version still has.
            unchanged = stored["corpus"] & readable_ids(file.source or file.path)
        else:
            # `index_files` has already deleted the outdated passages, so the rest is unchanged.
            unchanged = stored["file_path"] - self._deleted
        if not unchanged and not self._writes(path):
            return None

        if path in self._new_paths.values():
            # The unchanged passages are written again, because their path is new.
            self.write(list(self.by_id(sorted(unchanged)).values()))
        all_stored: set[str] = set().union(*stored.values())
        outdated = all_stored.difference(unchanged, self._deleted)
        self._deleted |= outdated
        return len(outdated - self.written.keys())

    def _writes(self, path: str) -> bool:
        """Check whether any passage of a file or corpus is to be written."""
        for passage in self.written.values():
            _, origin = origin_of(passage)
            if origin == path:
                return True
        return False
