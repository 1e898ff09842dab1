"""Index users' own files: convert new and changed files, and replace their earlier passages."""

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

# How many files are looked up together. It is low, because all their passages are loaded. A book has a thousand.
_FILES_A_LOOKUP = 50
# After this many seconds, the finished passages are written, so that little work is lost if indexing is interrupted.
_MOST_SECONDS_UNSAVED = 5.0

# A file to convert: its path, bytes, time of the last change, and the folders between the indexed folder and the file.
_FileToConvert = tuple[Path, bytes, float, tuple[str, ...]]


class Converted(NamedTuple):
    """The result of converting a file: its passages, or why it was refused."""

    passages: list[Document]
    loss: str = ""  # says which parts could not be read
    refused: str | None = None


@dataclass
class _FileAndStored:
    """A file, and what the index already holds of it."""

    file: FoundFile
    earlier: dict[str, tuple[str, int]]  # maps passage ids to the stored fingerprint and number of passages
    current: dict[str, int] = field(default_factory=dict)  # the part of ``earlier`` with the file's present fingerprint
    refused: str | None = None  # why the file cannot be read


@contextmanager
def open_converter() -> Iterator[Callable[[_FileToConvert | None], Converted | None]]:
    """Provide a function that converts a file. For a file that need not be converted, it gets None and returns None."""
    converter = converter_process(os.getpid())

    def convert(file: _FileToConvert | None) -> Converted | None:
        if file is None:
            return None
        try:
            return Converted(converter.passages(*file), converter.loss)
        except CannotRead as error:
            return Converted([], refused=str(error))

    yield convert


def index_files(files: Sequence[FoundFile], store: PassageStore, tally: Tally, runner: Runner | None = None) -> None:
    """Convert the new and changed files, and replace their earlier passages."""
    # Imported here, so that listing documents does not load the client for model servers, which pipelines import.
    from prefrag.pipelines.runners.in_process import InProcess

    batch = _FileBatch(store, tally)
    entries = deque[_FileAndStored]()
    # The results come in the order of the files, so that the number of workers does not change the index.
    results = (runner or InProcess()).map(open_converter, _read_changed(files, store, entries), ordered=True)
    with closing(results):
        for _, converted in results:
            _add_to_batch(entries.popleft(), converted, batch, tally)
    batch.flush()


def _read_changed(
    files: Sequence[FoundFile], store: PassageStore, entries: deque[_FileAndStored]
) -> Iterator[_FileToConvert | None]:
    """Read the files one after another. Yield each new or changed file, and None for each of the other files."""
    for start in range(0, len(files), _FILES_A_LOOKUP):
        group = files[start : start + _FILES_A_LOOKUP]
        stored: dict[str, dict[str, tuple[str, int]]] = {}
        for passage in store.where("file_path", [str(file.path) for file in group]):
            version = (str(passage.meta.get("file_hash")), int(passage.meta.get("split_count", 0)))
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
            file_hash = fingerprint(data)
            entry.current = {key: count for key, (earlier, count) in entry.earlier.items() if earlier == file_hash}
            # Count the passages, because after a crash, a store without transactions may hold only some of them.
            is_whole = entry.current and len(entry.current) == max(entry.current.values())
            yield None if is_whole else (file.path, data, modified, file.folders)


def _add_to_batch(entry: _FileAndStored, converted: Converted | None, batch: _FileBatch, tally: Tally) -> None:
    file, earlier, current = entry.file, entry.earlier, entry.current
    refused = converted.refused if converted else entry.refused
    if refused is not None:
        tally.skip(file.path, f"{refused}; its earlier passages stay" if earlier else str(refused))
        batch.count_as_done(file)
        return
    if converted and converted.loss:
        tally.report.read_in_part.append(Skipped(str(file.path), converted.loss))
    passages = converted.passages if converted else None
    current_ids = current if passages is None else {passage.id for passage in passages}
    outdated = [passage_id for passage_id in earlier if passage_id not in current_ids]
    batch.add(file, passages, outdated=outdated, unchanged=len(current))


def _read_bytes(path: Path) -> tuple[bytes, float]:
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
        self._changed: list[tuple[FoundFile, list[Document], list[str]]] = []
        self._outdated: list[str] = []
        self._passages = self._bytes = 0
        self._last: FoundFile | None = None
        self._since = time.monotonic()

    def count_as_done(self, file: FoundFile) -> None:
        self._last = file
        self._tally.advance(file.path, file.size)

    def add(self, file: FoundFile, passages: list[Document] | None, outdated: list[str], unchanged: int) -> None:
        self.count_as_done(file)
        report = self._tally.report
        report.files += 1
        if passages is None:
            report.unchanged_files += 1
            report.unchanged += unchanged
            # An unchanged file has outdated passages if a crash came after its new passages were written.
            self._outdated += outdated
            report.deleted += len(outdated)
        else:
            self._changed.append((file, passages, outdated))
            self._passages += len(passages)
            self._bytes += sum(len(passage.content or "") for passage in passages)
        if (
            self._passages >= self._store.batch
            or self._bytes >= MOST_BATCH_BYTES
            or time.monotonic() - self._since >= _MOST_SECONDS_UNSAVED
        ):
            self.flush()

    def flush(self) -> None:
        if self._last is None:
            return
        report = self._tally.report
        refused = self._store.write([passage for _, passages, _ in self._changed for passage in passages])
        for file, passages, outdated in self._changed:
            reasons = [refused[passage.id] for passage in passages if passage.id in refused]
            if reasons:
                self._tally.skip(file.path, f"the store refused {len(reasons)} of its passages ({reasons[0]})")
                continue
            report.written += len(passages)
            report.replaced += len(passages) if outdated else 0
            self._outdated += outdated
        # Delete the old passages only when the new passages are safe.
        self._store.delete_in_batches(self._outdated)
        self._tally.advance(self._last.path)
        self._clear()
