"""Index a corpus, which is a JSONL file with one passage per line, or a JSON list of passages."""

import hashlib
import io
import json
from array import array
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from haystack import Document

from prefrag.collections.stores import MOST_BATCH_BYTES, UPLOADED, PassageStore, is_there
from prefrag.components.text.passage_record import PassageError, PassageRecord, passage_lines, read_passage_line
from prefrag.indexing.discovery import CORPUS_SUFFIX, LIST_SUFFIX, FoundFile
from prefrag.indexing.report import IndexReport, Skipped, Tally

_SOURCES = ("local", "web", "both")


def index_corpus(file: FoundFile, local: PassageStore, web: PassageStore | None, tally: Tally) -> None:
    """Write the new and changed passages of a corpus, and report the lines that are not passages.

    ``web`` gets the lines that are searched in place of the web; None if all lines go to ``local``.
    """
    report = tally.report
    # What earlier files have added to the report.
    written, unchanged = report.written, report.unchanged
    skipped, skipped_lines = len(report.skipped), report.skipped_lines
    lines = CorpusLines(file, local, web, tally)
    ids = PassageIds()
    position = saved = 0  # up to where lines are read, and written, in bytes
    try:
        with open_corpus(file.source or file.path) as stream:
            for number, end, line in passage_lines(stream):
                position = end
                try:
                    record = read_passage_line(line, number)
                    if web is not None and record.source not in _SOURCES:
                        raise PassageError(
                            f"'source' must be local, web or both to split a corpus by it, not {record.source!r}"
                        )
                    if not ids.add(record.id):
                        raise PassageError(f"an earlier line has the id '{record.id}' too: ids must be unique")
                except PassageError as error:
                    tally.skip_line(file.path, number, error.reason)
                    continue
                lines.add(number, record, len(line))
                if lines.are_enough:
                    lines.write()
                    tally.advance(file.path, position - saved)
                    saved = position
    except PassageError as error:
        tally.skip(file.path, error.reason)
    except OSError as error:
        tally.skip(file.path, f"it cannot be read after byte {position} ({error.strerror})")
    lines.write()
    tally.advance(file.path, file.size - saved)

    if report.written > written or report.unchanged > unchanged:
        report.files += 1
        report.unchanged_files += report.written == written
    elif report.skipped_lines > skipped_lines:
        # The file is probably not a corpus. So report the file once, instead of each of its lines.
        first = report.skipped[skipped]
        del report.skipped[skipped:]
        report.skipped_lines = skipped_lines
        tally.skip(file.path, f"none of its lines is a passage; line {first.line}: {first.reason}")
    elif len(report.skipped) == skipped:
        tally.skip(file.path, "it is empty")


# The maximum size of a JSON list in bytes. A JSON list is read as a whole, but a JSONL file is read line by line.
MOST_LIST_BYTES = 50_000_000


def open_corpus(path: Path) -> BinaryIO:
    """Open a corpus as lines of JSON. If it is a JSON list, it is converted to such lines in memory."""
    if path.suffix.lower() != LIST_SUFFIX:
        return path.open("rb")
    size = path.stat().st_size
    if size > MOST_LIST_BYTES:
        raise PassageError(
            f"it is {size / 10**6:.0f} MB, but a JSON list may be at most {MOST_LIST_BYTES // 10**6} MB: convert it to "
            f"a {CORPUS_SUFFIX} file, one passage per line"
        )
    try:
        passages = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise PassageError(f"it is not JSON ({error})") from error
    if not isinstance(passages, list):
        raise PassageError("it is no longer a JSON list of passages")
    return io.BytesIO("".join(f"{json.dumps(passage)}\n" for passage in passages).encode("ascii"))


class _Line(NamedTuple):
    number: int
    passage: Document
    source: object  # the field of the line that says whether it goes to the local passages, the web's, or both


