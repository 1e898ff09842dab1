"""Bringing corpora and people's own files into an index, and keeping it in step with them."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import stat
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from haystack import Document
from haystack.document_stores.types import DocumentStore

from prefrag.components.document_stores.elasticsearch.titles import TITLE_KEY_FIELD
from prefrag.components.document_stores.tantivy.index_location import DEFAULT_INDEX
from prefrag.components.text.unicode_form import one_form
from prefrag.pipelines.indexing.file_conversion import (
    FORMATS,
    MOST_BYTES,
    CannotRead,
    FileConverter,
    fingerprint,
)
from prefrag.pipelines.indexing.stores import PassageStore, open_passages

logger = logging.getLogger(__name__)

CORPUS_SUFFIX = ".jsonl"
WEB_INDEX_SUFFIX = "-web"
# Where a corpus is that broken, one line after another says no more.
MOST_NAMED_LINES = 20
MOST_LINE_BYTES = 10_000_000
# Elasticsearch refuses longer ids.
MOST_ID_BYTES = 512
_MOST_BATCH_BYTES = 30_000_000
# A lookup brings whole passages into memory, and a book has a thousand.
_FILES_A_LOOKUP = 50
# So that little work is lost when a long conversion is stopped.
_MOST_SECONDS_UNSAVED = 5.0
# Names in a corpus that would be taken for a Haystack document's own, or for what indexing writes beside it.
_RESERVED = frozenset(
    {*Document.__dataclass_fields__, "corpus", "file_path", "file_hash", "split_count", TITLE_KEY_FIELD}
)


@dataclass(frozen=True)
class Progress:
    """
    How far an indexing is. What it counts as written is safe on disk.

    :param path: the file that was worked on last.
    :param bytes_done: bytes of the files that are done.
    :param bytes_total: bytes of all files.
    :param written: passages written so far, those in the place of earlier ones included.
    :param unchanged: passages that were there already.
    """

    path: str
    bytes_done: int
    bytes_total: int
    written: int
    unchanged: int


@dataclass(frozen=True)
class Skipped:
    """
    Something that was passed over.

    :param path: the file.
    :param reason: why, and what to do.
    :param line: the line of a corpus, from 1; None when it is the whole file.
    """

    path: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        """Say where and why in one line."""
        return f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self.reason}"


@dataclass
class IndexReport:
    """
    What an indexing did.

    :param files: files and corpora that were read, the unchanged ones included.
    :param unchanged_files: those of them that gave nothing new.
    :param written: passages written, those in the place of earlier ones included.
    :param replaced: those of the written that took the place of earlier ones.
    :param unchanged: passages that were there already.
    :param deleted: passages that went without another in their place.
    :param pruned: files that are gone, and whose passages went with them.
    :param skipped: what was passed over, with the reason; of one corpus the first 20 lines.
    :param skipped_lines: all lines of corpora that were passed over.
    :param seconds: how long it took.
    """

    files: int = 0
    unchanged_files: int = 0
    written: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    pruned: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_lines: int = 0
    seconds: float = 0.0


@dataclass
class IndexedFile:
    """
    What an index holds of one file.

    :param path: the file; None for passages that were not brought by `index`.
    :param kind: `file`, `corpus` or `other`.
    :param title: the title of a file, the name of a corpus.
    :param passages: how many passages it has.
    """

    path: str | None
    kind: str
    title: str
    passages: int = 0


@dataclass(frozen=True)
class Deletion:
    """
    What a deletion did.

    :param passages: how many passages went.
    :param unknown: what was to be deleted and is not there.
    """

    passages: int
    unknown: list[str]


OnProgress = Callable[[Progress], None]


def index(
    paths: Iterable[str | os.PathLike[str]],
    *,
    index: str = DEFAULT_INDEX,
    store: str | DocumentStore = "tantivy",
    language: str | None = None,
    split_sources: bool = False,
    prune: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """
    Bring corpora, files and folders into an index.

    A JSONL corpus gives a passage a line, known by its `id`: a line that is new or changed is written, lines that
    left the corpus stay until they are pruned, and one whose id an earlier line or another corpus has is reported and
    passed over. A text, Markdown, HTML or PDF file is cut into passages when it is new or changed, and they take the
    place of its earlier ones. A file is known by its real path, however it was reached. Hidden files are left out,
    and what cannot be read is reported and passed over; its earlier passages stay.

    The index itself says what is there already, so a second call, also after a crash, only does what is missing. New
    passages are written before old ones are deleted: at no time is something lost that was there.

    :param paths: corpora, files, and folders of them.
    :param index: the name of the index; a missing one is made.
    :param store: `tantivy`, `elasticsearch` (at `PREFRAG_ELASTICSEARCH_URL`), or any document store of Haystack's.
    :param language: the language of stemmer and stop words for a new index; None is English.
    :param split_sources: keep the simulated sources of a corpus apart: lines whose `source` is `local` or `both` go
        to the index, `web` or `both` to a second one of the same name with `-web`. Files go to the first.
    :param prune: when done, also do what `prune` does.
    :param on_progress: called after every write and every file.
    :returns: what was done and what was passed over.
    :raises FileNotFoundError: if a path does not exist; nothing was indexed then.
    :raises ValueError: if store, language or name cannot be.
    :raises DocumentStoreError: if the store fails. What was reported as written is there.
    """
    started = time.perf_counter()
    report = IndexReport()
    files = list(_find(paths, report))
    local = open_passages(store, index, language=language, make=True)
    web = None
    if split_sources:
        if not isinstance(store, str):
            raise ValueError("split_sources needs a store that can hold two indexes: 'tantivy' or 'elasticsearch'.")
        web = open_passages(store, index + WEB_INDEX_SUFFIX, language=language, make=True)

    tally = _Tally(report, sum(file.size for file in files), on_progress)
    try:
        _index_files([file for file in files if file.path.suffix.lower() != CORPUS_SUFFIX], local, tally)
        for file in files:
            if file.path.suffix.lower() == CORPUS_SUFFIX:
                _index_corpus(file, local, web, tally)
        if prune:
            for passages in filter(None, (local, web)):
                _prune(passages, report)
    finally:
        for passages in filter(None, (local, web)):
            passages.finish()
    report.seconds = time.perf_counter() - started
    return report


def list_documents(index: str = DEFAULT_INDEX, store: str | DocumentStore = "tantivy") -> list[IndexedFile]:
    """
    List what an index holds, a file or corpus an entry.

    :param index: the name of the index.
    :param store: as for `index`.
    :returns: the entries, sorted by path; passages of another origin are one entry at the end.
    :raises FileNotFoundError: if there is no such index.
    :raises DocumentStoreError: if the store fails.
    """
    found: dict[tuple[str, str | None], IndexedFile] = {}
    for passage in open_passages(store, index).all():
        kind, path = _origin(passage)
        if (entry := found.get((kind, path))) is None:
            title = str(passage.meta.get("title") or "") if kind == "file" else Path(path or "").name
            entry = found[(kind, path)] = IndexedFile(path, kind, title)
        entry.passages += 1
    return sorted(found.values(), key=lambda entry: (entry.path is None, entry.path or ""))


def delete_documents(
    targets: Iterable[str], *, index: str = DEFAULT_INDEX, store: str | DocumentStore = "tantivy"
) -> Deletion:
    """
    Take passages out of an index; the files themselves stay where they are.

    :param targets: ids of passages, files, corpora, or folders with everything that was indexed below them. They
        need not exist any more.
    :param index: the name of the index.
    :param store: as for `index`.
    :returns: how much went, and what was not there.
    :raises FileNotFoundError: if there is no such index.
    :raises DocumentStoreError: if the store fails.
    """
    passages = open_passages(store, index, change=True)
    targets = list(dict.fromkeys(targets))
    by_target: dict[str, set[str]] = {target: set() for target in targets}
    for known in passages.by_id(targets):
        by_target[known].add(known)
    by_path: dict[str, list[str]] = {}
    for target in targets:
        if not by_target[target]:
            by_path.setdefault(_printable(_real(target)), []).append(target)
    for origin in ("file_path", "corpus"):
        for passage in passages.where(origin, list(by_path)):
            for target in by_path[passage.meta[origin]]:
                by_target[target].add(passage.id)
    folders = {path.rstrip(os.sep) + os.sep: known for path, known in by_path.items() if not by_target[known[0]]}
    if folders:
        for passage in passages.all():
            path = _origin(passage)[1] or ""
            for folder in filter(path.startswith, folders):
                for target in folders[folder]:
                    by_target[target].add(passage.id)
    ids = set().union(*by_target.values())
    _delete(passages, ids)
    passages.finish()
    return Deletion(len(ids), [target for target in targets if not by_target[target]])


def prune(index: str = DEFAULT_INDEX, *, store: str | DocumentStore = "tantivy") -> IndexReport:
    """
    Take out what has lost its origin: passages of files that do not exist any more, and of lines that left a corpus.

    A corpus with a line that cannot be read keeps all its passages, for that line may be one of theirs. Where the
    folder that held all files of the index is gone, nothing is taken out: more likely a drive is not mounted.

    :param index: the name of the index.
    :param store: as for `index`.
    :returns: what went (`deleted`, `pruned`) and what could not be checked (`skipped`).
    :raises FileNotFoundError: if there is no such index.
    :raises DocumentStoreError: if the store fails.
    """
    started = time.perf_counter()
    report = IndexReport()
    passages = open_passages(store, index, change=True)
    _prune(passages, report)
    passages.finish()
    report.seconds = time.perf_counter() - started
    return report


# Finding files


@dataclass(frozen=True)
class _File:
    path: Path
    size: int


def _find(paths: Iterable[str | os.PathLike[str]], report: IndexReport) -> Iterator[_File]:
    """The files to read, each once, by their real paths."""
    given = [Path(path).expanduser() for path in paths]
    if missing := [_printable(path) for path in given if not os.path.exists(path)]:
        raise FileNotFoundError(f"There is no file or folder {' and no '.join(missing)}. Nothing was indexed.")
    seen: set[str] = set()
    for path in given:
        for candidate in _walk(path, seen, report):
            real = _real(candidate)
            if str(real) in seen:
                continue
            seen.add(str(real))
            try:
                status = real.stat()
                str(real).encode()
            except OSError as error:
                reason = f"it cannot be read ({error.strerror})"
            except UnicodeEncodeError:
                reason = "its name is not UTF-8: rename it"
            else:
                if real.suffix.lower() not in (*FORMATS, CORPUS_SUFFIX):
                    reason = f"it is none of the kinds of file that are read ({', '.join(FORMATS)}, {CORPUS_SUFFIX})"
                elif not stat.S_ISREG(status.st_mode):
                    # Reading a pipe or a device would wait forever.
                    reason = "it is not a regular file"
                else:
                    yield _File(real, status.st_size)
                    continue
            report.skipped.append(Skipped(_printable(real), reason))


def _walk(path: Path, seen: set[str], report: IndexReport) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return

    def unreadable(error: OSError) -> None:
        report.skipped.append(Skipped(_printable(error.filename), f"the folder cannot be read ({error.strerror})"))

    # Links to folders are followed, each folder once, so that a loop of links ends.
    for folder, subfolders, names in os.walk(path, followlinks=True, onerror=unreadable):
        real = str(_real(folder))
        if real in seen:
            subfolders.clear()
            continue
        seen.add(real)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def _real(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))


def _printable(path: str | os.PathLike[str]) -> str:
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


# Counting


class _Tally:
    """Keeps the report and tells the progress."""

    def __init__(self, report: IndexReport, bytes_total: int, on_progress: OnProgress | None) -> None:
        self.report = report
        self.bytes_done = 0
        self._bytes_total = bytes_total
        self._on_progress = on_progress
        self._lines: Counter[str] = Counter()

    def advance(self, path: Path, bytes_done: int = 0) -> None:
        self.bytes_done += bytes_done
        if self._on_progress is not None:
            done = min(self.bytes_done, self._bytes_total)
            report = self.report
            self._on_progress(Progress(str(path), done, self._bytes_total, report.written, report.unchanged))

    def skip(self, path: Path, reason: str) -> None:
        self.report.skipped.append(Skipped(str(path), reason))

    def skip_line(self, path: Path, line: int | None, reason: str) -> None:
        name = str(path)
        self._lines[name] += 1
        self.report.skipped_lines += 1
        if self._lines[name] <= MOST_NAMED_LINES:
            self.report.skipped.append(Skipped(name, reason, line))


# Files


def _index_files(files: Sequence[_File], store: PassageStore, tally: _Tally) -> None:
    converter: FileConverter | None = None
    batch = _FileBatch(store, tally)
    for start in range(0, len(files), _FILES_A_LOOKUP):
        group = files[start : start + _FILES_A_LOOKUP]
        stored: dict[str, dict[str, tuple[str, int]]] = {}
        for passage in store.where("file_path", [str(file.path) for file in group]):
            version = (str(passage.meta.get("file_hash")), int(passage.meta.get("split_count", 0)))
            stored.setdefault(passage.meta["file_path"], {})[passage.id] = version
        for file in group:
            earlier = stored.get(str(file.path), {})
            try:
                data = _read(file.path)
                file_hash = fingerprint(data)
                current = {key: count for key, (version, count) in earlier.items() if version == file_hash}
                # A crash can leave only some passages of a file where a store has no transactions.
                passages: list[Document] | None = None
                if not current or len(current) != max(current.values()):
                    converter = converter or FileConverter()
                    passages = converter.passages(file.path, data)
            except CannotRead as error:
                tally.skip(file.path, f"{error}{'; its earlier passages stay' if earlier else ''}")
                batch.pass_over(file)
            else:
                kept = current if passages is None else {passage.id for passage in passages}
                batch.add(file, passages, outdated=[key for key in earlier if key not in kept], unchanged=len(current))
    batch.flush()


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise CannotRead(f"it has {size // 10**6} MB, and files up to {MOST_BYTES // 10**6} MB are read: split it")
        return path.read_bytes()
    except OSError as error:
        raise CannotRead(f"it cannot be read ({error.strerror})") from error


class _FileBatch:
    """Files whose passages are written together, because every write costs a commit."""

    def __init__(self, store: PassageStore, tally: _Tally) -> None:
        self._store = store
        self._tally = tally
        self._clear()

    def _clear(self) -> None:
        self._changed: list[tuple[_File, list[Document], list[str]]] = []
        self._outdated: list[str] = []
        self._passages = self._bytes = 0
        self._last: _File | None = None
        self._since = time.monotonic()

    def pass_over(self, file: _File) -> None:
        self._last = file
        self._tally.advance(file.path, file.size)

    def add(self, file: _File, passages: list[Document] | None, outdated: list[str], unchanged: int) -> None:
        self.pass_over(file)
        report = self._tally.report
        report.files += 1
        if passages is None:
            report.unchanged_files += 1
            report.unchanged += unchanged
            # Left by a crash between writing and deleting.
            self._outdated += outdated
            report.deleted += len(outdated)
        else:
            self._changed.append((file, passages, outdated))
            self._passages += len(passages)
            self._bytes += sum(len(passage.content or "") for passage in passages)
        if (
            self._passages >= self._store.batch
            or self._bytes >= _MOST_BATCH_BYTES
            or time.monotonic() - self._since >= _MOST_SECONDS_UNSAVED
        ):
            self.flush()

    def flush(self) -> None:
        if self._last is None:
            return
        report = self._tally.report
        refused = self._store.write([passage for _, passages, _ in self._changed for passage in passages])
        for file, passages, outdated in self._changed:
            if reasons := [refused[passage.id] for passage in passages if passage.id in refused]:
                self._tally.skip(file.path, f"the store refused {len(reasons)} of its passages ({reasons[0]})")
                continue
            report.written += len(passages)
            report.replaced += len(passages) if outdated else 0
            self._outdated += outdated
        # Only now that the new ones are safe.
        _delete(self._store, self._outdated)
        self._tally.advance(self._last.path)
        self._clear()


# Corpora


class _BadLine(Exception):
    """A line that is no passage; the message is the reason."""


def _index_corpus(file: _File, local: PassageStore, web: PassageStore | None, tally: _Tally) -> None:
    report = tally.report
    written, unchanged, skipped, skipped_lines = (
        report.written,
        report.unchanged,
        len(report.skipped),
        report.skipped_lines,
    )
    batch: dict[str, tuple[int, Document, Any]] = {}
    batch_bytes = position = saved = 0
    ids = _Ids()
    others: dict[str, np.ndarray | None] = {}
    try:
        with file.path.open("rb") as lines:
            for number, end, line in _lines(lines):
                position = end
                try:
                    passage, source = _passage(line, str(file.path))
                    if web is not None and source not in ("local", "web", "both"):
                        raise _BadLine(f"to split the sources, 'source' must be local, web or both, not {source!r}")
                    if not ids.add(passage.id):
                        raise _BadLine(f"the id '{passage.id}' is that of an earlier line: every passage needs its own")
                except _BadLine as error:
                    tally.skip_line(file.path, number, str(error))
                    continue
                batch[passage.id] = (number, passage, source)
                batch_bytes += len(line)
                if len(batch) >= local.batch or batch_bytes >= _MOST_BATCH_BYTES:
                    _write_lines(file, batch, local, web, others, tally)
                    tally.advance(file.path, position - saved)
                    batch, batch_bytes, saved = {}, 0, position
    except OSError as error:
        tally.skip(file.path, f"it cannot be read after byte {position} ({error.strerror})")
    _write_lines(file, batch, local, web, others, tally)
    tally.advance(file.path, file.size - saved)

    if report.written > written or report.unchanged > unchanged:
        report.files += 1
        report.unchanged_files += report.written == written
    elif report.skipped_lines > skipped_lines:
        # No corpus at all: one word about the file instead of many about its lines.
        first = report.skipped[skipped]
        del report.skipped[skipped:]
        report.skipped_lines = skipped_lines
        tally.skip(file.path, f"no line of it was taken; line {first.line}: {first.reason}")
    elif len(report.skipped) == skipped:
        tally.skip(file.path, "it is empty")


def _write_lines(
    file: _File,
    batch: dict[str, tuple[int, Document, Any]],
    local: PassageStore,
    web: PassageStore | None,
    others: dict[str, np.ndarray | None],
    tally: _Tally,
) -> None:
    """:param others: The ids of other corpora, as far as they were needed."""
    report = tally.report
    ids = list(batch)
    for store, own in ((local, ("local", "both")), (web, ("web", "both"))):
        if store is None:
            continue
        stored = store.by_id(ids)
        changed = []
        moved = []
        for passage_id, (_, passage, source) in batch.items():
            there = stored.get(passage_id)
            if web is not None and source not in own:
                if there is not None and there.meta.get("corpus") == passage.meta["corpus"]:
                    moved.append(passage_id)
            elif there is not None and (there.content, there.meta) == (passage.content, passage.meta):
                report.unchanged += 1
            elif there is not None and _is_of_another(there, str(file.path), others):
                # Where it says the same, nothing is lost.
                if (there.content, {**there.meta, "corpus": str(file.path)}) == (passage.content, passage.meta):
                    report.unchanged += 1
                    continue
                reason = (
                    f"the id '{passage_id}' is that of a passage of {there.meta['corpus']}: give it another id, or "
                    "delete that corpus from the index first"
                )
                tally.skip_line(file.path, batch[passage_id][0], reason)
            else:
                changed.append(passage)
        refused = store.write(changed)
        for passage in changed:
            if passage.id in refused:
                tally.skip_line(file.path, batch[passage.id][0], f"the store refused it ({refused[passage.id]})")
            else:
                report.written += 1
                report.replaced += passage.id in stored
        store.delete(moved)
        report.deleted += len(moved)


def _is_of_another(passage: Document, corpus: str, others: dict[str, np.ndarray | None]) -> bool:
    """:returns: Whether another corpus holds a passage still, so that this one may not take its place."""
    other = passage.meta.get("corpus")
    if not other or other == corpus or not _is_there(other):
        return False
    if other not in others:
        others[other] = _ids_of(other)
    known = others[other]
    return known is None or _holds(known, _digest(passage.id))


class _Ids:
    """The ids that a corpus has had: eight bytes each, because corpora have millions."""

    _MOST_UNSORTED = 500_000

    def __init__(self) -> None:
        self._sorted = np.empty(0, dtype=np.uint64)
        self._unsorted: set[int] = set()

    def add(self, passage_id: str) -> bool:
        """:returns: Whether the id is a new one."""
        digest = _digest(passage_id)
        if digest in self._unsorted or _holds(self._sorted, digest):
            return False
        self._unsorted.add(digest)
        if len(self._unsorted) >= self._MOST_UNSORTED:
            more = np.fromiter(self._unsorted, dtype=np.uint64, count=len(self._unsorted))
            self._sorted = np.sort(np.concatenate((self._sorted, more)))
            self._unsorted.clear()
        return True


def _lines(lines: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Number, position after it and bytes of every line that is not blank; of one too long only the beginning."""
    number = position = 0
    while line := lines.readline(MOST_LINE_BYTES + 1):
        number += 1
        position += len(line)
        rest = line
        while not rest.endswith(b"\n") and (rest := lines.readline(MOST_LINE_BYTES)):
            position += len(rest)
        if line.strip():
            yield number, position, line


