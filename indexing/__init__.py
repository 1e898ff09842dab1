"""Index corpora and users' own files, and keep the index in step with them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from haystack.document_stores.types import DocumentStore

from prefrag.components.document_stores.tantivy.index_location import DEFAULT_INDEX, index_path
from prefrag.indexing.corpora import index_corpus
from prefrag.indexing.deletion import delete_documents, find_vanished, prune, prune_passages, select_below
from prefrag.indexing.discovery import CORPUS_SUFFIX, find_files, printable, real_path
from prefrag.indexing.files import index_files
from prefrag.indexing.index_list import list_documents
from prefrag.indexing.report import IndexReport, OnPlan, OnProgress, Tally
from prefrag.indexing.skipped_files import keep_skipped
from prefrag.indexing.stores import open_passages

if TYPE_CHECKING:
    from pathlib import Path

    from prefrag.pipelines.runners.runner import Runner

__all__ = ["CORPUS_SUFFIX", "WEB_INDEX_SUFFIX", "delete_documents", "index", "list_documents", "prune"]

WEB_INDEX_SUFFIX = "-web"


def index(
    paths: Iterable[str | os.PathLike[str]],
    *,
    index: str = DEFAULT_INDEX,
    store: str | DocumentStore = "tantivy",
    language: str | None = None,
    split_sources: bool = False,
    prune: bool = False,
    on_progress: OnProgress | None = None,
    on_plan: OnPlan | None = None,
    runner: Runner | None = None,
    top: Path | None = None,
) -> IndexReport:
    """Index corpora, files and folders.

    Each line of a JSONL corpus is a passage, identified by its `id`. New and changed lines are written, and lines that
    left the corpus stay until they are pruned. A line is reported and skipped if an earlier line or another corpus has
    its id. A JSON list of such passages is a corpus, too. Any other file of a kind in `file_forms.FORMATS` is split
    into passages when it is new or has changed, and they replace its earlier ones. A file is identified by its real
    path, however it was reached. Hidden files are left out. A file that cannot be read is reported and skipped, and
    its earlier passages stay. The passages of a file that is gone stay until they are pruned.

    The index itself records what it holds, so a second call, even after a crash, does only what is missing. New
    passages are written before old ones are deleted, so nothing is lost at any time.

    :param paths: Corpora, files, and folders of them.
    :param index: The name of the index; a missing one is made.
    :param store: `tantivy`, `elasticsearch` (at `PREFRAG_ELASTICSEARCH_URL`), or any Haystack document store.
    :param language: The language of stemmer and stop words for a new index; None is English.
    :param split_sources: Keep the simulated sources of a corpus apart: lines whose `source` is `local` or `both` go
        to the index, `web` or `both` to a second one, whose name ends in `-web`. Files go to the first.
    :param prune: Whether to prune at the end, as `prune` does, but only what lies below the given folders or beside the
        given files.
    :param on_progress: Called after every write and every file.
    :param on_plan: Called with what will be pruned from an index, before anything is deleted.
    :param runner: Where files are converted; by default in this process.
    :param top: Names of folders below this one may mark a file as a draft or old; by default, below each of ``paths``.
    :returns: What was done and what was skipped.
    :raises FileNotFoundError: When a path does not exist; nothing was indexed then.
    :raises ValueError: When the store, the language or the name is invalid.
    :raises DocumentStoreError: When the store fails. What was reported as written is safe.
    """
    started = time.perf_counter()
    report = IndexReport()
    paths = list(paths)
    files = list(find_files(paths, report, top))
    local = open_passages(store, index, language=language, make=True)
    web = None
    if split_sources:
        if not isinstance(store, str):
            raise ValueError("split_sources needs a store that can hold two indexes: 'tantivy' or 'elasticsearch'.")
        web = open_passages(store, index + WEB_INDEX_SUFFIX, language=language, make=True)

    tally = Tally(report, sum(file.size for file in files), on_progress)
    try:
        index_files([file for file in files if not file.is_corpus], local, tally, runner)
        for file in files:
            if file.is_corpus:
                index_corpus(file, local, web, tally)
        real = [printable(real_path(path)) for path in paths]
        for passages in filter(None, (local, web)):
            if prune:
                prune_passages(passages, report, concerns=select_below(real), on_plan=on_plan)
            elif folders := [path for path in real if os.path.isdir(path)]:
                vanished = find_vanished(passages, select_below(folders))
                report.vanished += [path for path in vanished if path not in report.vanished]
    finally:
        for passages in filter(None, (local, web)):
            passages.finish()
    if store == "tantivy":
        keep_skipped(index_path(index), report, real)
    report.seconds = time.perf_counter() - started
    return report
