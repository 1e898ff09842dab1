"""Indexes that many tests begin with: each is made once, and copied from then on."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

# Where data of tests lie: in memory, if there is room, because each commit of an index waits for the disk.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 2**30 else None
# Removed when the process ends.
_MADE = tempfile.TemporaryDirectory(prefix="prefrag-indexes-", dir=MEMORY)
_FOLDERS: dict[str, Path] = {}


def index_of(documents: Sequence[Document], path: Path) -> TantivyDocumentStore:
    """Give an index of its own that holds some documents.

    :param documents: The documents.
    :param path: Where it shall lie.
    :returns: Its store.
    """
    key = repr([document.to_dict() for document in documents])
    if key not in _FOLDERS:
        # Making one takes ten times as long as copying it, and on a disk a hundred.
        made = Path(_MADE.name) / str(len(_FOLDERS))
        TantivyDocumentStore(path=str(made)).write_documents(list(documents))
        _FOLDERS[key] = made
    shutil.copytree(_FOLDERS[key], path)
    return TantivyDocumentStore(path=str(path))