def _passage(line: bytes, corpus: str) -> tuple[Document, Any]:
    """The passage of a line of a corpus, and its simulated source."""
    if len(line) > MOST_LINE_BYTES:
        raise _BadLine(f"it has more than {MOST_LINE_BYTES // 10**6} MB; cut it into passages")
    try:
        text = line.decode("utf-8-sig")
        hook = _no_date if '"__date' in text else None
        passage = json.loads(text, parse_float=_finite, parse_constant=_finite, object_hook=hook)
    except UnicodeDecodeError as error:
        raise _BadLine(f"it is not UTF-8 ({error})") from error
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"it is not JSON ({error})") from error
    if not isinstance(passage, dict) or not {"id", "text"} <= passage.keys():
        raise _BadLine("expected a JSON object with 'id', 'title' and 'text'")
    if "\\ud" in text.lower() and not _is_unicode(passage):
        raise _BadLine("it holds half of a surrogate pair, which is no text")
    passage_id, content, title = passage["id"], passage["text"], passage.get("title")
    if isinstance(passage_id, int) and not isinstance(passage_id, bool):
        passage_id = str(passage_id)
    if not isinstance(passage_id, str) or not 0 < len(passage_id.encode()) <= MOST_ID_BYTES:
        raise _BadLine(f"'id' must be text of 1 to {MOST_ID_BYTES} bytes")
    if not isinstance(content, str) or not content.strip():
        raise _BadLine("'text' must be text, and not empty")
    if title is not None and not isinstance(title, str):
        raise _BadLine("'title' must be text")

    source = passage.get("source")
    # The pipeline writes under `source` where it found a passage, so what the corpus says about it is left out.
    extra = {key: value for key, value in passage.items() if key not in ("id", "title", "text", "source")}
    if isinstance(nested := extra.get("meta"), dict):
        extra = {**nested, **{key: value for key, value in extra.items() if key != "meta"}}
    meta = {f"{key}_" if key in _RESERVED else key: value for key, value in extra.items()}
    if title is not None:
        meta["title"] = one_form(title)
    meta["corpus"] = corpus
    # The same text in the form in which it is asked for; a store's analyzer need not know that they are.
    return Document(id=passage_id, content=one_form(content), meta=meta), source


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is no number that JSON has")
    return value


