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

    A corpus is a JSONL file with one passage per line, or a JSON list of passages. Each passage is identified by its
    `id`. New and changed passages are written. A passage is reported and skipped if an earlier line or another corpus
    has the same id. Any other file is split into passages if its suffix is in `file_forms.FORMATS`. When the file
    changes, new passages replace its earlier passages. A file is identified by its real path, so links do not index it
    twice. Hidden files are left out. A file that cannot be read is reported and skipped, and its earlier passages stay.
    Passages of deleted files, and passages that were removed from a corpus, stay until the index is pruned.

    The index itself records what it holds, so a second call does only what is missing, even after a crash. New passages
    are written before old passages are deleted, so nothing is lost at any time.

    :param paths: Corpora, files, and folders of them.
    :param index: The name of the index, which is made if it does not exist.
    :param store: `tantivy`, `elasticsearch` (at `PREFRAG_ELASTICSEARCH_URL`), or any Haystack document store.
    :param language: The language of the stemmer and the stop words of a new index. None means English.
    :param split_sources: Whether to keep two simulated sources of a corpus apart. A line goes to this index if its
        `source` is `local`, to a second index with the suffix `-web` if it is `web`, and to both indexes if it is
        `both`. Other files go to this index.
    :param prune: Whether to prune at the end, but only files below the given folders or beside the given files.
    :param on_progress: Called after every write and every file.
    :param on_plan: Called before passages are pruned, with the number of passages of each file.
    :param runner: The runner that converts the files. By default, they are converted one after another.
    :param top: A folder. The names of folders between it and a file may mark the file as a draft or old. By default,
        each given folder is the top for its own files.
    :returns: A report of what was indexed and what was skipped.
    :raises FileNotFoundError: When a path does not exist. Then nothing is indexed.
    :raises ValueError: When the store, the language or the name of the index is invalid.
    :raises DocumentStoreError: When the store fails. Passages that were reported as written are safe.
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
