"""Index uploaded files in a single commit, under the paths to which they will be moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from haystack import Document

from prefrag.collections.changes.journal import list_arrived
from prefrag.collections.collection import Collection
from prefrag.collections.corpora import index_corpus, readable_ids
from prefrag.collections.files import index_files
from prefrag.collections.stores import ORIGIN_FIELDS, PassageStore, origin_of
from prefrag.indexing.discovery import FoundFile, find_files
from prefrag.indexing.report import IndexReport, Skipped, Tally


def add_uploads(collection: Collection, incoming: Path, language: str | None = None) -> IndexReport:
    """Index the readable files of a folder, and move them to the folder of a collection. On failure, nothing changes.

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
            added={each.path.name: each.source or each.path for each in taken},
            written=pending.written.values(),
            outdated=pending.outdated,
            language=language,
        )
    for path in {str(origin_of(pending.written[each])[1]) for each in refused}:
        own = [each for each in pending.written if origin_of(pending.written[each])[1] == path]
        lost = [each for each in own if each in refused]
        report.written -= len(own if "file_path" in pending.written[lost[0]].meta else lost)
        reason = f"the store refused {len(lost)} of its passages ({refused[lost[0]]})"
        report.skipped.append(Skipped(path, reason))
    return report


def _collect(pending: PendingChanges, incoming: Path, folder: Path, report: IndexReport) -> list[FoundFile]:
    """Read the files of a folder, and collect the changes to the index. Returns the files to keep."""
    arrived = find_files([_name_as_in(folder, uploaded) for uploaded in list_arrived(incoming)], report)
    found = [replace(each, path=folder / each.path.name, source=each.path) for each in arrived]
    tally = Tally(report, 0, None)
    index_files([each for each in found if not each.is_corpus], pending, tally)
    for corpus in (each for each in found if each.is_corpus):
        index_corpus(corpus, pending, None, tally)
    refused = {Path(each.path).name for each in report.skipped if each.line is None}
    pending.forget(str(each.path) for each in found if each.path.name in refused)
    taken = []
    for file in (each for each in found if each.path.name not in refused):
        if (deleted := pending.replace_earlier(file)) is None:
            tally.skip(file.path, "other corpora already have all of its passages")
        else:
            report.deleted += deleted
            taken.append(file)
    return taken


def _name_as_in(folder: Path, uploaded: Path) -> Path:
    """Give an uploaded file the name of the file that it replaces.

    The file systems of macOS and Windows take "a.txt" for "A.TXT". The index would hold both names of the one file.
    """
    earlier = folder / uploaded.name
    there = list(folder.iterdir()) if earlier.exists() else []
    if not there or earlier in there:
        return uploaded
    name = next((entry.name for entry in there if entry.samefile(earlier)), uploaded.name)
    return uploaded.rename(uploaded.with_name(name))


class PendingChanges(PassageStore):
    """Collects changes to an index, which others see only when all changes are committed together."""

    def __init__(self, stored: PassageStore) -> None:
        self._stored = stored
        self.written: dict[str, Document] = {}
        self._deleted: set[str] = set()

    @property
    def outdated(self) -> set[str]:
        """The ids of the passages to delete."""
        return self._deleted - self.written.keys()

    def by_id(self, ids: list[str]) -> dict[str, Document]:
        """Get passages by their ids."""
        return {**self._stored.by_id(ids), **{each: self.written[each] for each in ids if each in self.written}}

    def where(self, field: str, values: Sequence[str | int]) -> Iterator[Document]:
        """Find passages by the values of a metadata field."""
        return self._stored.where(field, values)

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
        self.written = {key: each for key, each in self.written.items() if origin_of(each)[1] not in origins}

    def replace_earlier(self, file: FoundFile) -> int | None:
        """Delete the passages of an earlier version of a file. Returns how many were deleted and not written again.

        Returns None and deletes nothing if the index would then have no passage of the file.
        """
        stored = {field: {each.id for each in self.where(field, [str(file.path)])} for field in ORIGIN_FIELDS}
        own = stored["corpus" if file.is_corpus else "file_path"]
        # If the file is not a corpus, `index_files` has already deleted its outdated passages.
        kept = own & readable_ids(file.source or file.path) if file.is_corpus else own - self._deleted
        if not kept and not any(origin_of(each)[1] == str(file.path) for each in self.written.values()):
            return None
        left = set().union(*stored.values()) - kept - self._deleted
        self._deleted |= left
        return len(left - self.written.keys())
