"""Index corpora and users' own files, and keep the index in step with them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from haystack.document_stores.types import DocumentStore

from prefrag.components.document_stores.tantivy.index_location import DEFAULT_INDEX
from prefrag.indexing.corpora import index_corpus
from prefrag.indexing.corpus_files import CORPUS_SUFFIX
from prefrag.indexing.deletion import find_passages
from prefrag.indexing.discovery import find_files, printable, real_path
from prefrag.indexing.files import index_files
from prefrag.indexing.origin import origin_of
from prefrag.indexing.pruning import find_vanished, prune_passages, select_below
from prefrag.indexing.report import (
    Deletion,
    IndexedFile,
    IndexReport,
    OnPlan,
    OnProgress,
    Progress,
    PrunePlan,
    Skipped,
)
from prefrag.indexing.stores import open_passages
from prefrag.indexing.tally import Tally

__all__ = [
    "CORPUS_SUFFIX",
    "WEB_INDEX_SUFFIX",
    "Deletion",
    "IndexReport",
    "IndexedFile",
    "OnPlan",
    "OnProgress",
    "Progress",
    "PrunePlan",
    "Skipped",
    "delete_documents",
    "index",
    "list_documents",
    "prune",
]

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
) -> IndexReport:
    """Index corpora, files and folders.

    Each line of a JSONL corpus is a passage, identified by its `id`: new and changed lines are written, lines that left
    the corpus stay until they are pruned, and a line whose id an earlier line or another corpus has is reported and
    skipped. A JSON list of such passages is a corpus, too. Any other file of a kind in `file_conversion.FORMATS` is
    split into passages when it is new or its content changed, and they replace its earlier ones. A file is identified
    by its real path, however it was reached. Hidden files are left out, and what cannot be read is reported and
    skipped; its earlier passages stay, as those of files that are gone do until they are pruned.

    The index itself records what it holds, so a second call, also after a crash, only does what is missing. New
    passages are written before old ones are deleted, so nothing is lost at any time.

    :param paths: Corpora, files, and folders of them.
    :param index: The name of the index; a missing one is made.
    :param store: `tantivy`, `elasticsearch` (at `PREFRAG_ELASTICSEARCH_URL`), or any Haystack document store.
    :param language: The language of stemmer and stop words for a new index; None is English.
    :param split_sources: Keep the simulated sources of a corpus apart: lines whose `source` is `local` or `both` go
        to the index, `web` or `both` to a second one of the same name with `-web`. Files go to the first.
    :param prune: Whether to prune at the end, as `prune` does, but only what was indexed from the given folders, and
        beside the given files.
    :param on_progress: Called after every write and every file.
    :param on_plan: Called before pruning deletes, with what it will delete from an index.
    :returns: What was done and what was skipped.
    :raises FileNotFoundError: When a path does not exist; nothing was indexed then.
    :raises ValueError: When the store, the language or the name is invalid.
    :raises DocumentStoreError: When the store fails. What was reported as written is there.
    """
    started = time.perf_counter()
    report = IndexReport()
    paths = list(paths)
    files = list(find_files(paths, report))
    local = open_passages(store, index, language=language, make=True)
    web = None
    if split_sources:
        if not isinstance(store, str):
            raise ValueError("split_sources needs a store that can hold two indexes: 'tantivy' or 'elasticsearch'.")
        web = open_passages(store, index + WEB_INDEX_SUFFIX, language=language, make=True)

    tally = Tally(report, sum(file.size for file in files), on_progress)
    try:
        index_files([file for file in files if not file.is_corpus], local, tally)
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
    report.seconds = time.perf_counter() - started
    return report


def list_documents(index: str = DEFAULT_INDEX, store: str | DocumentStore = "tantivy") -> list[IndexedFile]:
    """List the files and corpora of an index.

    :param index: The name of the index.
    :param store: As for `index`.
    :returns: The entries, sorted by path; passages of another origin are one entry at the end.
    :raises FileNotFoundError: When there is no such index.
    :raises DocumentStoreError: When the store fails.
    """
    found: dict[tuple[str, str | None], IndexedFile] = {}
    for passage in open_passages(store, index).all():
        kind, path = origin_of(passage)
        if (entry := found.get((kind, path))) is None:
            title = str(passage.meta.get("title") or "") if kind == "file" else Path(path or "").name
            entry = found[(kind, path)] = IndexedFile(path, kind, title)
        entry.passages += 1
    return sorted(found.values(), key=lambda entry: (entry.path is None, entry.path or ""))


def delete_documents(
    targets: Iterable[str], *, index: str = DEFAULT_INDEX, store: str | DocumentStore = "tantivy"
) -> Deletion:
    """Delete passages from an index; the files themselves stay.

    :param targets: Ids of passages, files, corpora, or folders with everything that was indexed below them. They
        need not exist any more.
    :param index: The name of the index.
    :param store: As for `index`.
    :returns: The number of deleted passages, and the targets that the index does not hold.
    :raises BadInput: When a target names nothing, or everything: an empty text, `.` or `/`. Nothing is deleted then.
    :raises FileNotFoundError: When there is no such index.
    :raises DocumentStoreError: When the store fails.
    """
    passages = open_passages(store, index, change=True)
    found = find_passages(passages, list(dict.fromkeys(targets)))
    ids = set().union(*found.values())
    passages.delete_in_batches(ids)
    passages.finish()
    return Deletion(len(ids), [target for target, of_target in found.items() if not of_target])


def prune(
    index: str = DEFAULT_INDEX,
    *,
    store: str | DocumentStore = "tantivy",
    on_plan: OnPlan | None = None,
    dry_run: bool = False,
) -> IndexReport:
    """Delete the passages of files that no longer exist and of lines that left a corpus.

    A corpus with an unreadable line keeps all its passages, because that line may be one of them. Nothing of a folder
    is deleted while the folder is missing or holds no file, because then a drive is probably not mounted.

    :param index: The name of the index.
    :param store: As for `index`.
    :param on_plan: Called before anything is deleted, with what will be.
    :param dry_run: Whether to delete nothing, only to call `on_plan`.
    :returns: What was deleted (`deleted`, `pruned`) and what could not be checked or was spared (`skipped`).
    :raises FileNotFoundError: When there is no such index.
    :raises DocumentStoreError: When the store fails.
    """
    started = time.perf_counter()
    report = IndexReport()
    passages = open_passages(store, index, change=True)
    prune_passages(passages, report, on_plan=on_plan, dry_run=dry_run)
    passages.finish()
    report.seconds = time.perf_counter() - started
    return report
