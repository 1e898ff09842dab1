"""Indexes that many tests start from; each is made once and then copied."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

# Test data is kept in memory if there is space, because each commit of an index waits for the disk.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 2**30 else None
# The folder is removed when the process ends.
_MADE = tempfile.TemporaryDirectory(prefix="prefrag-indexes-", dir=MEMORY)
_FOLDERS: dict[str, Path] = {}


def index_of(documents: Sequence[Document], path: Path) -> TantivyDocumentStore:
    """Make an index with some documents at a path of its own.

    :param documents: The documents.
    :param path: Where to put the index.
    :returns: The store of the index.
    """
    key = repr([document.to_dict() for document in documents])
    if key not in _FOLDERS:
        # Making an index takes ten times as long as copying one, and on a disk a hundred times.
        made = Path(_MADE.name) / str(len(_FOLDERS))
        TantivyDocumentStore(path=str(made)).write_documents(list(documents))
        _FOLDERS[key] = made
    shutil.copytree(_FOLDERS[key], path)
    return TantivyDocumentStore(path=str(path))
