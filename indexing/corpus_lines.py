"""Collect lines of a corpus that are written together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from haystack import Document

from prefrag.components.text.passage_record import PassageRecord
from prefrag.indexing.discovery import FoundFile
from prefrag.indexing.origin import is_there
from prefrag.indexing.passage_ids import contains_id, read_ids
from prefrag.indexing.stores import MOST_BATCH_BYTES, PassageStore
from prefrag.indexing.tally import Tally


class _Line(NamedTuple):
    number: int
    passage: Document
    source: object


class CorpusLines:
    """A batch of lines of one corpus, written together because every write costs a commit.

    :param file: The corpus.
    :param local: The index; where sources are split, that of the lines whose `source` is `local` or `both`.
    :param web: Where sources are split, the index of the lines whose `source` is `web` or `both`.
    :param tally: Where to report.
    """

    def __init__(self, file: FoundFile, local: PassageStore, web: PassageStore | None, tally: Tally) -> None:
        self._file = file
        self._local = local
        self._web = web
        self._tally = tally
        self._lines: dict[str, _Line] = {}
        self._bytes = 0
        # The ids of the other corpora that were needed so far; None for a corpus that cannot be read.
        self._others: dict[str, np.ndarray | None] = {}

    @property
    def are_enough(self) -> bool:
        """Whether there are enough lines for a write."""
        return len(self._lines) >= self._local.batch or self._bytes >= MOST_BATCH_BYTES

    def add(self, number: int, record: PassageRecord, size: int) -> None:
        """Add a line."""
        passage = record.document(corpus=str(self._file.path))
        self._lines[record.id] = _Line(number, passage, record.source)
        self._bytes += size

    def write(self) -> None:
        """Write the new and changed lines, and count or report the others."""
        for store, own in ((self._local, ("local", "both")), (self._web, ("web", "both"))):
            if store is not None:
                self._write_to(store, own)
        self._lines, self._bytes = {}, 0

    def _write_to(self, store: PassageStore, own: tuple[str, ...]) -> None:
        report = self._tally.report
        corpus = str(self._file.path)
        stored = store.by_id(list(self._lines))
        changed = []
        moved = []
        for passage_id, (number, passage, source) in self._lines.items():
            there = stored.get(passage_id)
            if self._web is not None and source not in own:
                if there is not None and there.meta.get("corpus") == corpus:
                    moved.append(passage_id)
            elif there is not None and (there.content, there.meta) == (passage.content, passage.meta):
                report.unchanged += 1
            elif there is not None and self._is_of_another(there):
                # An equal passage of another corpus loses nothing.
                if (there.content, {**there.meta, "corpus": corpus}) == (passage.content, passage.meta):
                    report.unchanged += 1
                    continue
                reason = (
                    f"the id '{passage_id}' is that of a passage of {there.meta['corpus']}: give it another id, or "
                    "delete that corpus from the index first"
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

    def _is_of_another(self, passage: Document) -> bool:
        """Check whether another corpus still holds a passage, which must then not be overwritten."""
        other = passage.meta.get("corpus")
        if not other or other == str(self._file.path) or not is_there(other):
            return False
        if other not in self._others:
            self._others[other] = read_ids(other)
        known = self._others[other]
        return known is None or contains_id(known, passage.id)
