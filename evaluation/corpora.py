"""Make the indexes of the corpora that an evaluation searches.

The name of an index contains a digest of its corpus. So each corpus is indexed only once, and a changed corpus gets a
new index.
"""

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections import indexing
from prefrag.collections.collection import WEB_SUFFIX, Collection
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import index_lock
from prefrag.components.document_stores.tantivy.index import index_exists
from prefrag.components.document_stores.tantivy.index_location import CORPUS_PREFIX, index_path
from prefrag.evaluation.datasets import detect, read_passages
from prefrag.evaluation.datasets.dataset_file import DatasetFile
from prefrag.indexing.report import IndexReport, OnProgress, Progress, Skipped

logger = logging.getLogger(__name__)

T = TypeVar("T")

# This number is part of the name of every index. Increase it whenever you change how passages are read or written.
_RECIPE = 2
# The end of the name of an index that is not complete yet.
_UNFINISHED = ".part"


class CorpusIndexes(NamedTuple):
    """The names of the indexes of a corpus."""

    # The index that the local source searches.
    local: str
    # The index that is searched in place of the web. None if there is no such index.
    web: str | None


def ensure_indexes(
    corpus: str | os.PathLike[str],
    *,
    split: bool,
    kind: type[Collection] = LocalCollection,
    web_corpus: str | os.PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
    on_skipped: Callable[[Skipped], None] | None = None,
) -> CorpusIndexes:
    """Make the indexes of a corpus, unless they exist and the corpus has not changed.

    If the indexing was interrupted, the next call continues it. If another process is making the index, the call waits.
    A tantivy index gets its final name only when it is complete. An Elasticsearch index has its final name from the
    start. So every call compares an Elasticsearch index with the corpus.

    :param corpus: The file, folder or archive with the passages.
    :param split: Whether the corpus is divided between the two sources, by the `source` of each passage.
    :param kind: The kind of index.
    :param web_corpus: Another corpus, which replaces the web.
    :param on_progress: Called with the progress of the indexing.
    :param on_skipped: Called for each line that cannot be read. None means that a warning is logged.
    :returns: The names of the indexes.
    :raises ValueError: If the corpus is split although there is another corpus for the web, or if it cannot be read.
    """
    if split and web_corpus is not None:
        raise ValueError("Either split the corpus or give another corpus for the web, not both.")
    if on_skipped is None:
        on_skipped = partial(logger.warning, "Skipped %s")
    indexes = _make_indexes(corpus, split, kind, on_progress, on_skipped)
    if web_corpus is None:
        return indexes
    web_indexes = _make_indexes(web_corpus, split, kind, on_progress, on_skipped)
    return CorpusIndexes(indexes.local, web_indexes.local)


