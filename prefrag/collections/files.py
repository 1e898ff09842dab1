"""Index users' own files: convert new and changed files, and replace their earlier passages.

``prefrag.collections.indexing`` calls :func:`index_files`, which does this in three steps:

1. Read each file, and compare it with what the index has of it (:func:`_read_changed`).
2. Convert the new and changed files, possibly in several processes (:func:`open_converter`).
3. Collect the passages in a batch, write the batch, and then delete the outdated passages (:class:`_FileBatch`).
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from haystack import Document

from prefrag.collections.stores import MOST_BATCH_BYTES, PassageStore
from prefrag.indexing.converter_process import converter_process
from prefrag.indexing.discovery import FoundFile
from prefrag.indexing.file_conversion import fingerprint
from prefrag.indexing.file_forms import most_bytes
from prefrag.indexing.report import CannotRead, Skipped, Tally

if TYPE_CHECKING:
    from prefrag.pipelines.runners.runner import Runner

# This many files are looked up in the index together. The number is low, because all their passages are loaded, and a
# book has a thousand passages.
_FILES_A_LOOKUP = 50
# After this many seconds, the finished passages are written. So little work is lost if the indexing is interrupted.
_MOST_SECONDS_UNSAVED = 5.0

# A file to convert: its path, its bytes, the time of its last change in seconds since 1970, and the names of the
# folders between the indexed folder and the file.
_FileToConvert = tuple[Path, bytes, float, tuple[str, ...]]


class Converted(NamedTuple):
    """The result of converting a file.

    :param passages: The passages. Empty if the file was refused.
    :param loss: Which parts of the file could not be read; "" if all were read.
    :param refused: Why the file was refused. None if it was converted.
    """

    passages: list[Document]
    loss: str = ""
    refused: str | None = None


class _FileVersion(NamedTuple):
    """The version of a file from which a passage was read.

    :param fingerprint: The fingerprint of its content.
    :param n_passages: How many passages it had.
    """

    fingerprint: str
    n_passages: int


@dataclass
class _FileAndStored:
    """A file, and what the index already has of it.

    :param file: The file.
    :param earlier: The passages of the file in the index: their IDs, each with the version that it was read from.
    :param current: The IDs of those passages that come from the present content of the file.
    :param refused: Why the file cannot be read. None if it can be read.
    """

    file: FoundFile
    earlier: dict[str, _FileVersion]
    current: set[str] = field(default_factory=set)
    refused: str | None = None

    def take_current(self, file_hash: str) -> None:
        """Find the passages that come from the present content of the file, by its fingerprint."""
        self.current = {key for key, version in self.earlier.items() if version.fingerprint == file_hash}

    @property
    def is_up_to_date(self) -> bool:
        """Whether the index has all passages of the file. After a crash, a store without transactions may have some."""
        return bool(self.current) and len(self.current) == max(self.earlier[key].n_passages for key in self.current)


@contextmanager
def open_converter() -> Iterator[Callable[[_FileToConvert | None], Converted | None]]:
    """Provide a function that converts one file.

    :returns: A context manager. Its function takes a file to convert, and returns the result. For a file that need not
        be converted, the function takes None and returns None.
    """
    converter = converter_process(os.getpid())

    def convert(file: _FileToConvert | None) -> Converted | None:
        """Convert one file."""
        if file is None:
            return None
        try:
            return Converted(converter.passages(*file), converter.loss)
        except CannotRead as error:
            return Converted([], refused=str(error))

    yield convert


def index_files(files: Sequence[FoundFile], store: PassageStore, tally: Tally, runner: Runner | None = None) -> None:
    """Convert the new and changed files, and replace their earlier passages.

    :param files: The files, without corpora.
    :param store: The passages of the collection.
    :param tally: Counts the passages, and reports the progress and the skipped files.
    :param runner: The runner that converts the files, for example in several processes. None converts them one by one.
    """
    # This import also loads the client for model servers, which pipelines import. It is done only here, so that listing
    # documents does not load that client.
    from prefrag.pipelines.runners.in_process import InProcess

    batch = _FileBatch(store, tally)
    entries = deque[_FileAndStored]()
    # The results are asked for in the order of the files. So the number of worker processes does not change the index.
    results = (runner or InProcess()).map(open_converter, _read_changed(files, store, entries), ordered=True)
    with closing(results):
        for _, converted in results:
            _add_to_batch(entries.popleft(), converted, batch, tally)
    batch.flush()


def _read_changed(
    files: Sequence[FoundFile], store: PassageStore, entries: deque[_FileAndStored]
) -> Iterator[_FileToConvert | None]:
    """Read the files one after another. Yield each new or changed file, and None for each other file.

    For each file, an entry is added to ``entries`` before the file is yielded.
    """
    for start in range(0, len(files), _FILES_A_LOOKUP):
        group = files[start : start + _FILES_A_LOOKUP]
        # The passages of each file in the index, by the path of the file and the ID of the passage.
        stored: dict[str, dict[str, _FileVersion]] = {}
        for passage in store.where("file_path", [str(file.path) for file in group]):
            version = _FileVersion(str(passage.meta.get("file_hash")), int(passage.meta.get("split_count", 0)))
            stored.setdefault(passage.meta["file_path"], {})[passage.id] = version

        for file in group:
            entry = _FileAndStored(file, stored.get(str(file.path), {}))
            entries.append(entry)
            try:
                data, modified = _read_bytes(file.source or file.path)
            except CannotRead as error:
                entry.refused = str(error)
                yield None
                continue

            entry.take_current(fingerprint(data))
            if entry.is_up_to_date:
                yield None
            else:
                yield file.path, data, modified, file.folders


def _add_to_batch(entry: _FileAndStored, converted: Converted | None, batch: _FileBatch, tally: Tally) -> None:
    """Add the result of a file to the batch, or report that the file is skipped.

    :param entry: The file, and what the index has of it.
    :param converted: The result of the conversion. None if the file was not converted.
    :param batch: The batch.
    :param tally: Gets the reports.
    """
    file = entry.file
    reason = converted.refused if converted else entry.refused
    if reason is not None:
        if entry.earlier:
            reason = f"{reason}; its earlier passages stay"
        tally.skip(file.path, reason)
        batch.count_as_done(file)
        return

    # None if the file is unchanged.
    passages = None
    current_ids = entry.current
    if converted:
        if converted.loss:
            tally.report.read_in_part.append(Skipped(str(file.path), converted.loss))
        passages = converted.passages
        current_ids = {passage.id for passage in passages}
    outdated = [passage_id for passage_id in entry.earlier if passage_id not in current_ids]
    batch.add(file, passages, outdated=outdated, unchanged=len(entry.current))


def _read_bytes(path: Path) -> tuple[bytes, float]:
    """Return the bytes of a file and the time of its last change. Raise :class:`CannotRead` if it is too large."""
    try:
        status = path.stat()
        size = status.st_size
        most = most_bytes(path)
        if size > most:
            kind = path.suffix or "such"
            raise CannotRead(
                f"it has {size / 10**6:.0f} MB, but {kind} files may have at most {most // 10**6} MB: split it"
            )
        return path.read_bytes(), status.st_mtime
    except OSError as error:
        raise CannotRead(f"it cannot be read ({error.strerror})") from error


class _FileBatch:
    """Files whose passages are written together, because every write ends with a slow commit."""

    def __init__(self, store: PassageStore, tally: Tally) -> None:
        self._store = store
        self._tally = tally
        self._clear()

    def _clear(self) -> None:
        """Begin a new batch."""
        # Each changed file with its new passages and the IDs of its outdated passages.
        self._changed: list[tuple[FoundFile, list[Document], list[str]]] = []
        # The IDs of further passages to delete.
        self._outdated: list[str] = []
        # The number of the new passages in the batch, and of their characters.
        self._n_passages = 0
        self._n_characters = 0
        # The file that was added last.
        self._last: FoundFile | None = None
        # When the batch was begun.
        self._since = time.monotonic()

    def count_as_done(self, file: FoundFile) -> None:
        """Report the progress after a file."""
        self._last = file
        self._tally.advance(file.path, file.size)

    def add(self, file: FoundFile, passages: list[Document] | None, outdated: list[str], unchanged: int) -> None:
        """Add the passages of a file. Write the batch if it is large or old enough.

        :param file: The file.
        :param passages: The new passages. None if the file has not changed.
        :param outdated: The IDs of the passages to delete.
        :param unchanged: The number of passages that have not changed.
        """
        self.count_as_done(file)
        report = self._tally.report
        report.files += 1
        if passages is None:
            report.unchanged_files += 1
            report.unchanged += unchanged
            # An unchanged file has outdated passages if the program crashed between the writing of its new passages and
            # the deletion of its old passages.
            self._outdated += outdated
            report.deleted += len(outdated)
        else:
            self._changed.append((file, passages, outdated))
            self._n_passages += len(passages)
            self._n_characters += sum(len(passage.content or "") for passage in passages)

        # Most characters take a single byte, so their number is compared with the limit in bytes.
        is_large = self._n_passages >= self._store.batch or self._n_characters >= MOST_BATCH_BYTES
        is_old = time.monotonic() - self._since >= _MOST_SECONDS_UNSAVED
        if is_large or is_old:
            self.flush()

    def flush(self) -> None:
        """Write the new passages of the batch, and delete the outdated passages."""
        if self._last is None:
            return

        report = self._tally.report
        all_passages: list[Document] = []
        for _, passages, _ in self._changed:
            all_passages += passages
        refused = self._store.write(all_passages)
        for file, passages, outdated in self._changed:
            reasons = [refused[passage.id] for passage in passages if passage.id in refused]
            if reasons:
                # The earlier passages of the file stay.
                self._tally.skip(file.path, f"the store refused {len(reasons)} of its passages ({reasons[0]})")
                continue
            report.written += len(passages)
            if outdated:
                report.replaced += len(passages)
            self._outdated += outdated

        # Delete the old passages only now, when the new passages are safe.
        self._store.delete_in_batches(self._outdated)
        self._tally.advance(self._last.path)
        self._clear()
