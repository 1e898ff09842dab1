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
    name = detect(file.path) if format == "auto" else format
    if name == "jsonl" and os.path.realpath(file.path).lower().endswith(indexing.CORPUS_SUFFIX):
        return indexing.index([file.path], collection, split_sources=split, on_progress=on_progress)
    if split:
        raise ValueError(
            f"{file.path} has the format {name} and does not name the source of each passage, so it cannot be split. "
            f"Give another corpus for the web, or a {indexing.CORPUS_SUFFIX} corpus whose lines have a 'source'."
        )
    return _index_passages(file, name, collection, on_progress)


def absent_passages(ids: Iterable[str], collections: Iterable[Collection]) -> set[str]:
    """Find the passages that are in none of the collections.

    :param ids: The ids of passages.
    :param collections: The collections.
    :returns: The ids of the absent passages.
    """
    absent = set(ids)
    for collection in dict.fromkeys(collections):
        if absent:
            absent -= collection.passages().by_id(sorted(absent)).keys()
    return absent


def _index_passages(
    file: DatasetFile, format: str, collection: Collection, on_progress: OnProgress | None
) -> IndexReport:
    """Write the passages of a corpus to a collection in batches, unless they are there already."""
    started = time.perf_counter()
    report = IndexReport(files=1)
    size = file.size()
    real = os.path.realpath(file.path)
    passages = collection.passages(make=True)
    try:
        for batch in _batches(read_passages(file, format), passages.batch):
            # The name of the corpus is put into the metadata of each passage. `prefrag documents list` and `prefrag
            # documents delete` look for it there. The dictionary has one passage per id, because a store refuses a
            # batch that contains the same id twice.
            by_id = {}
            for passage in batch:
                by_id[passage.id] = replace(passage, meta={**passage.meta, "corpus": real})
            stored = passages.by_id(list(by_id))
            unwritten = [passage for passage in by_id.values() if not _is_stored(passage, stored)]
            refused = passages.write(unwritten)
            if refused:
                passage_id, reason = next(iter(refused.items()))
                raise DocumentStoreError(
                    f"The store refused {len(refused)} passages of {real}. The first is '{passage_id}': {reason}."
                )

            report.written += len(unwritten)
            report.replaced += sum(passage.id in stored for passage in unwritten)
            report.unchanged += len(by_id) - len(unwritten)
            if on_progress is not None:
                on_progress(Progress(real, min(file.position, size), size, report.written, report.unchanged))
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
    names = [name]
    web = None
    if split:
        name += "-split"
        web = name + WEB_SUFFIX
        names = [name, web]

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
        return CorpusIndexes(name, web)
    if _all_exist(names):
        return CorpusIndexes(name, web)

    with index_lock(name):
        # While this process waited, another process may have made the indexes.
        if not _all_exist(names):
            making = name + _UNFINISHED
            index_into(making)
            unfinished = {"local": making}
            if web is not None:
                unfinished["web"] = making + WEB_SUFFIX
            for source, part in unfinished.items():
                if not index_exists(index_path(part)):
                    raise ValueError(f"{file.path} has no passage with source '{source}' or 'both': set split=false.")
            for part, whole in zip(unfinished.values(), names, strict=True):
                _put_in_place(index_path(part), index_path(whole))
    return CorpusIndexes(name, web)


def _all_exist(names: Iterable[str]) -> bool:
    """Check whether all tantivy indexes of these names exist."""
    return all(index_exists(index_path(name)) for name in names)


def _put_in_place(part: Path, whole: Path) -> None:
    """Give a complete index its final name."""
    try:
        part.rename(whole)
    except OSError:
        # The index may already exist. Then an earlier call stopped between the two renames, or a parallel call ran
        # without locks.
        if not index_exists(whole):
            raise
        shutil.rmtree(part, ignore_errors=True)


def _fingerprint(file: DatasetFile, format: str) -> str:
    """Return the first 16 digits of a hash of the corpus, of its format and of the recipe."""
    digest = file.digest()
    digest.update(f"\n{format} {_RECIPE}".encode())
    return digest.hexdigest()[:16]
