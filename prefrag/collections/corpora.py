"""Index a corpus, which is a file that already has passages.

A corpus is a JSONL file with one passage in each line, or a JSON file with a list of passages. Each passage has an ID.
The IDs tell which passages are new, changed or unchanged. ``prefrag.collections.indexing`` calls :func:`index_corpus`.
"""

from __future__ import annotations

import hashlib
import io
import json
from array import array
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from haystack import Document

from prefrag.collections.stores import MOST_BATCH_BYTES, UPLOADED, PassageStore, is_there
from prefrag.components.text.passage_record import PassageError, PassageRecord, passage_lines, read_passage_line
from prefrag.indexing.discovery import CORPUS_SUFFIX, LIST_SUFFIX, FoundFile
from prefrag.indexing.report import IndexReport, Skipped, Tally

# The values of the field `source`, by which a corpus can be split. It says where a passage is searched.
_SOURCES = ("local", "web", "both")


def index_corpus(file: FoundFile, local: PassageStore, web: PassageStore | None, tally: Tally) -> None:
    """Write the new and changed passages of a corpus, and report the lines that are not passages.

    :param file: The corpus.
    :param local: The store for the passages of the collection.
    :param web: The store for the passages that are searched in place of the web. None writes all passages to ``local``.
    :param tally: Counts the passages, and reports the progress.
    """
    report = tally.report
    # The report before this file, which adds to its numbers and its list.
    before = replace(report, skipped=[*report.skipped])
    lines = CorpusLines(file, local, web, tally)
    ids = PassageIds()
    # How many bytes of the file are read, and how many of these are written to the store.
    position = saved = 0
    try:
        with open_corpus(file.source or file.path) as stream:
            for number, end, line in passage_lines(stream):
                position = end
                try:
                    record = _read_line(line, number, ids, is_split=web is not None)
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
    _count_corpus(file, before, tally)


def _read_line(line: bytes, number: int, ids: PassageIds, is_split: bool) -> PassageRecord:
    """Read the passage in a line of a corpus.

    :param line: The line.
    :param number: The number of the line, from 1.
    :param ids: The IDs of the lines above. That of the line is added.
    :param is_split: Whether the corpus is split by the field `source`.
    :raises PassageError: If the line is no passage, or has a wrong source or the ID of another line.
    """
    record = read_passage_line(line, number)
    if is_split and record.source not in _SOURCES:
        raise PassageError(f"'source' must be local, web or both to split a corpus by it, not {record.source!r}")
    if not ids.add(record.id):
        raise PassageError(f"an earlier line has the id '{record.id}' too: ids must be unique")
    return record


def _count_corpus(file: FoundFile, before: IndexReport, tally: Tally) -> None:
    """Count a corpus in the report as read or unchanged, or report that the file as a whole is skipped.

    :param file: The corpus, all of whose lines were read.
    :param before: The report before the corpus was read.
    :param tally: Has the present report.
    """
    report = tally.report
    skipped_here = report.skipped[len(before.skipped) :]
    if report.written > before.written:
        report.files += 1
    elif report.unchanged > before.unchanged:
        report.files += 1
        report.unchanged_files += 1
    elif report.skipped_lines > before.skipped_lines:
        # No line is a passage, so the file is probably not a corpus. Report the file once, and not each line.
        first = skipped_here[0]
        del report.skipped[len(before.skipped) :]
        report.skipped_lines = before.skipped_lines
        tally.skip(file.path, f"none of its lines is a passage; line {first.line}: {first.reason}")
    elif not skipped_here:
        tally.skip(file.path, "it is empty")


# The maximum size of a corpus that is a JSON list, in bytes. A JSON list is read as a whole. A JSONL file is read line
# by line, so it may be larger.
MOST_LIST_BYTES = 50_000_000


def open_corpus(path: Path) -> BinaryIO:
    """Open a corpus as lines of JSON. A JSON list is converted to such lines in memory.

    :param path: The path of the corpus.
    :returns: The lines as a binary file.
    :raises PassageError: If a JSON list is too large, or if the file is no JSON list.
    :raises OSError: If the file cannot be opened.
    """
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
    lines = "".join(f"{json.dumps(passage)}\n" for passage in passages)
    return io.BytesIO(lines.encode("ascii"))


class _Line(NamedTuple):
    """A line of a corpus.

    :param number: The number of the line, from 1.
    :param passage: The passage in the line.
    :param source: The field `source` of the line. It says whether the passage goes to the local store, to the store for
        the web, or to both.
    """

    number: int
    passage: Document
    source: object