def index_corpus(
    corpus: str | os.PathLike[str],
    collection: Collection,
    *,
    format: str = "auto",
    split: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Index a corpus. A second call, for example after a crash, writes only what is missing or has changed.

    Memory use does not grow with the corpus.

    :param corpus: The file, folder or archive with the passages.
    :param collection: The collection to write to.
    :param format: The format of the corpus, see ``datasets``. "auto" means that it is detected.
    :param split: Whether the corpus is divided between the two sources. Only the project's own format can be split.
    :param on_progress: Called with the progress of the indexing.
    :returns: What was written.
    :raises ValueError: If the corpus cannot be read or cannot be split.
    """
    file = DatasetFile(corpus)
    format_name = detect(file.path) if format == "auto" else format
    if format_name == "jsonl" and os.path.realpath(file.path).lower().endswith(indexing.CORPUS_SUFFIX):
        return indexing.index([file.path], collection, split_sources=split, on_progress=on_progress)
    if split:
        raise ValueError(
            f"{file.path} has the format {format_name} and does not name the source of each passage, so it cannot be "
            f"split. Give another corpus for the web, or a {indexing.CORPUS_SUFFIX} corpus whose lines have a 'source'."
        )
    return _index_passages(file, format_name, collection, on_progress)


def absent_passages(ids: Iterable[str], collections: Iterable[Collection]) -> set[str]:
    """Find the passages that are in none of the collections.

    :param ids: The ids of passages.
    :param collections: The collections.
    :returns: The ids of the absent passages.
    """
    absent_ids = set(ids)
    # A collection that is listed twice is searched once.
    for collection in dict.fromkeys(collections):
        if absent_ids:
            absent_ids -= collection.passages().by_id(sorted(absent_ids)).keys()
    return absent_ids


def _index_passages(
    file: DatasetFile, format: str, collection: Collection, on_progress: OnProgress | None
) -> IndexReport:
    """Write the passages of a corpus to a collection in batches, unless they are there already."""
    started = time.perf_counter()
    report = IndexReport(files=1)
    size = file.size()
    real_path = os.path.realpath(file.path)
    passages = collection.passages(make=True)
    try:
        for batch in _batches(read_passages(file, format), passages.batch):
            # The name of the corpus is put into the metadata of each passage. `prefrag documents list` and `prefrag
            # documents delete` look for it there. The dictionary has one passage per id, because a store refuses a
            # batch that contains the same id twice.
            by_id = {}
            for passage in batch:
                by_id[passage.id] = replace(passage, meta={**passage.meta, "corpus": real_path})
            stored = passages.by_id(list(by_id))
            unwritten = [passage for passage in by_id.values() if not _is_stored(passage, stored)]
            refused = passages.write(unwritten)
            if refused:
                passage_id, reason = next(iter(refused.items()))
                raise DocumentStoreError(
                    f"The store refused {len(refused)} passages of {real_path}. The first is '{passage_id}': {reason}."
                )

            report.written += len(unwritten)
            report.replaced += sum(passage.id in stored for passage in unwritten)
            report.unchanged += len(by_id) - len(unwritten)
            if on_progress is not None:
                on_progress(Progress(real_path, min(file.position, size), size, report.written, report.unchanged))
    finally:
        passages.finish()
    report.seconds = time.perf_counter() - started
    return report


def _is_stored(passage: Document, stored: dict[str, Document]) -> bool:
    """Check whether the same passage, with the same text and metadata, is in the store."""
    old = stored.get(passage.id)
    return old is not None and old.content == passage.content and old.meta == passage.meta


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Split items into lists of at most ``size``.

    For example, ``list(_batches([1, 2, 3], 2))`` returns ``[[1, 2], [3]]``.
    """
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def _make_indexes(
    corpus: str | os.PathLike[str],
    split: bool,
    kind: type[Collection],
    on_progress: OnProgress | None,
    on_skipped: Callable[[Skipped], None],
) -> CorpusIndexes:
    """Make the indexes of one corpus, unless they exist."""
    file = DatasetFile(corpus)
    format = detect(file.path)
    name = f"{CORPUS_PREFIX}{_fingerprint(file, format)}"
    indexes = CorpusIndexes(name, None)
    if split:
        name += "-split"
        indexes = CorpusIndexes(name, name + WEB_SUFFIX)

    def index_into(collection: str) -> None:
        """Index the corpus into a collection of this name. Raise ValueError if nothing or only a part could be read."""
        report = index_corpus(file.path, kind(collection), format=format, split=split, on_progress=on_progress)
        for skipped in report.skipped:
            if skipped.line is None:
                raise ValueError(f"Part of the corpus could not be read: {skipped}.")
            on_skipped(skipped)
        if not report.written and not report.unchanged:
            raise ValueError(f"{file.path} holds no passages.")

    if kind is not LocalCollection:
        index_into(name)
    elif not _all_exist(indexes):
        with index_lock(name):
            # While this process waited, another process may have made the indexes.
            if not _all_exist(indexes):
                index_into(name + _UNFINISHED)
                _finish_indexes(indexes, file)
    return indexes


def _all_exist(indexes: CorpusIndexes) -> bool:
    """Check whether all tantivy indexes of a corpus exist."""
    return all(index_exists(index_path(name)) for name in indexes if name is not None)


def _finish_indexes(indexes: CorpusIndexes, corpus: DatasetFile) -> None:
    """Give the complete tantivy indexes of a corpus their final names. Raise ValueError if a source has no passage."""
    unfinished = indexes.local + _UNFINISHED
    renamings = {"local": (index_path(unfinished), index_path(indexes.local))}
    if indexes.web is not None:
        renamings["web"] = (index_path(unfinished + WEB_SUFFIX), index_path(indexes.web))
    for source, (unfinished_path, _) in renamings.items():
        if not index_exists(unfinished_path):
            raise ValueError(f"{corpus.path} has no passage with source '{source}' or 'both': set split=false.")
    for unfinished_path, final_path in renamings.values():
        _put_in_place(unfinished_path, final_path)


def _put_in_place(unfinished_path: Path, final_path: Path) -> None:
    """Give a complete index its final name."""
    try:
        unfinished_path.rename(final_path)
    except OSError:
        # The index may already exist. Then an earlier call stopped between the two renames, or a parallel call ran
        # without locks.
        if not index_exists(final_path):
            raise
        shutil.rmtree(unfinished_path, ignore_errors=True)


def _fingerprint(file: DatasetFile, format: str) -> str:
    """Return the first 16 digits of a hash of the corpus, of its format and of the recipe."""
    digest = file.digest()
    digest.update(f"\n{format} {_RECIPE}".encode())
    return digest.hexdigest()[:16]
