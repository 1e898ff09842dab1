"""Corpora and files to index, and the passages that an index then has."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path

Make = Callable[..., Path]


def line(passage_id: Any, text: Any = "A square in Vienna.", title: Any = "Karlsplatz", **more: Any) -> str:
    return json.dumps({"id": passage_id, "title": title, "text": text, **more}) + "\n"


def stored(name: str = "default") -> dict[str, Document]:
    documents = TantivyDocumentStore(path=str(index_path(name))).filter_documents()
    return {document.id: document for document in documents}


def texts(name: str = "default") -> list[str]:
    return sorted(document.content or "" for document in stored(name).values())