class CorpusLines:
    """A batch of lines from one corpus. They are written together, because every write ends with a slow commit."""

    def __init__(self, file: FoundFile, local: PassageStore, web: PassageStore | None, tally: Tally) -> None:
        self._file = file
        self._local = local
        self._web = web
        self._tally = tally
        self._lines: dict[str, _Line] = {}
        self._bytes = 0
        # Maps the path of another corpus to its ids, or to None if they cannot be read. Filled when first needed.
        self._others: dict[str, np.ndarray | None] = {}

    @property
    def are_enough(self) -> bool:
        """Whether the batch is large enough to be written."""
        return len(self._lines) >= self._local.batch or self._bytes >= MOST_BATCH_BYTES

    def add(self, number: int, record: PassageRecord, size: int) -> None:
        """Add a line of ``size`` bytes."""
        passage = record.document(corpus=str(self._file.path))
        self._lines[record.id] = _Line(number, passage, record.source)
        self._bytes += size

    def write(self) -> None:
        """Write the new and changed lines, count the unchanged lines, and report the lines that cannot be written."""
        for store, own in ((self._local, ("local", "both")), (self._web, ("web", "both"))):
            if store is not None:
                self._write_to(store, own)
        self._lines, self._bytes = {}, 0

    def _write_to(self, store: PassageStore, own: tuple[str, ...]) -> None:
        """Write to a store the lines whose source is one of ``own``. Others are deleted from the store."""
        report = self._tally.report
        corpus = str(self._file.path)
        stored = store.by_id(list(self._lines))
        changed = []
        moved = []  # the ids of lines that went to this store earlier, and go to the other now
        for passage_id, (number, passage, source) in self._lines.items():
            there = stored.get(passage_id)
            if self._web is not None and source not in own:
                if there is not None and there.meta.get("corpus") == corpus:
                    moved.append(passage_id)
            elif there is not None and (there.content, there.meta) == (passage.content, passage.meta):
                report.unchanged += 1
            elif there is not None and self._belongs_to_other(there):
                # A passage that is exactly the same in two corpora is indexed once.
                if (there.content, {**there.meta, "corpus": corpus}) == (passage.content, passage.meta):
                    report.unchanged += 1
                    continue
                reason = (
                    f"a passage of {there.meta['corpus']} has the id '{passage_id}' too: change the id on this line, "
                    "or first delete that corpus from the index"
                )
                self._tally.skip_line(self._file.path, number, reason)
            else:
                changed.append(passage)
        refused = store.write(changed)
        for passage in changed:
            if passage.id in refused:
                reason = f"the store refused it ({refused[passage.id]})"
                self._tally.skip_line(self._file.path, self._lines[passage.id].number, reason)
            else:
                report.written += 1
                report.replaced += passage.id in stored
        store.delete(moved)
        report.deleted += len(moved)

    def _belongs_to_other(self, passage: Document) -> bool:
        """Check whether a stored passage still belongs to another corpus. If so, it must not be overwritten."""
        other = passage.meta.get("corpus")
        if not other or other == str(self._file.path):
            return False
        # If corpora are uploaded, the other corpus may be on another machine. So assume that it still has the passage.
        is_shared = any(path.startswith(UPLOADED) for path in (other, str(self._file.path)))
        if is_shared or passage.id in self._local.written:
            return True
        if not is_there(other):
            return False
        if other not in self._others:
            self._others[other] = read_ids(other)
        ids = self._others[other]
        return ids is None or contains_id(ids, passage.id)


class PassageIds:
    """The ids that have been read from a corpus so far, stored as digests to save memory."""

    _MOST_UNSORTED = 500_000

    def __init__(self) -> None:
        self._sorted = np.empty(0, dtype=np.uint64)
        self._unsorted: set[int] = set()

    def add(self, passage_id: str) -> bool:
        """Add an id. Returns False if it was already added."""
        digest = _digest(passage_id)
        if digest in self._unsorted or _contains(self._sorted, digest):
            return False
        self._unsorted.add(digest)
        if len(self._unsorted) >= self._MOST_UNSORTED:
            more = np.fromiter(self._unsorted, dtype=np.uint64, count=len(self._unsorted))
            self._sorted = np.sort(np.concatenate((self._sorted, more)))
            self._unsorted.clear()
        return True


def read_ids(corpus: str, report: IndexReport | None = None) -> np.ndarray | None:
    """Read the ids of a corpus as sorted digests. If any line cannot be read, report the corpus and return None."""
    digests = array("Q")
    try:
        with open_corpus(Path(corpus)) as stream:
            for number, _, line in passage_lines(stream):
                digests.append(_digest(read_passage_line(line, number).id))
    except (PassageError, OSError) as error:
        skipped = Skipped(corpus, f"it is not pruned, because not all of it can be read ({error})")
        if report is not None and skipped not in report.skipped:
            report.skipped.append(skipped)
        return None
    return np.sort(np.frombuffer(digests, dtype=np.uint64))


def readable_ids(corpus: Path) -> set[str]:
    """Read the ids of all passages in a corpus, and ignore the lines that are not passages."""
    ids = set()
    with open_corpus(corpus) as stream:
        for number, _, line in passage_lines(stream):
            with suppress(PassageError):
                ids.add(read_passage_line(line, number).id)
    return ids


def contains_id(ids: np.ndarray, passage_id: str) -> bool:
    """Check whether an id is among the digests ``ids`` that :func:`read_ids` has returned."""
    return _contains(ids, _digest(passage_id))


def _digest(passage_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(passage_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _contains(digests: np.ndarray, digest: int) -> bool:
    position = int(np.searchsorted(digests, np.uint64(digest)))
    return position < len(digests) and int(digests[position]) == digest