class CorpusLines:
    """A batch of lines from one corpus. They are written together, because every write ends with a slow commit."""

    def __init__(self, file: FoundFile, local: PassageStore, web: PassageStore | None, tally: Tally) -> None:
        """Start with an empty batch.

        :param file: The corpus.
        :param local: The store for the passages of the collection.
        :param web: The store for the passages that are searched in place of the web. None if there is no such store.
        :param tally: Counts the passages, and reports skipped lines.
        """
        self._file = file
        self._local = local
        self._web = web
        self._tally = tally
        self._lines: dict[str, _Line] = {}
        self._bytes = 0
        # The IDs of other corpora by their paths. None stands for a corpus that cannot be read. A corpus is read when
        # its IDs are first needed.
        self._others: dict[str, np.ndarray | None] = {}

    @property
    def are_enough(self) -> bool:
        """Whether the batch is large enough to be written."""
        return len(self._lines) >= self._local.batch or self._bytes >= MOST_BATCH_BYTES

    def add(self, number: int, record: PassageRecord, size: int) -> None:
        """Add a line to the batch.

        :param number: The number of the line, from 1.
        :param record: The passage in the line.
        :param size: The size of the line in bytes.
        """
        passage = record.document(corpus=str(self._file.path))
        self._lines[record.id] = _Line(number, passage, record.source)
        self._bytes += size

    def write(self) -> None:
        """Write the new and changed lines, count the unchanged lines, and report the lines that cannot be written.

        The batch is empty afterwards.
        """
        self._write_to(self._local, ("local", "both"))
        if self._web is not None:
            self._write_to(self._web, ("web", "both"))
        self._lines = {}
        self._bytes = 0

    def _write_to(self, store: PassageStore, own: tuple[str, ...]) -> None:
        """Write the lines that belong to a store, and delete the other lines from the store.

        :param store: The store.
        :param own: The values of the field `source` with which a line belongs to this store. If the corpus is not
            split, all lines belong to it.
        """
        report = self._tally.report
        corpus = str(self._file.path)
        stored = store.by_id(list(self._lines))
        changed = []
        # The IDs of the lines that belonged to this store earlier, and belong to the other store now.
        moved = []
        for passage_id, (number, passage, source) in self._lines.items():
            earlier = stored.get(passage_id)
            belongs_here = self._web is None or source in own
            if not belongs_here:
                if earlier is not None and earlier.meta.get("corpus") == corpus:
                    moved.append(passage_id)
            elif earlier is None:
                changed.append(passage)
            elif (earlier.content, earlier.meta) == (passage.content, passage.meta):
                report.unchanged += 1
            elif not self._belongs_to_other(earlier):
                changed.append(passage)
            elif (earlier.content, {**earlier.meta, "corpus": corpus}) == (passage.content, passage.meta):
                # Two corpora may have exactly the same passage. It is indexed only once.
                report.unchanged += 1
            else:
                reason = (
                    f"a passage of {earlier.meta['corpus']} has the id '{passage_id}' too: change the id on this line, "
                    "or first delete that corpus from the index"
                )
                self._tally.skip_line(self._file.path, number, reason)

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
        """Check whether a stored passage still belongs to another corpus. Such a passage must not be overwritten."""
        other = passage.meta.get("corpus")
        if not other or other == str(self._file.path):
            return False

        # An uploaded corpus may be on another machine, where it cannot be read. So assume that it still has the
        # passage.
        is_uploaded = other.startswith(UPLOADED) or str(self._file.path).startswith(UPLOADED)
        if is_uploaded or passage.id in self._local.written:
            return True
        if not is_there(other):
            return False

        if other not in self._others:
            self._others[other] = read_ids(other)
        ids = self._others[other]
        return ids is None or contains_id(ids, passage.id)


class PassageIds:
    """The IDs that were read from a corpus. They are stored as digests of 8 bytes, to save memory."""

    # When this many new digests are in the set, they are moved to the sorted array, which takes less memory.
    _MOST_UNSORTED = 500_000

    def __init__(self) -> None:
        self._sorted = np.empty(0, dtype=np.uint64)
        self._unsorted: set[int] = set()

    def add(self, passage_id: str) -> bool:
        """Add an ID.

        :param passage_id: The ID.
        :returns: False if the ID was added before.
        """
        digest = _digest(passage_id)
        if digest in self._unsorted or _contains(self._sorted, digest):
            return False
        self._unsorted.add(digest)
        if len(self._unsorted) >= self._MOST_UNSORTED:
            new_digests = np.fromiter(self._unsorted, dtype=np.uint64, count=len(self._unsorted))
            self._sorted = np.sort(np.concatenate((self._sorted, new_digests)))
            self._unsorted.clear()
        return True


def read_ids(corpus: str, report: IndexReport | None = None) -> np.ndarray | None:
    """Read the IDs of a corpus.

    :param corpus: The path of the corpus.
    :param report: The report to which a corpus that cannot be read is added. None if it is not to be reported.
    :returns: The IDs as sorted digests. None if any line cannot be read.
    """
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
    """Read the IDs of all passages in a corpus. Lines that are not passages are ignored.

    :param corpus: The path of the corpus.
    :returns: The IDs.
    """
    ids = set()
    with open_corpus(corpus) as stream:
        for number, _, line in passage_lines(stream):
            with suppress(PassageError):
                ids.add(read_passage_line(line, number).id)
    return ids


def contains_id(ids: np.ndarray, passage_id: str) -> bool:
    """Check whether a corpus has an ID.

    :param ids: The digests that :func:`read_ids` returned for the corpus.
    :param passage_id: The ID.
    :returns: Whether the corpus has it.
    """
    return _contains(ids, _digest(passage_id))


def _digest(passage_id: str) -> int:
    """Return the digest of an ID as a number of 8 bytes."""
    digest = hashlib.blake2b(passage_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _contains(digests: np.ndarray, digest: int) -> bool:
    """Check whether a sorted array has a digest."""
    position = int(np.searchsorted(digests, np.uint64(digest)))
    return position < len(digests) and int(digests[position]) == digest