def _no_date(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) == 1 and not value.keys().isdisjoint(("__date__", "__datetime__")):
        raise _BadLine(f"the name '{next(iter(value))}' is how dates are stored: take another, or a plain text")
    return value


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


# Deleting


def _origin(passage: Document) -> tuple[str, str | None]:
    if path := passage.meta.get("file_path"):
        return "file", str(path)
    if path := passage.meta.get("corpus"):
        return "corpus", str(path)
    return "other", None


def _delete(store: PassageStore, ids: Iterable[str]) -> None:
    listed = list(ids)
    for start in range(0, len(listed), store.batch):
        store.delete(listed[start : start + store.batch])


def _prune(store: PassageStore, report: IndexReport) -> None:
    gone: list[str] = []
    pruned: set[str] = set()
    # For a file whether it is there; for a corpus the digests of the ids it holds, None when it cannot be told.
    files: dict[str, bool] = {}
    corpora: dict[str, np.ndarray | None] = {}
    for passage in store.all():
        kind, path = _origin(passage)
        if path is None:
            continue
        if path not in files:
            files[path] = _is_there(path)
        if not files[path]:
            gone.append(passage.id)
            pruned.add(path)
        elif kind == "corpus":
            if path not in corpora:
                corpora[path] = _ids_of(path, report)
            known = corpora[path]
            if known is not None and not _holds(known, _digest(passage.id)):
                gone.append(passage.id)
    if pruned and (missing := _missing_root(files)):
        reason = (
            "nothing is pruned, because the folder of all indexed files is not there: is a drive not mounted? If the "
            "files are gone for good, delete this folder from the index"
        )
        report.skipped.append(Skipped(missing, reason))
        return
    _delete(store, gone)
    report.deleted += len(gone)
    report.pruned += sorted(pruned - set(report.pruned))


