"""Hold the ids of a corpus as digests of eight bytes each, because corpora have millions."""

from __future__ import annotations

import hashlib
from array import array
from pathlib import Path

import numpy as np

from prefrag.components.text.passage_record import PassageError, passage_lines, read_passage_line
from prefrag.indexing.corpus_files import open_corpus
from prefrag.indexing.report import IndexReport, Skipped


class PassageIds:
    """The ids that were read from a corpus so far."""

    _MOST_UNSORTED = 500_000

    def __init__(self) -> None:
        self._sorted = np.empty(0, dtype=np.uint64)
        self._unsorted: set[int] = set()

    def add(self, passage_id: str) -> bool:
        """Add an id."""
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
    """Read the ids of a corpus."""
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


def contains_id(ids: np.ndarray, passage_id: str) -> bool:
    """Check whether an id is among those of a corpus."""
    return _contains(ids, _digest(passage_id))


def _digest(passage_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(passage_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _contains(digests: np.ndarray, digest: int) -> bool:
    position = int(np.searchsorted(digests, np.uint64(digest)))
    return position < len(digests) and int(digests[position]) == digest
