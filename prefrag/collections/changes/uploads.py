"""Index uploaded files in a single commit."""

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
    """Index the readable files of a folder. On failure, nothing changes.

    ``incoming`` is a folder from `make_incoming`. ``language`` is the language of a new collection. If a file is
    skipped, an earlier upload with the same name stays.
    """
    report = IndexReport()
    with collection.change() as changes:
        with closing(changes.open()) as stored:
            pending = PendingChanges(stored)
            taken = _collect(pending, incoming, changes.folder, report)
        if not taken:
            return report
        refused = changes.make(
            added={file.path.name: file.source or file.path for file in taken},
            written=pending.written.values(),
            outdated=pending.outdated,
            language=language,
        )
    for path in {str(origin_of(pending.written[passage_id])[1]) for passage_id in refused}:
        own = [passage_id for passage_id in pending.written if origin_of(pending.written[passage_id])[1] == path]
        lost = [passage_id for passage_id in own if passage_id in refused]
        report.written -= len(own if "file_path" in pending.written[lost[0]].meta else lost)
        reason = f"the store refused {len(lost)} of its passages ({refused[lost[0]]})"
        report.skipped.append(Skipped(path, reason))
    collection.keep_skipped(IndexReport(read_in_part=report.read_in_part), [str(file.path) for file in taken])
    return report


def _collect(pending: PendingChanges, incoming: Path, folder: Path, report: IndexReport) -> list[FoundFile]:
    """Read the files of a folder, and collect the changes to the index. Returns the files to keep."""
    if incoming.parent == folder:
        files = _name_here(incoming, folder, pending, report)
    else:
        # Elasticsearch lists uploaded files under a path that no machine has.
        arrived = find_files(list_arrived(incoming), report)
        files = [replace(file, path=folder / file.path.name, source=file.path) for file in arrived]
    tally = Tally(report, 0, None)
    index_files([file for file in files if not file.is_corpus], pending, tally)
    for corpus in (file for file in files if file.is_corpus):
        index_corpus(corpus, pending, None, tally)
    refused = {Path(skip.path).name for skip in report.skipped if skip.line is None}
    pending.forget(str(file.path) for file in files if file.path.name in refused)
    taken = []
    for file in (file for file in files if file.path.name not in refused):
        deleted = pending.replace_earlier(file)
        if deleted is None:
            tally.skip(file.path, "other corpora already have all of its passages")
        else:
            report.deleted += deleted
            taken.append(file)
    return taken


def _name_here(incoming: Path, folder: Path, pending: PendingChanges, report: IndexReport) -> list[FoundFile]:
    """Find the readable files of a folder. If a file is unchanged, its path is that of the file that is there."""
    uploaded: dict[str, list[Path]] = {file.name.casefold(): [] for file in list_arrived(incoming)}
    for listed in (Path(path) for _, path in pending.count_origins() if path):
        name = listed.name.casefold()
        if name in uploaded and folder in listed.parents:
            uploaded[name].append(listed)
    arrived = [_name_as_earlier(file, uploaded[file.name.casefold()]) for file in list_arrived(incoming)]
    files = []
    for file in find_files(arrived, report):
        path = incoming / file.path.name
        earlier = [other for other in uploaded[path.name.casefold()] if other.name == path.name]
        same = [other for other in earlier if other.is_file() and filecmp.cmp(other, path, shallow=False)]
        if not same:
            pending.rename({str(other): str(path) for other in earlier})
        files.append(replace(file, path=next(iter(same), path), source=path))
    return files


def _name_as_earlier(arrived: Path, uploaded: Iterable[Path]) -> Path:
    """Give a file that has arrived the name of the file that it replaces.

    The file systems of macOS and Windows take "a.txt" for "A.TXT". There, they are two names of the same document.
    """
    for earlier in uploaded:
        same = earlier.with_name(arrived.name)
        if earlier.name != arrived.name and same.exists() and earlier.samefile(same):
            return arrived.rename(arrived.with_name(earlier.name))
    return arrived


class PendingChanges(PassageStore):
    """Collects changes to an index, which others see only when all changes are committed together."""

    def __init__(self, stored: PassageStore) -> None:
        self._stored = stored
        self.written: dict[str, Document] = {}
        self._deleted: set[str] = set()
        self._names: dict[str, str] = {}

    @property
    def outdated(self) -> set[str]:
        """The ids of the passages to delete."""
        return self._deleted - self.written.keys()

    def by_id(self, ids: list[str]) -> dict[str, Document]:
        """Get passages by their ids."""
        stored = {key: self._renamed(passage) for key, passage in self._stored.by_id(ids).items()}
        return {**stored, **{key: self.written[key] for key in ids if key in self.written}}

    def where(self, field: str, values: Sequence[str | int], first: bool = False) -> Iterator[Document]:
        """Find passages by the values of a metadata field; with ``first``, only the first passage of each file."""
        earlier = [path for path, new in self._names.items() if new in values]
        return map(self._renamed, self._stored.where(field, [*values, *earlier], first))

    def count_origins(self) -> Counter[tuple[str, str | None]]:
        """Count the passages of each file and corpus, without the changes."""
        return self._stored.count_origins()

    def rename(self, paths: Mapping[str, str]) -> None:
        """Show the passages of earlier versions of a file under the path of the new version."""
        self._names.update(paths)

    def _renamed(self, passage: Document) -> Document:
        kind, path = origin_of(passage)
        if path not in self._names:
            return passage
        meta = {**passage.meta, PATH_FIELDS[kind]: self._names[path]}
        # Without its hash, the earlier version of a file never counts as the new one.
        meta.pop("file_hash", None)
        return replace(passage, meta=meta)

    def write(self, passages: list[Document]) -> dict[str, str]:
        """Remember passages to write when the changes are committed."""
        self.written.update((passage.id, passage) for passage in passages)
        return {}

    def delete(self, ids: list[str]) -> None:
        """Remember passages to delete when the changes are committed."""
        self._deleted.update(ids)

    def forget(self, paths: Iterable[str]) -> None:
        """Forget the passages that were to be written for these files."""
        origins = set(paths)
        self.written = {key: passage for key, passage in self.written.items() if origin_of(passage)[1] not in origins}

    def replace_earlier(self, file: FoundFile) -> int | None:
        """Delete the passages of an earlier version of a file. Returns how many were deleted and not written again.

        Returns None and deletes nothing if the index would then have no passage of the file.
        """
        stored: dict[str, set[str]] = {}
        for field in ORIGIN_FIELDS:
            stored[field] = {passage.id for passage in self.where(field, [str(file.path)])}
        own = stored["corpus" if file.is_corpus else "file_path"]
        # If the file is not a corpus, `index_files` has already deleted its outdated passages.
        unchanged = own & readable_ids(file.source or file.path) if file.is_corpus else own - self._deleted
        if not unchanged and not any(origin_of(passage)[1] == str(file.path) for passage in self.written.values()):
            return None
        if str(file.path) in self._names.values():
            # The unchanged lines of a corpus are written again, because their path is new.
            self.write(list(self.by_id(sorted(unchanged)).values()))
        left = set().union(*stored.values()) - unchanged - self._deleted
        self._deleted |= left
        return len(left - self.written.keys())
