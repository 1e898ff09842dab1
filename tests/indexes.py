"""Indexes that many tests begin with: each is made once, and copied from then on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

# Removed when the process ends.
_MADE = tempfile.TemporaryDirectory(prefix="prefrag-indexes-")
_FOLDERS: dict[str, Path] = {}


def index_of(documents: Sequence[Document], path: Path) -> TantivyDocumentStore:
    """Give an index of its own that holds some documents.

    :param documents: The documents.
    :param path: Where it shall lie.
    :returns: Its store.
    """
    key = repr([document.to_dict() for document in documents])
    if key not in _FOLDERS:
        # Making one takes ten times as long as copying it, and as a commit waits for the disk, often a hundred times.
        made = Path(_MADE.name) / str(len(_FOLDERS))
        TantivyDocumentStore(path=str(made)).write_documents(list(documents))
        _FOLDERS[key] = made
    shutil.copytree(_FOLDERS[key], path)
    return TantivyDocumentStore(path=str(path))
