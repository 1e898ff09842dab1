"""Index corpora and users' own files, and update the index when these files have changed.

:func:`index` is the entry point for the command line, the server and programs. A corpus is a file that already has
passages. All other files are converted into passages.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from haystack.document_stores.types import DocumentStore

from prefrag.collections.changes.deletion import delete_documents, find_vanished, prune, prune_passages, select_below
from prefrag.collections.collection import Collection, entries_of
from prefrag.collections.corpora import index_corpus
from prefrag.collections.files import index_files
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import PassageStore
from prefrag.indexing.discovery import CORPUS_SUFFIX, find_files, printable, real_path
from prefrag.indexing.report import IndexedFile, IndexReport, OnPlan, OnProgress, Tally

if TYPE_CHECKING:
    from prefrag.pipelines.runners.runner import Runner

__all__ = ["CORPUS_SUFFIX", "delete_documents", "index", "list_documents", "prune"]


def index(
    paths: Iterable[str | os.PathLike[str]],
    collection: Collection | DocumentStore = LocalCollection(),
    *,
    language: str | None = None,
    split_sources: bool = False,
    prune: bool = False,
    on_progress: OnProgress | None = None,
    on_plan: OnPlan | None = None,
    runner: Runner | None = None,
    top: Path | None = None,
    links: bool = False,
) -> IndexReport:
    """Index corpora, files and folders.

    - A corpus is a JSONL file with one passage in each line, or a JSON list of passages. Each passage has an `id`. A
      passage is reported and skipped if an earlier line or another corpus has the same ID.
    - Any other file is split into passages if its suffix is in `file_forms.FORMATS`.
    - If a file has changed since it was indexed, its new passages replace its old passages.
    - Links are resolved, so no file is indexed twice. Hidden files are left out.
    - A file that cannot be read is reported and skipped. Its old passages stay in the index.
    - The passages of a deleted file, or of a line that was removed from a corpus, stay until the index is pruned.

    A call does not repeat work that is already done. So after a crash, the same call can simply be made again. New
    passages are written before old passages are deleted, so a crash loses nothing.

    :param paths: Corpora, files, and folders with corpora and files.
    :param collection: The collection, or any Haystack document store. A collection is made if it does not exist.
    :param language: The language of the stemmer and the stop words of a new collection. None means English.
    :param split_sources: Whether to make a second collection, with the suffix `-web`, that is searched in place of the
        web. The field `source` of a line of a corpus says where the line goes: `local` to the first collection, `web`
        to the second, `both` to both. All other files go to the first collection.
    :param prune: Whether to delete, at the end, the passages of files and lines that no longer exist. Only files inside
        the given folders or beside the given files are checked.
    :param on_progress: A function that is called after every write and every file. None if nobody wants the progress.
    :param on_plan: A function that is called before passages are pruned. It gets the number of passages to delete of
        each file. None if nobody wants the plan.
    :param runner: The runner that converts the files, for example in several processes. None converts them one by one.
    :param top: The folder below which the names of folders have a meaning. A file in a folder such as "drafts" or "old"
        counts as a draft or as old. None makes each folder in ``paths`` the top of its own files.
    :param links: Whether to follow links that lead out of ``top``. A link that leads on from there is never followed.
    :returns: A report of what was indexed and what was skipped.
    :raises FileNotFoundError: If a path does not exist. Then nothing is indexed.
    :raises ValueError: If the language or the name of the collection is invalid.
    :raises DocumentStoreError: If the store fails. Passages that ``on_progress`` counted as written are safe.
    """
    started = time.perf_counter()
    report = IndexReport()
    paths = list(paths)
    # `find_files` also adds the files that are not read to the report.
    files = list(find_files(paths, report, top, links))
    local, web = _open_stores(collection, language, split_sources)
    stores = [local] if web is None else [local, web]

    tally = Tally(report, sum(file.size for file in files), on_progress)
    try:
        index_files([file for file in files if not file.is_corpus], local, tally, runner)
        for file in files:
            if file.is_corpus:
                index_corpus(file, local, web, tally)

        real_paths = [printable(real_path(path)) for path in paths]
        folders = [path for path in real_paths if os.path.isdir(path)]
        for passages in stores:
            if prune:
                prune_passages(passages, report, concerns=select_below(real_paths), on_plan=on_plan)
            elif folders:
                vanished = find_vanished(passages, select_below(folders))
                report.vanished += [path for path in vanished if path not in report.vanished]
    finally:
        for passages in stores:
            passages.finish()

    if isinstance(collection, Collection):
        collection.keep_skipped(report, real_paths)
    report.seconds = time.perf_counter() - started
    return report


def _open_stores(
    collection: Collection | DocumentStore, language: str | None, split_sources: bool
) -> tuple[PassageStore, PassageStore | None]:
    """Open the passages of a collection, and those that are searched in place of the web.

    The latter are None if the corpora are not split. Missing collections are made.
    """
    if not isinstance(collection, Collection):
        if split_sources:
            raise ValueError("split_sources makes a second collection: give a collection, and not a document store.")
        return PassageStore(collection), None
    local = collection.passages(language=language, make=True)
    web = collection.web.passages(language=language, make=True) if split_sources else None
    return local, web


def list_documents(collection: Collection | DocumentStore = LocalCollection()) -> list[IndexedFile]:
    """List the files and corpora of a collection.

    :param collection: The collection, or any Haystack document store.
    :returns: The entries, sorted by path. All passages without a path form one entry at the end.
    :raises FileNotFoundError: If there is no such collection.
    """
    if isinstance(collection, Collection):
        return collection.entries()
    return entries_of(PassageStore(collection).count_origins())