def _missing_root(files: dict[str, bool]) -> str | None:
    """The folder that held all files, where it is gone too."""
    if any(files.values()):
        return None
    try:
        root = os.path.commonpath([os.path.dirname(path) for path in files])
    except ValueError:
        # On several drives of Windows.
        return None
    return None if _is_there(root) else root


def _ids_of(corpus: str, report: IndexReport | None = None) -> np.ndarray | None:
    """Digests of the ids in a corpus, sorted: eight bytes a passage, because corpora have millions."""
    digests = array("Q")
    try:
        with Path(corpus).open("rb") as lines:
            for number, _, line in _lines(lines):
                try:
                    digests.append(_digest(_passage(line, corpus)[0].id))
                except _BadLine as error:
                    raise _BadLine(f"line {number}: {error}") from error
    except (_BadLine, OSError) as error:
        skipped = Skipped(corpus, f"it is not pruned, because not all of it can be read ({error})")
        if report is not None and skipped not in report.skipped:
            report.skipped.append(skipped)
        return None
    return np.sort(np.frombuffer(digests, dtype=np.uint64))


def _digest(passage_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(passage_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _holds(digests: np.ndarray, digest: int) -> bool:
    position = int(np.searchsorted(digests, np.uint64(digest)))
    return position < len(digests) and int(digests[position]) == digest


def _is_there(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # A folder that may not be entered, or a server that does not answer, says nothing about the file.
        return True
    return True
